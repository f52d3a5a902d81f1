package load

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"

	"io"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/wire"
)

func httpLoads() []Load {
	var all []Load
	for _, m := range modes {
		for _, size := range sizes {
			for _, clients := range []int{1, 64} {
				all = append(all, Load{join("http", m, size.name, clients), func(r *Run) error {
					return r.http(peer.Setup{Mode: m}, wire.Call(m == peer.Modern, size.n), clients)
				}})
			}
		}
	}
	return all
}

// listen serves h on the loopback interface.
func listen(h http.Handler) (*http.Server, string, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	srv := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)} //nolint:gosec // the clients are ours
	go func() { _ = srv.Serve(l) }()                                      // ends with Close
	return srv, l.Addr().String(), nil
}

// dial opens connections, with a session each unless the mode has none.
func dial(host string, mode peer.Mode, n int) (conns []*wire.Conn, sessions []string, err error) {
	for range n {
		c, err := wire.Dial(host)
		if err != nil {
			return nil, nil, err
		}
		session := ""
		if mode != peer.Modern {
			if session, err = c.Handshake(); err != nil {
				return nil, nil, err
			}
		}
		conns, sessions = append(conns, c), append(sessions, session)
	}
	return conns, sessions, nil
}

// http measures a message over connections to a server in the same process.
func (r *Run) http(s peer.Setup, m wire.Message, clients int) (err error) {
	p, err := r.peer.Serve(s)
	if err != nil {
		return err
	}
	srv, host, err := listen(p.Handler)
	if err != nil {
		return err
	}
	defer closing(&err, srv.Close)
	conns, sessions, err := dial(host, s.Mode, clients)
	if err != nil {
		return err
	}
	requests := make([]*wire.Bytes, clients)
	lengths := make([]int, clients)
	for i := range requests {
		requests[i] = m.Post(host, sessions[i])
	}
	return r.measure(clients, func(i, n int) error {
		return exchange(conns[i], requests[i], n, &lengths[i])
	})
}

// exchange sends a request with another id; the answer must be as long as the last one.
func exchange(c *wire.Conn, m *wire.Bytes, n int, length *int) error {
	m.SetID(n)
	status, body, err := c.Do(m.Raw)
	if err != nil || status != http.StatusOK || len(body) < 100 || *length != 0 && *length != len(body) {
		return fmt.Errorf("status %d, %d bytes, %d before: %.300s %w", status, len(body), *length, body, err)
	}
	*length = len(body)
	return nil
}
