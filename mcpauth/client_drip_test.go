package mcpauth

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A server that sends its answer one byte at a time, or its head, or nothing, holds nobody longer than FetchTimeout.
func TestThreat10SlowDrips(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		drip string // again and again, with a second between
	}{
		"nothing": {"", ""},
		"head":    {"HTTP/1.1 200 OK\r\nX-Slow: ", "x"},
		"body":    {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n", " "},
		"chunks":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, _ := url.Parse("https://mcp.example.com/mcp")
				f := newFetcher(server, &ClientOptions{FetchTimeout: DefaultFetchTimeout, MaxDocumentBytes: DefaultMaxDocumentBytes})
				rt := f.gets.Transport.(*http.Transport)
				rt.DialContext = func(context.Context, string, string) (net.Conn, error) {
					here, there := net.Pipe()
					go func() { // ends with the connection
						defer there.Close()
						if _, err := http.ReadRequest(bufio.NewReader(there)); err != nil {
							return
						}
						text := c.head
						for {
							if _, err := io.WriteString(there, text); err != nil {
								return
							}
							if text = c.drip; text == "" {
								_, _ = io.Copy(io.Discard, there)
								return
							}
							<-time.After(time.Second)
						}
					}()
					return here, nil
				}
				for what, fetch := range map[string]func() error{
					"document": func() error { return f.document(t.Context(), "http://mcp.example.com/doc", new(any)) },
					"post": func() error {
						_, err := f.post(t.Context(), "http://mcp.example.com/token", http.Header{}, "code=secret")
						return err
					},
				} {
					start := time.Now()
					err := fetch()
					if took := time.Since(start); err == nil || took > DefaultFetchTimeout || strings.Contains(err.Error(), "secret") {
						t.Errorf("%s after %v: %v", what, took, err)
					}
				}
				rt.CloseIdleConnections()
				<-time.After(2 * time.Second) // the server notices
				synctest.Wait()
			})
		})
	}
}
