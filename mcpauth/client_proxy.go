package mcpauth

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// proxyTimeout bounds how long a proxy may take to connect.
const proxyTimeout = 10 * time.Second

// checkProxy says what is wrong with the URL of a proxy; nil is none.
func checkProxy(u *url.URL) error {
	if u == nil || u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https") && (u.Path == "" || u.Path == "/") && u.RawQuery == "" {
		return nil
	}
	return fmt.Errorf("mcpauth: ClientOptions.Proxy: expected http://host:port or https://host:port, got %q", u.Redacted())
}

// dialThrough connects through the proxy to an address that the policy permits: the proxy is told the address that was checked, never
// the name, so that it looks nothing up. Permitted addresses of this computer are dialled directly: those of the proxy are others.
func (f *fetcher) dialThrough(ctx context.Context, addr string, own bool) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	addrs, err := lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, a := range addrs {
		if err := f.permits(a, own); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		to := net.JoinHostPort(a.String(), port)
		if a.IsLoopback() {
			return f.dialDirect(ctx, "tcp", to, own)
		}
		conn, err := f.tunnel(ctx, to)
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// lookup returns the addresses of a host. One that is written as an address stays as it is written.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("mcpauth: names are looked up here although there is a proxy, since what it may connect to is decided here: %w", err)
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}

// tunnel asks the proxy to connect to an address.
func (f *fetcher) tunnel(ctx context.Context, to string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, proxyTimeout)
	defer cancel()
	conn, err := f.dialProxy(ctx)
	if err != nil {
		return nil, fmt.Errorf("mcpauth: the proxy %s: %w", f.proxy.Host, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = f.connect(conn, to)
	if !stop() {
		err = errors.Join(err, context.Cause(ctx))
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("mcpauth: the proxy %s: %w", f.proxy.Host, err)
	}
	return conn, nil
}

// dialProxy connects to the proxy itself, which the host has chosen.
func (f *fetcher) dialProxy(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(f.proxy.Hostname(), portOf(f.proxy)))
	if err != nil || f.proxy.Scheme == "http" {
		return conn, err
	}
	conf := &tls.Config{}
	if f.tls != nil {
		conf = f.tls.Clone()
	}
	conf.ServerName, conf.NextProtos = f.proxy.Hostname(), nil
	secure := tls.Client(conn, conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

// connect is the CONNECT request (RFC 9110 section 9.3.6). The proxy must not send anything behind its answer: the client speaks first.
func (f *fetcher) connect(conn net.Conn, to string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to}, Host: to, Header: http.Header{}}
	if u := f.proxy.User; u != nil {
		password, _ := u.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	r := bufio.NewReaderSize(&limitedReader{conn, 64 << 10}, 4<<10)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return fmt.Errorf("reading its answer to CONNECT %s: %w", to, err)
	}
	_ = resp.Body.Close()
	switch {
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("it answers CONNECT %s with %s; it must permit addresses, since names are not given to it", to, resp.Status)
	case r.Buffered() > 0:
		return errors.New("it sent data before it was spoken to")
	}
	return nil
}

// A limitedReader fails where [io.LimitReader] would say that this is the end.
type limitedReader struct {
	conn net.Conn
	left int
}

// Read implements io.Reader.
func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("the answer is too large")
	}
	n, err := l.conn.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
