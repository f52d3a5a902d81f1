package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// streamClient speaks lines to a server over a pipe.
type streamClient struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	ran  chan error
}

// connect serves s on one end of a pipe.
func (s *testServer) connect(t *testing.T) *streamClient {
	t.Helper()
	ours, theirs := net.Pipe()
	c := &streamClient{t: t, conn: ours, in: bufio.NewReaderSize(ours, 1<<20), ran: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { c.ran <- s.ServeConn(ctx, theirs) }()
	t.Cleanup(func() {
		cancel()
		_ = ours.Close()
	})
	return c
}

func (c *streamClient) send(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(c.conn, line+"\n"); err != nil {
			c.t.Error(err)
			return
		}
	}
}

func (c *streamClient) line() string {
	c.t.Helper()
	line, err := c.in.ReadString('\n')
	if err != nil {
		c.t.Fatalf("no line: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// ask sends a request and returns the next line.
func (c *streamClient) ask(line string) string {
	c.t.Helper()
	c.send(line)
	return c.line()
}

// end closes the client's side and returns what the server's loop returned.
func (c *streamClient) end() error {
	_ = c.conn.Close()
	return <-c.ran
}

func TestServerStreamModern(t *testing.T) {
	s := fullServer(t, nil)
	c := s.connect(t)
	want(t, c.ask(modernLine(1, "tools/call", `"name":"echo","arguments":{"text":"hi"}`)), `"id":1`, `"text":"hi"`)
	want(t, c.ask(modernLine(2, "no/such", "")), `"id":2`, "-32601")
	want(t, c.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`), `"id":3`, "-32602")
	c.send(`{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`) // nobody asked
	want(t, c.ask(modernLine(4, "server/discover", "")), `"id":4`, `"supportedVersions"`)
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

func TestCaseJ09ServerMalformedLinesAreNotFatal(t *testing.T) {
	s := fullServer(t, nil)
	c := s.connect(t)
	for line, right := range map[string]string{
		"\xff\xfe":                              `{"jsonrpc":"2.0","error":{"code":-32700,`, // J05: no id
		"{oops":                                 `{"jsonrpc":"2.0","error":{"code":-32700,`,
		"Server v1 ready":                       `{"jsonrpc":"2.0","error":{"code":-32700,`,
		"[]":                                    `{"jsonrpc":"2.0","error":{"code":-32600,`,
		"42":                                    `{"jsonrpc":"2.0","error":{"code":-32600,`,
		`{"id":1}`:                              `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,`, // J08
		`{"jsonrpc":"1.0","id":1,"method":"p"}`: `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,`,
		`{"jsonrpc":"2.0","id":null,"method":"p"}`:   `{"jsonrpc":"2.0","error":{"code":-32600,`, // J04
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`: `{"jsonrpc":"2.0","error":{"code":-32600,`,
	} {
		want(t, c.ask(line), right)
	}
	c.send("", "\r", `{"jsonrpc":"2.0","method":"no/such"}`, `{"jsonrpc":"2.0","method":"initialize","params":{}}`) // J06
	want(t, c.ask(modernLine(9, "tools/list", "")), `"id":9`)
}

func TestCaseC02ServerNoAnswerAfterCancel(t *testing.T) {
	s := newServer(t, nil)
	began, ended := make(chan struct{}), make(chan error, 1)
	mcp.AddTool(s.Server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return "too late", nil
	})
	c := s.connect(t)
	c.send(modernLine(5, "tools/call", `"name":"wait"`))
	<-began
	for _, ignored := range []string{`{"requestId":"5"}`, `{"requestId":77}`, `{}`, `{"requestId":null}`, `[]`} { // C04
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + ignored + `}`)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
	select {
	case <-ended:
		t.Fatal("a cancel of something else cancelled the request")
	default:
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"enough"}}`)
	<-ended
	want(t, c.ask(modernLine(6, "tools/list", "")), `"id":6`)
}

func TestCaseC01ServerCancelRacesWithReply(t *testing.T) {
	s := fullServer(t, nil)
	c := s.connect(t)
	go func() {
		for i := range 500 {
			c.send(modernLine(1000+i, "tools/call", `"name":"echo","arguments":{"text":"a"}`),
				fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 1000+i))
		}
		c.send(modernLine(1, "tools/list", ""))
	}()
	seen := map[string]bool{}
	for {
		line := c.line()
		id := at(t, line, "id")
		if seen[id] {
			t.Fatalf("%s was answered twice", id)
		}
		if seen[id] = true; id == "1" {
			return
		}
	}
}

func TestCaseS12ServerEndOfInputEndsTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nil)
		ended := make(chan error, 1)
		mcp.AddTool(s.Server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return "", ctx.Err()
		})
		c := s.connect(t)
		c.send(modernLine(5, "tools/call", `"name":"wait"`))
		synctest.Wait()
		began := time.Now()
		if err := c.end(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestServerHandlerThatDoesNotHeedItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, &mcp.ServerOptions{StopDelay: time.Second})
		release := make(chan struct{})
		mcp.AddTool(s.Server, &mcp.Tool{Name: "stuck"}, func(context.Context, *mcp.Call, struct{}) (string, error) { <-release; return "", nil })
		c := s.connect(t)
		c.send(modernLine(5, "tools/call", `"name":"stuck"`))
		synctest.Wait()
		if err := c.end(); err == nil {
			t.Error("nothing was said of the handler that is still running")
		}
		close(release)
	})
}

func TestServerStreamShutdown(t *testing.T) {
	s := fullServer(t, nil)
	c := s.connect(t)
	want(t, c.ask(modernLine(1, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)), "acknowledged")
	ended := make(chan error)
	go func() { ended <- s.Shutdown(t.Context()) }()
	want(t, c.line(), "notifications/cancelled", `"requestId":1`)
	want(t, c.line(), `"id":1`, `"result"`)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := c.in.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is still open: %v", err)
	}
	if err := <-c.ran; err != nil {
		t.Error(err)
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	if err := s.ServeConn(t.Context(), theirs); err == nil {
		t.Error("a server that was shut down served")
	}
}

func TestServerStreamOptionsAreChecked(t *testing.T) {
	s := newServer(t, &mcp.ServerOptions{PageSize: -1})
	ours, theirs := net.Pipe()
	defer ours.Close()
	err := s.ServeConn(t.Context(), theirs)
	if err == nil {
		t.Fatal("served with wrong options")
	}
	want(t, err.Error(), "ServerOptions.PageSize")
}

func TestServerDuplicateRequestID(t *testing.T) {
	s := newServer(t, nil)
	began := make(chan struct{}, 2)
	release := make(chan struct{})
	mcp.AddTool(s.Server, &mcp.Tool{Name: "wait"}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		began <- struct{}{}
		<-release
		return "first", nil
	})
	c := s.connect(t)
	c.send(modernLine(5, "tools/call", `"name":"wait"`))
	<-began
	got := c.ask(modernLine(5, "tools/call", `"name":"wait"`))
	want(t, got, "-32600", "in use")
	wantNot(t, got, `"id"`)
	close(release)
	want(t, c.line(), `"id":5`, "first")
	want(t, c.ask(modernLine(5, "tools/list", "")), `"id":5`) // answered, so free again
}

func TestServerStreamListenIsCancelled(t *testing.T) {
	s := fullServer(t, nil)
	c := s.connect(t)
	want(t, c.ask(modernLine(1, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)), "acknowledged")
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	want(t, c.ask(modernLine(2, "tools/list", "")), `"id":2`)
	s.RemoveTools("echo")
	want(t, c.ask(modernLine(3, "tools/list", "")), `"id":3`)
}

func TestCaseS01ServerLongLines(t *testing.T) {
	s := fullServer(t, nil)
	c := s.connect(t)
	for _, n := range []int{64<<10 - 1, 64 << 10, 1 << 20} {
		text := strings.Repeat("x", n)
		go c.send(modernLine(1, "tools/call", `"name":"echo","arguments":{"text":"`+text+`"}`))
		want(t, c.line(), text)
	}
	small := newServer(t, &mcp.ServerOptions{MaxLine: 1000})
	c = small.connect(t)
	want(t, c.ask(modernLine(1, "tools/call", `"name":"`+strings.Repeat("x", 2000)+`"`)), "-32600", "1000 bytes") // S02
	want(t, c.ask(modernLine(2, "server/discover", "")), `"id":2`)
}

func BenchmarkStream(b *testing.B) {
	s := newServer(b, nil)
	addEcho(s.Server)
	ours, theirs := net.Pipe()
	ran := make(chan error, 1)
	go func() { ran <- s.ServeConn(context.Background(), theirs) }()
	in := bufio.NewReaderSize(ours, 1<<16)
	line := []byte(modernLine(7, "tools/call", `"name":"echo","arguments":{"text":"`+strings.Repeat("x", 100)+`"}`) + "\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ours.Write(line); err != nil {
			b.Fatal(err)
		}
		if _, err := in.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(ours.Close(), <-ran); err != nil {
		b.Fatal(err)
	}
}

func TestStreamInFlightIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, &mcp.ServerOptions{MaxInFlight: 2})
		running, release := 0, make(chan struct{})
		var mu sync.Mutex
		mcp.AddTool(s.Server, &mcp.Tool{Name: "wait"}, func(context.Context, *mcp.Call, struct{}) (string, error) {
			mu.Lock()
			running++
			mu.Unlock()
			<-release
			return "", nil
		})
		c := s.connect(t)
		go func() {
			for i := range 5 {
				c.send(modernLine(i, "tools/call", `"name":"wait"`))
			}
		}()
		synctest.Wait()
		mu.Lock()
		if running != 2 {
			t.Errorf("%d requests are being served, want 2", running)
		}
		mu.Unlock()
		close(release)
		for range 5 {
			want(t, c.line(), `"result"`)
		}
		if err := c.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestStreamOddLineEnds(t *testing.T) {
	s := fullServer(t, nil)
	c := s.connect(t)
	want(t, c.ask(modernLine(1, "tools/list", "")+"\r"), `"id":1`)
	c.send("", "\r", " ")
	for _, id := range []string{`0`, `""`, `-1`, `9007199254740993`, `"1"`, `"a b"`} {
		want(t, c.ask(strings.Replace(modernLine(1, "tools/list", ""), `"id":1`, `"id":`+id, 1)), `"id":`+id+`,"result"`)
	}
}

func TestStreamLastLineWithoutNewline(t *testing.T) {
	s := fullServer(t, nil)
	in := strings.NewReader(modernLine(1, "tools/call", `"name":"echo","arguments":{"text":"last"}`))
	out := &closeBuffer{}
	if err := s.ServeConn(t.Context(), struct {
		io.Reader
		io.WriteCloser
	}{in, out}); err != nil {
		t.Fatal(err)
	}
	want(t, out.String(), `"id":1`, "last") // those who pipe a line into a server see its answer
}

// closeBuffer is a buffer that can be closed.
type closeBuffer struct{ syncBuffer }

func (*closeBuffer) Close() error { return nil }
