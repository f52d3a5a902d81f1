package conn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/seed38e7925c/parley/internal/conn"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// S01: lines of any length up to the bound pass, both ways.
func TestCaseS01(t *testing.T) {
	a, _ := pair(t, funcs{}, echo(t), nil)
	for _, n := range []int{0, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, 8 << 20} {
		text := `"` + strings.Repeat("x", n) + `"`
		if got := call(t, a, text); got != text {
			t.Errorf("%d bytes came back as %d", len(text), len(got))
		}
	}
}

// recorder logs what it is handed, and answers requests.
func recorder(t *testing.T, l *log) funcs {
	return funcs{
		message: func(ctx context.Context, c *conn.Conn, m *jsonrpc.Message) {
			l.add(fmt.Sprintf("%v %v %s", m.Kind(), m.ID, m.Method))
			if m.Kind() == jsonrpc.Request {
				must(t, c.Write(&jsonrpc.Message{ID: m.ID, Result: []byte("{}")}))
			}
		},
		malformed: func(_ context.Context, _ *conn.Conn, line []byte, m *jsonrpc.Message, err *jsonrpc.Error) {
			l.add(fmt.Sprintf("malformed %q %v %d", line[:min(20, len(line))], m.ID, err.Code))
			if len(line) > 1<<10 {
				t.Errorf("a malformed line of %d bytes", len(line))
			}
		},
	}
}

