package mcpauth

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// A nameServer answers questions about names from a table, whose entries may change with every question.
type nameServer struct {
	mu    sync.Mutex
	asked map[string]int
	names map[string][][]string // by name: the addresses of the first answer, of the second, and of all that follow
}

// startNames makes the process ask a name server of this test for every name.
func startNames(t *testing.T, names map[string][][]string) *nameServer {
	s := &nameServer{names: names, asked: map[string]int{}}
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.serve(conn) })
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = old
		_ = conn.Close()
		wg.Wait()
	})
	return s
}

func (s *nameServer) serve(conn net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true}, Questions: m.Questions}
		for _, a := range s.lookup(strings.TrimSuffix(q.Name.String(), "."), q.Type) {
			h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
			if a.Is4() {
				reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
			} else {
				reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
			}
		}
		if out, err := reply.Pack(); err == nil {
			_, _ = conn.WriteTo(out, from)
		}
	}
}

func (s *nameServer) lookup(name string, typ dnsmessage.Type) (found []netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answers := s.names[name]
	if len(answers) == 0 {
		return nil
	}
	key := name + typ.String()
	answer := answers[min(s.asked[key], len(answers)-1)]
	s.asked[key]++
	for _, a := range answer {
		if a := netip.MustParseAddr(a); a.Is4() == (typ == dnsmessage.TypeA) {
			found = append(found, a)
		}
	}
	return found
}

// A name that leads to a good place when it is looked at and to another one when it is dialled: what is dialled is what was checked.
func TestThreat10Rebinding(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the inner service was reached") }))
	defer inner.Close()
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	for name, answers := range map[string][][]string{
		"inner at once":         {{"127.0.0.1"}},
		"inner on second sight": {{"203.0.113.9"}, {"127.0.0.1"}},
		"both":                  {{"192.168.0.7", "127.0.0.1"}},
		"cloud":                 {{"169.254.169.254"}},
		"mapped":                {{"::ffff:127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			startNames(t, map[string][][]string{"as.example.com": answers})
			server, _ := url.Parse("https://mcp.example.com/mcp")
			f := newFetcher(server, &ClientOptions{FetchTimeout: DefaultFetchTimeout, MaxDocumentBytes: 1 << 10})
			for range 3 {
				err := f.document(t.Context(), "http://as.example.com:"+port+"/doc", new(any))
				if err == nil || !strings.Contains(err.Error(), "is this computer") && !strings.Contains(err.Error(), "reserved") && !strings.Contains(err.Error(), "private network") {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

// A proxyServer is a proxy that connects to a server of the test whatever it is told, and writes down what it was told.
type proxyServer struct {
	*httptest.Server
	mu     sync.Mutex
	told   []string
	auth   []string
	answer string
}

func startProxy(t *testing.T, target string, start func(*httptest.Server)) *proxyServer {
	p := &proxyServer{answer: "HTTP/1.1 200 Connection established\r\n\r\n"}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.told, p.auth = append(p.told, r.Method+" "+r.RequestURI), append(p.auth, r.Header.Get("Proxy-Authorization"))
		answer := p.answer
		p.mu.Unlock()
		out, err := net.Dial("tcp", target)
		if err != nil {
			t.Error(err)
			return
		}
		defer out.Close()
		in, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer in.Close()
		_, _ = io.WriteString(in, answer)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.Copy(out, in); _ = out.(*net.TCPConn).CloseWrite() })
		_, _ = io.Copy(in, bufio.NewReader(out))
		_ = in.Close()
		wg.Wait()
	}))
	start(p.Server)
	t.Cleanup(p.Close)
	return p
}

func (p *proxyServer) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.told)
}

