package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

const (
	linkRefusalBytes = 64 << 10 // what is read of the body of a refusal
	linkExcerptBytes = 4 << 10  // what a TransportError keeps of it
)

// accepted reports a status of success.
func accepted(resp *http.Response) bool { return resp.StatusCode/100 == 2 }

// mediaType returns the media type of an answer in lower case, without parameters; empty if it has none or a broken one.
func mediaType(resp *http.Response) string {
	switch v := resp.Header.Get("Content-Type"); v {
	case "application/json", "text/event-stream":
		return v
	default:
		t, _, err := mime.ParseMediaType(v)
		if err != nil {
			return ""
		}
		return t
	}
}

// answer reads the answer to a request up to the response in it.
func (l *link) answer(ctx context.Context, x *linkExchange, req *mcp.Outgoing, p *posting, resp *http.Response) (*jsonrpc.Message, error) {
	if accepted(resp) && mediaType(resp) == "text/event-stream" {
		return l.streamed(ctx, x, req, resp)
	}
	defer l.closeBody(resp)
	if accepted(resp) {
		return l.plain(ctx, req, resp)
	}
	m, err := l.refused(resp, p)
	if m != nil {
		m.ID = req.ID
	}
	return m, err
}

// streamed reads a response that comes on a stream.
func (l *link) streamed(ctx context.Context, x *linkExchange, req *mcp.Outgoing, resp *http.Response) (*jsonrpc.Message, error) {
	t := &linkTail{}
	m, err := l.follow(ctx, resp.Body, req, t)
	if m != nil {
		l.leave(x, resp)
		return m, nil
	}
	if ctx.Err() == nil && t.resumable(err) && req.Revision.Rules().HTTP.Resumable {
		l.closeBody(resp)
		return l.resume(ctx, x, req, t)
	}
	x.cancel() // first, as in discard
	l.closeBody(resp)
	return nil, broken(resp.StatusCode, t, err)
}

// broken makes the error of a stream that ended too soon.
func broken(status int, t *linkTail, err error) error {
	switch {
	case t.stray != nil:
		err = fmt.Errorf("the stream ended before the response; the server said before: %w", t.stray)
	case errors.Is(err, io.EOF):
		err = errors.New("the stream ended before the response")
	default:
		err = fmt.Errorf("the stream broke before the response: %w", err)
	}
	return &mcp.TransportError{Status: status, Err: err}
}

// plain reads a response that is the whole body.
func (l *link) plain(ctx context.Context, req *mcp.Outgoing, resp *http.Response) (*jsonrpc.Message, error) { //nolint:gocyclo // a list of what can be wrong
	failed := func(data []byte, err error) (*jsonrpc.Message, error) {
		return nil, &mcp.TransportError{Status: resp.StatusCode, Body: excerpt(data), Err: err}
	}
	data, err := l.readBody(resp)
	switch mt := mediaType(resp); {
	case err != nil:
		return failed(nil, err)
	case len(data) == 0:
		return failed(nil, errors.New("the server took the request without answering it"))
	case mt != "application/json" && resp.Header.Get("Content-Type") != "":
		return failed(data, fmt.Errorf("the answer is of type %q instead of JSON or an event stream; is this the URL of an MCP endpoint?",
			resp.Header.Get("Content-Type")))
	case req.Revision.Rules().Batch && jsonrpc.IsBatch(data):
		if m := l.takeBatch(ctx, data, req, &linkTail{}); m != nil {
			return m, nil
		}
		return failed(data, errors.New("the batch that answers has no response to the request"))
	}
	m, err := jsonrpc.Decode(data)
	switch {
	case err != nil && m.Error != nil && m.ID == req.ID:
		return &m, nil // meant as the response, and Error says what is wrong with it
	case err != nil:
		return failed(data, err)
	case m.Kind() != jsonrpc.Response:
		return failed(data, fmt.Errorf("the answer is a %s instead of a response", m.Kind()))
	case m.ID != req.ID && (m.Error == nil || !m.ID.IsZero()):
		return failed(data, fmt.Errorf("the answer is the response to another request: its id is %s, not %s", m.ID, req.ID))
	}
	m.ID = req.ID
	return &m, nil
}

