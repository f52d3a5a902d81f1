package mcphttp

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// Names of headers, as net/http keeps them.
const (
	linkParamPrefix     = "Mcp-Param-"
	linkVersionHeader   = "Mcp-Protocol-Version"
	linkSessionHeader   = "Mcp-Session-Id"
	linkMethodHeader    = "Mcp-Method"
	linkNameHeader      = "Mcp-Name"
	linkLastEventHeader = "Last-Event-Id"
)

// Header values that all requests share. Their capacity is their length, so that appending to them copies.
var (
	linkTypeJSON   = []string{"application/json"}
	linkAcceptBoth = []string{"application/json, text/event-stream"}
	linkAcceptSSE  = []string{"text/event-stream"}
	linkIdentity   = []string{"identity"}
	linkReplayable = []string{} // for net/http: the request may be sent again; nothing goes over the wire
	linkVersions   = versionValues()
)

func versionValues() map[mcp.Revision][]string {
	m := make(map[mcp.Revision][]string)
	for _, rev := range era.All() {
		m[rev] = []string{rev.String()}
	}
	return m
}

// A posting is a message on its way by POST.
type posting struct {
	url     *url.URL
	header  http.Header
	body    []byte
	safe    bool // it may be sent again whatever became of it
	session bool // it names a session
}

// posting prepares a request.
func (l *link) posting(req *mcp.Outgoing) *posting {
	rules := req.Revision.Rules()
	m := jsonrpc.Message{ID: req.ID, Method: req.Method, Params: req.Params}
	p := &posting{url: l.url, safe: repeatable(req.Method), header: make(http.Header, 8+len(req.Mirrored))}
	p.body = jsonrpc.Append(make([]byte, 0, len(req.Params)+len(req.Method)+64), &m)
	l.common(p.header)
	if p.safe {
		p.header["Idempotency-Key"] = linkReplayable
	}
	if rules.HTTP.MirrorHeaders {
		p.header[linkMethodHeader] = []string{era.EncodeHeader(req.Method)}
		if rules.NameParam(req.Method) != "" {
			p.header[linkNameHeader] = []string{era.EncodeHeader(req.Name)}
		}
		for _, a := range req.Mirrored {
			p.header[http.CanonicalHeaderKey(linkParamPrefix+a.Name)] = []string{era.EncodeHeader(a.Value)}
		}
	}
	if rules.HTTP.Version == era.VersionHeaderEvery {
		p.header[linkVersionHeader] = linkVersions[req.Revision]
	} else if req.Method != mcp.MethodInitialize {
		p.session = l.inSession(p.header, req.Revision)
	}
	return p
}

// sending prepares a message that is not answered.
func (l *link) sending(m *jsonrpc.Message) (*posting, error) {
	to, err := l.sendTo()
	if err != nil {
		return nil, err
	}
	rev := l.revision()
	rules := rev.Rules()
	p := &posting{url: to, safe: m.Kind() == jsonrpc.Response, header: make(http.Header, 6), body: jsonrpc.Append(nil, m)} // a server takes one answer
	l.common(p.header)
	if rules.HTTP.MirrorHeaders && m.Method != "" {
		p.header[linkMethodHeader] = []string{era.EncodeHeader(m.Method)}
	}
	if rules.HTTP.Version == era.VersionHeaderEvery {
		p.header[linkVersionHeader] = linkVersions[rev]
	} else {
		p.session = l.inSession(p.header, rev)
	}
	return p, nil
}

// common sets the headers of every POST.
func (l *link) common(h http.Header) {
	maps.Copy(h, l.opts.Header)
	h["Content-Type"] = linkTypeJSON
	h["Accept"] = linkAcceptBoth
}

// request makes the HTTP request for one attempt.
func (p *posting) request(ctx context.Context) *http.Request {
	req := &http.Request{
		Method: http.MethodPost, URL: p.url, Host: p.url.Host, Header: p.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(p.body)), ContentLength: int64(len(p.body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(p.body)), nil },
	}
	return req.WithContext(ctx)
}