// The proxy is told the address that was checked, and TLS is with the name.
func TestThreat10ProxyEnforcesThePolicy(t *testing.T) {
	as := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.TLS.ServerName, "example.com") {
			t.Errorf("server name %q", r.TLS.ServerName)
		}
		fmt.Fprint(w, `{"issuer":"x"}`)
	}))
	defer as.Close()
	roots := x509.NewCertPool()
	roots.AddCert(as.Certificate())
	startNames(t, map[string][][]string{"example.com": {{"8.8.4.4"}}, "inner.example.com": {{"10.0.0.5", "169.254.169.254"}}, "half.example.com": {{"10.0.0.5", "8.8.4.4"}}})
	for name, start := range map[string]func(*httptest.Server){"http": (*httptest.Server).Start, "https": func(s *httptest.Server) {
		s.TLS = &tls.Config{NextProtos: []string{"http/1.1"}}
		s.StartTLS()
	}} {
		t.Run(name, func(t *testing.T) {
			p := startProxy(t, as.Listener.Addr().String(), start)
			proxy, _ := url.Parse(p.URL)
			proxy.User = url.UserPassword("me", "pw")
			if name == "https" {
				roots.AddCert(p.Certificate())
			}
			t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // is not looked at
			server, _ := url.Parse("https://mcp.example.com/mcp")
			f := newFetcher(server, &ClientOptions{Proxy: proxy, TLS: &tls.Config{RootCAs: roots}, FetchTimeout: DefaultFetchTimeout, MaxDocumentBytes: 1 << 10})
			defer f.gets.CloseIdleConnections()
			var doc Metadata
			if err := f.document(t.Context(), "https://example.com/doc", &doc); err != nil || doc.Issuer != "x" {
				t.Errorf("%+v, %v", doc, err)
			}
			if got := p.requests(); !slices.Equal(got, []string{"CONNECT 8.8.4.4:443"}) || p.auth[0] != "Basic bWU6cHc=" {
				t.Errorf("told %q %q", got, p.auth)
			}
			for _, u := range []string{"https://inner.example.com/", "https://127.0.0.1/", "https://192.168.1.1/", "https://[::ffff:8.8.8.8]:1/", "https://unknown.example.com/"} {
				if err := f.document(t.Context(), u, &doc); err == nil {
					t.Errorf("%s: no error", u)
				}
			}
			if got := p.requests(); len(got) != 1 {
				t.Errorf("told %q", got)
			}
			_ = f.document(t.Context(), "https://half.example.com/", &doc) // the second of its addresses is permitted
			if got := p.requests(); len(got) != 2 || got[1] != "CONNECT 8.8.4.4:443" {
				t.Errorf("told %q", got)
			}
		})
	}
}

func TestProxyThatMisbehaves(t *testing.T) {
	for name, c := range map[string]struct{ answer, words string }{
		"refuses":  {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "403"},
		"talks":    {"HTTP/1.1 200 OK\r\n\r\nGET", "before"},
		"babbles":  {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<17), "too large"},
		"not HTTP": {"SSH-2.0-x\r\n\r\n", "CONNECT"},
	} {
		t.Run(name, func(t *testing.T) {
			l := httptest.NewServer(http.NotFoundHandler())
			defer l.Close()
			p := startProxy(t, l.Listener.Addr().String(), (*httptest.Server).Start)
			p.answer = c.answer
			proxy, _ := url.Parse(p.URL)
			server, _ := url.Parse("https://mcp.example.com/mcp")
			f := newFetcher(server, &ClientOptions{Proxy: proxy, FetchTimeout: DefaultFetchTimeout, MaxDocumentBytes: 1 << 10})
			if err := f.document(t.Context(), "https://8.8.8.8/", new(any)); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("error %v", err)
			}
		})
	}
	for _, u := range []string{"socks5://h:1", "http://", "http://h/path", "h:1"} {
		proxy, err := url.Parse(u)
		if err != nil {
			continue
		}
		if _, err := NewTransport("https://h/mcp", nil, &ClientOptions{Proxy: proxy}); err == nil {
			t.Errorf("%s: no error", u)
		}
	}
	// What is on this computer is not asked of a proxy, which is elsewhere.
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }))
	defer local.Close()
	server, _ := url.Parse(local.URL)
	f := newFetcher(server, &ClientOptions{Proxy: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, FetchTimeout: DefaultFetchTimeout, MaxDocumentBytes: 1 << 10})
	defer f.gets.CloseIdleConnections()
	if err := f.document(t.Context(), local.URL, new(any)); err != nil {
		t.Error(err)
	}
}