const pingOne = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// S02: an endless line is reported by its bound, takes no memory, and the next
// message is read.
func TestCaseS02(t *testing.T) {
	var l log
	var text string
	h := recorder(t, &l)
	record := h.malformed
	h.malformed = func(ctx context.Context, c *conn.Conn, line []byte, m *jsonrpc.Message, err *jsonrpc.Error) {
		text = err.Message
		record(ctx, c, line, m, err)
	}
	_, p := withPeer(t.Context(), t, h, &conn.Options{MaxLine: 1 << 20})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	chunk := bytes.Repeat([]byte("a"), 1<<20)
	for range 128 {
		if _, err := p.out.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	p.send("\n" + pingOne + "\n")
	p.wantLine(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d bytes allocated", grown)
	}
	want := []string{`malformed "aaaaaaaaaaaaaaaaaaaa" none -32600`, "request 1 ping"}
	if got := l.all(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(text, "1048576") {
		t.Errorf("%q does not name the bound", text)
	}
	must(t, p.out.Close())
}

// A line of exactly the bound passes; one byte more does not.
func TestMaxLine(t *testing.T) {
	for _, limit := range []int{100, 4096, 64 << 10, 100_000} {
		var l log
		s, p := withPeer(t.Context(), t, recorder(t, &l), &conn.Options{MaxLine: limit})
		for _, extra := range []int{0, 1, 2, 64 << 10} {
			p.send(pingOne + strings.Repeat(" ", limit-len(pingOne)+extra) + "\n")
			if extra == 0 {
				p.line()
			}
		}
		must(t, p.out.Close())
		must(t, s.wait())
		bad := `malformed "{\"jsonrpc\":\"2.0\",\"id" 1 -32600`
		want := []string{"request 1 ping", bad, bad, bad}
		if got := l.all(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("limit %d: got %q", limit, got)
		}
	}
}

// S03: log text on the wire is reported and skipped, blank lines are nothing.
func TestCaseS03(t *testing.T) {
	var l log
	s, p := withPeer(t.Context(), t, recorder(t, &l), nil)
	got := make(chan string)
	go func() { got <- call(t, s, "{}") }()
	p.line()
	p.send("Server v1.2 ready\n\n  \r\n\x1b[32mINFO\x1b[0m up\n" + `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}` + "\r\n")
	if r := <-got; r != `{"ok":true}` {
		t.Errorf("got %s", r)
	}
	must(t, p.out.Close())
	must(t, s.wait())
	want := []string{`malformed "Server v1.2 ready" none -32700`, `malformed "\x1b[32mINFO\x1b[0m up" none -32700`}
	if got := l.all(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
}

// J09: bytes that are not UTF-8 do not end the connection.
func TestCaseJ09(t *testing.T) {
	var l log
	_, p := withPeer(t.Context(), t, recorder(t, &l), nil)
	p.send("\xff\xfe\n" + pingOne + "\n")
	p.wantLine(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	want := []string{`malformed "\xff\xfe" none -32700`, "request 1 ping"}
	if got := l.all(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
	must(t, p.out.Close())
}

// J06: stray errors and late or unknown responses go to the handler.
func TestCaseJ06(t *testing.T) {
	var l log
	s, p := withPeer(t.Context(), t, recorder(t, &l), nil)
	p.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}}` + "\n" + `{"jsonrpc":"2.0","id":99,"result":{}}` + "\n")
	p.send(pingOne + "\n")
	p.line()
	must(t, p.out.Close())
	must(t, s.wait())
	want := []string{"response none ", "response 99 ", "request 1 ping"}
	if got := l.all(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
}

// A response that cannot be decoded, or is too long, ends the call it was for.
func TestMalformedResponseEndsItsCall(t *testing.T) {
	for name, tt := range map[string]struct {
		line string
		code jsonrpc.Code
	}{
		"utf-8":    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"\xb0\xa1\"}}", jsonrpc.CodeParseError},
		"twice":    {`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`, jsonrpc.CodeInvalidRequest},
		"both":     {`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, jsonrpc.CodeInvalidRequest},
		"late id":  {`{"result":"` + strings.Repeat("x", 200_000) + `","jsonrpc":"2.0","id":1}`, jsonrpc.CodeInvalidRequest},
		"too long": {`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 200_000) + `"}`, jsonrpc.CodeInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			var l log
			s, p := withPeer(t.Context(), t, recorder(t, &log{}), &conn.Options{MaxLine: 100_000})
			go func() {
				p.line()
				p.send(tt.line + "\n")
			}()
			m, err := s.Call(t.Context(), s.NewID(), "m", nil)
			if err != nil || m.Error == nil || m.Error.Code != tt.code {
				t.Errorf("got %+v, %v", m, err)
			}
			must(t, p.out.Close())
			must(t, s.wait())
			if len(l.all()) != 0 {
				t.Error(l.all())
			}
		})
	}
	// A request that says the same id is no response.
	synctest.Test(t, func(t *testing.T) {
		s, p := withPeer(t.Context(), t, funcs{}, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			p.line()
			p.send("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}\n")
			synctest.Wait()
			cancel(io.ErrNoProgress)
		}()
		if m, err := s.Call(ctx, s.NewID(), "m", nil); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("got %+v, %v", m, err)
		}
		must(t, p.out.Close())
		must(t, s.wait())
	})
}