// readBody reads a body within the bound on messages.
func (l *link) readBody(resp *http.Response) ([]byte, error) {
	const most = 512 << 10 // what a length that is only claimed makes us allocate
	size := 512
	if resp.ContentLength >= 0 {
		size = int(min(resp.ContentLength+1, most)) // one more, to meet the end without growing
	}
	data := make([]byte, 0, size)
	for {
		n, err := resp.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case len(data) > l.opts.MaxMessageBytes:
			return nil, fmt.Errorf("the answer is larger than the limit of %d bytes (DialOptions.MaxMessageBytes)", l.opts.MaxMessageBytes)
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, fmt.Errorf("reading the answer: %w", err)
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}

// refused reads an answer whose status is not one of success: the error response in it, or the refusal that it is.
func (l *link) refused(resp *http.Response, p *posting) (*jsonrpc.Message, error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, linkRefusalBytes))
	if err != nil && len(data) == 0 {
		return nil, &mcp.TransportError{Status: resp.StatusCode, RetryAfter: retryAfter(resp), Err: fmt.Errorf("reading the answer: %w", err)}
	}
	m := errorResponse(resp, data)
	switch {
	case resp.StatusCode == http.StatusNotFound && p.session && (m == nil || m.Error.Code != jsonrpc.CodeMethodNotFound):
		return nil, mcp.ErrSessionLost
	case m != nil:
		return m, nil
	}
	return nil, linkRefusal(resp, data)
}

// errorResponse returns the error response that a body is, nil if it is none. What stands with the statuses that are about credentials
// or the HTTP method is not looked at: they mean what they say.
func errorResponse(resp *http.Response, data []byte) *jsonrpc.Message {
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusMethodNotAllowed:
		return nil
	}
	m, err := jsonrpc.Decode(data)
	if err != nil || m.Kind() != jsonrpc.Response || m.Error == nil {
		return nil
	}
	return &m
}

// linkRefusal makes the error of an answer that is only a status.
func linkRefusal(resp *http.Response, data []byte) *mcp.TransportError {
	e := &mcp.TransportError{
		Status:     resp.StatusCode,
		Body:       excerpt(data),
		RetryAfter: retryAfter(resp),
		Challenges: resp.Header.Values("Www-Authenticate"),
	}
	if resp.StatusCode/100 != 3 {
		return e
	}
	if to, err := resp.Location(); err == nil {
		e.Err = fmt.Errorf("the server redirects to %s, which is not followed; dial that URL if you trust it", placeOf(to))
	}
	return e
}

// excerpt returns the beginning of a body for people.
func excerpt(data []byte) string {
	if len(data) > linkExcerptBytes {
		data = data[:linkExcerptBytes]
		for len(data) > 0 && !utf8.RuneStart(data[len(data)-1]) {
			data = data[:len(data)-1]
		}
		if len(data) > 0 && data[len(data)-1] >= utf8.RuneSelf {
			data = data[:len(data)-1]
		}
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

// readable reports whether an event is one of the protocol.
func readable(name string, data []byte) bool {
	return len(data) > 0 && (name == "" || name == "message")
}

// take handles one message of a stream: it returns the response to req and hands everything else on. The message returned aliases data.
func (l *link) take(ctx context.Context, data []byte, req *mcp.Outgoing, t *linkTail) *jsonrpc.Message {
	if req.Revision.Rules().Batch && jsonrpc.IsBatch(data) {
		return l.takeBatch(ctx, data, req, t)
	}
	m, err := jsonrpc.Decode(data)
	if err != nil {
		if m.Error != nil && m.ID == req.ID && !req.ID.IsZero() {
			return &m // meant as the response, and Error says what is wrong with it
		}
		l.log.Warn("mcphttp: the server sent something that is no message", "server", l.String(), "err", err)
		return nil
	}
	return l.deliver(ctx, &m, req, t)
}

// takeBatch is take for several messages in one array.
func (l *link) takeBatch(ctx context.Context, data []byte, req *mcp.Outgoing, t *linkTail) (resp *jsonrpc.Message) {
	items, err := jsonrpc.DecodeBatch(data)
	if err != nil {
		l.log.Warn("mcphttp: the server sent a batch that cannot be read", "server", l.String(), "err", err)
		return nil
	}
	for i := range items {
		if items[i].Err != nil {
			l.log.Warn("mcphttp: the server sent something that is no message", "server", l.String(), "err", items[i].Err)
			continue
		}
		if m := l.deliver(ctx, &items[i].Message, req, t); m != nil {
			resp = m
		}
	}
	return resp
}

// deliver returns m if it is the response to req, and hands it on otherwise.
func (l *link) deliver(ctx context.Context, m *jsonrpc.Message, req *mcp.Outgoing, t *linkTail) *jsonrpc.Message {
	if m.Kind() != jsonrpc.Response {
		l.to.Receive(ctx, m, req.ID)
		return nil
	}
	switch {
	case m.ID == req.ID && !m.ID.IsZero():
		return m
	case m.Error != nil && m.ID.IsZero():
		t.stray = m.Error
	}
	l.log.Debug("mcphttp: ignored a response to no request of this stream", "server", l.String(), "id", m.ID.String())
	return nil
}
