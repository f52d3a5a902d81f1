package mcphttp

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	maxRedirects    = 5
	linkIdleConns   = 32 // idle connections kept to one server: parallel calls come back
	linkPingAfter   = 30 * time.Second
	linkPingTimeout = 15 * time.Second
)

// dialClient returns the client to use, and whether it was made here.
func dialClient(o *DialOptions) (c *http.Client, owned bool) {
	if o.Client == nil {
		return &http.Client{Transport: dialTransport(o), CheckRedirect: sameOriginOnly(nil)}, true
	}
	own := *o.Client
	own.Timeout = 0
	own.CheckRedirect = sameOriginOnly(o.Client.CheckRedirect)
	return &own, false
}

// DefaultTransport returns a new [http.Transport] like the one that [Dial] uses by default, for what wraps it, such as authorization:
//
//	auth, err := mcpauth.NewTransport(url, mcphttp.DefaultTransport(), nil)
//	mcphttp.Dial(url, &mcphttp.DialOptions{Client: &http.Client{Transport: auth}})
func DefaultTransport() *http.Transport {
	return dialTransport(&DialOptions{MaxHeaderBytes: dialMaxHeaderBytes})
}

// dialTransport makes the default transport. HTTP/2 connections are probed while they are silent, so that a peer that is gone does not
// go unnoticed; over HTTP/1.1 TCP's keep-alive does that.
func dialTransport(o *DialOptions) *http.Transport {
	protocols := new(http.Protocols)
	if o.UnencryptedHTTP2 {
		protocols.SetUnencryptedHTTP2(true)
	} else {
		protocols.SetHTTP1(true)
		protocols.SetHTTP2(true)
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConnsPerHost:    linkIdleConns,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: o.MaxHeaderBytes,
		Protocols:              protocols,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: linkPingAfter, PingTimeout: linkPingTimeout},
	}
}

// sameOriginOnly returns a redirect policy that follows what leads to the same origin with the same method, and gives any other
// redirect to the caller as an answer. Credentials thus never leave the origin, and no body is lost.
func sameOriginOnly(more func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		first := via[0]
		if len(via) > maxRedirects || req.Method != first.Method || !sameOrigin(req.URL, first.URL) {
			return http.ErrUseLastResponse
		}
		if more != nil {
			return more(req, via)
		}
		return nil
	}
}

// sameOrigin compares scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

// portOf returns the port of a URL, the usual one if it names none.
func portOf(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