// A last line without a newline is a message.
func TestLastLineWithoutNewline(t *testing.T) {
	var l log
	s, p := withPeer(t.Context(), t, recorder(t, &l), nil)
	p.send(pingOne)
	must(t, p.out.Close())
	p.wantLine(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	must(t, s.wait())

	l = log{}
	s, p = withPeer(t.Context(), t, recorder(t, &l), &conn.Options{MaxLine: 10})
	p.send(pingOne)
	must(t, p.out.Close())
	must(t, s.wait())
	if got := l.all(); len(got) != 1 || !strings.HasPrefix(got[0], "malformed") {
		t.Errorf("got %q", got)
	}
}

// A handler can take a batch apart and have its messages handled like others.
func TestDeliverBatch(t *testing.T) {
	var l log
	h := recorder(t, &l)
	h.malformed = func(ctx context.Context, c *conn.Conn, line []byte, _ *jsonrpc.Message, _ *jsonrpc.Error) {
		items, err := jsonrpc.DecodeBatch(line)
		must(t, err)
		for i := range items {
			c.Deliver(ctx, &items[i].Message)
		}
	}
	s, p := withPeer(t.Context(), t, h, nil)
	go func() {
		p.line()
		p.send(`[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":1,"result":"r"},` + pingOne + "]\n")
		p.line()
		must(t, p.out.Close())
	}()
	if got := call(t, s, "1"); got != `"r"` {
		t.Errorf("got %s", got)
	}
	must(t, s.wait())
	if got := l.all(); fmt.Sprint(got) != "[notification none n request 1 ping]" {
		t.Errorf("got %q", got)
	}
}

// A stream that fails ends the connection with its error.
func TestReadError(t *testing.T) {
	broken := errors.New("cable cut")
	for _, r := range []io.Reader{
		iotest.ErrReader(broken),
		io.MultiReader(strings.NewReader("\nhalf a li"), iotest.ErrReader(broken)),
	} {
		s := start(t.Context(), io.NopCloser(r), discard{}, funcs{}, nil)
		if err := s.wait(); !errors.Is(err, broken) {
			t.Errorf("Run: %v", err)
		}
		_, err := s.Call(t.Context(), s.NewID(), "m", nil)
		wantClosed(t, err, broken)
	}
	s := start(t.Context(), io.NopCloser(lazy{}), discard{}, funcs{}, nil)
	if err := s.wait(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Run: %v", err)
	}
}

// lazy returns nothing and no error.
type lazy struct{}

func (lazy) Read([]byte) (int, error) { return 0, nil }

// discard takes everything.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// checkLines fails unless each line of the input that is not blank arrived, once
// and in order, and none that is too long as a message.
func checkLines(t *testing.T, input []byte, got []string) {
	t.Helper()
	for _, line := range bytes.Split(input, []byte("\n")) {
		if len(bytes.Trim(line, " \t\r")) == 0 && len(line) <= 200 {
			continue
		}
		if len(got) == 0 || got[0] == "" || len(line) > 200 && got[0][0] != '"' {
			t.Fatalf("line %q of %q arrived as %q", line, input, got)
		}
		got = got[1:]
	}
	if len(got) > 0 && got[0] != "" {
		t.Fatalf("%q brought %q beyond its lines", input, got)
	}
}

// FuzzLines: however the input is cut into reads, the same messages arrive, and
// nothing ends the connection.
func FuzzLines(f *testing.F) {
	f.Add([]byte(pingOne+"\n\nlog\r\n"+pingOne), 3)
	f.Add([]byte("x"), 0)
	f.Add([]byte("\v"), 87) // white space, but not in JSON: no message, and no blank line either
	f.Add([]byte(strings.Replace(pingOne, "{", "{"+strings.Repeat(" ", 200), 1)+"\n"+pingOne), 9)
	f.Add([]byte("[1]\n"+strings.Repeat("x", 300)+"\n"+`{"jsonrpc":"2.0","id":"a","result":{}}`), 1)
	f.Fuzz(func(t *testing.T, input []byte, cut int) {
		run := func(r io.Reader) string {
			var b strings.Builder
			s := start(t.Context(), io.NopCloser(r), discard{}, funcs{
				message: func(_ context.Context, _ *conn.Conn, m *jsonrpc.Message) {
					fmt.Fprintf(&b, "%s\n", jsonrpc.Append(nil, m))
				},
				malformed: func(_ context.Context, _ *conn.Conn, line []byte, m *jsonrpc.Message, err *jsonrpc.Error) {
					fmt.Fprintf(&b, "%q %v %v\n", line, m.ID, err)
				},
			}, &conn.Options{MaxLine: 200})
			must(t, s.wait())
			return b.String()
		}
		cut = max(0, min(cut, len(input)))
		whole := run(bytes.NewReader(input))
		checkLines(t, input, strings.Split(strings.TrimSuffix(whole, "\n"), "\n"))
		if got := run(io.MultiReader(bytes.NewReader(input[:cut]), iotest.OneByteReader(bytes.NewReader(input[cut:])))); got != whole {
			t.Fatalf("whole\n%s\ncut at %d\n%s", whole, cut, got)
		}
	})
}
