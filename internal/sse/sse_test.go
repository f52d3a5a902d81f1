package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/seed38e7925c/parley/internal/sse"
)

// show makes an event comparable and readable.
func show(ev sse.Event) string {
	var b strings.Builder
	if ev.Name != "" {
		fmt.Fprintf(&b, "event=%q ", ev.Name)
	}
	if ev.HasID {
		fmt.Fprintf(&b, "id=%q ", ev.ID)
	}
	if ev.Retry != 0 {
		fmt.Fprintf(&b, "retry=%d ", ev.Retry.Milliseconds())
	}
	if ev.Data != nil {
		fmt.Fprintf(&b, "data=%q", ev.Data)
	}
	return strings.TrimSpace(b.String())
}

// read returns all events of a stream and the error that ended it.
func read(r io.Reader, limit int) ([]string, error) {
	var all []string
	sr := sse.NewReader(r, limit)
	for {
		ev, err := sr.Next()
		if err != nil {
			if _, again := sr.Next(); !errors.Is(again, err) {
				return all, fmt.Errorf("%w, then %w", err, again)
			}
			return all, err
		}
		all = append(all, show(ev))
	}
}

// wantEvents reads stream whole and byte by byte; it must hold want.
func wantEvents(t *testing.T, stream string, want ...string) {
	t.Helper()
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(stream),
		"bytes": iotest.OneByteReader(strings.NewReader(stream)),
		"eof":   iotest.DataErrReader(strings.NewReader(stream)),
	} {
		got, err := read(r, 0)
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %q\n got %q\nwant %q", name, stream, got, want)
		}
	}
}

const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`

// E01: LF, CRLF and CR end lines, mixed too.
func TestCaseE01(t *testing.T) {
	for _, ends := range []string{"\n\n\n\n", "\r\r\r\r", "\n\r\r\n"} {
		e := strings.Split(strings.Join(strings.Split(ends, ""), " "), " ")
		wantEvents(t, "event: message"+e[0]+"data: "+answer+e[1]+e[2]+"data:2"+e[3]+e[0],
			fmt.Sprintf(`event="message" data=%q`, answer), `data="2"`)
	}
	wantEvents(t, "event: message\r\ndata: "+answer+"\r\n\r\ndata: 2\r\n\r\n",
		fmt.Sprintf(`event="message" data=%q`, answer), `data="2"`)
	wantEvents(t, "data: a\r\n\ndata: b\n\r\ndata: c\r\r", `data="a"`, `data="b"`, `data="c"`)
}

// An event that a CR ends is there at once, not when the next byte comes.
func TestEventEndsAtCarriageReturn(t *testing.T) {
	pr, pw := io.Pipe()
	defer pr.Close()
	done := make(chan error, 1)
	go func() {
		_, err := pw.Write([]byte("data: a\r\r"))
		done <- err
	}()
	ev, err := sse.NewReader(pr, 0).Next()
	if err != nil || string(ev.Data) != "a" {
		t.Errorf("got %s, %v", show(ev), err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// E03: data lines are joined by line feeds.
func TestCaseE03(t *testing.T) {
	wantEvents(t, "data: {\"jsonrpc\":\"2.0\",\ndata:  \"id\":1,\ndata:  \"result\":{}}\n\n",
		`data="{\"jsonrpc\":\"2.0\",\n \"id\":1,\n \"result\":{}}"`)
	wantEvents(t, "data\ndata\n\n", `data="\n"`)
}

// E04: byte order mark, no space, no colon, unknown fields, no end.
func TestCaseE04(t *testing.T) {
	wantEvents(t, "\ufeffdata:"+answer+"\n\nfoo: bar\n\ndata\n\nid\n\ndata: lost\n",
		fmt.Sprintf("data=%q", answer), `data=""`, `id=""`)
	wantEvents(t, "data: lost")
	wantEvents(t, "data: a\n\ndata: lost\nid: 3", `data="a"`)
	wantEvents(t, "\n\n\ufeffdata: x\n\nDATA: y\n\n data: z\n\n")
	wantEvents(t, "data:  two\n\ndata:\ttab\n\n", `data=" two"`, `data="\ttab"`)
}

// E05: a character may be cut by a read.
func TestCaseE05(t *testing.T) {
	stream := "data: 漢字\n\n"
	for i := range stream {
		got, err := read(io.MultiReader(strings.NewReader(stream[:i]), strings.NewReader(stream[i:])), 0)
		if !errors.Is(err, io.EOF) || len(got) != 1 || got[0] != `data="漢字"` {
			t.Errorf("cut at %d: %q, %v", i, got, err)
		}
	}
}

// E06: comments and pings are not data; the id of a priming event is kept.
func TestCaseE06(t *testing.T) {
	wantEvents(t, ": hi\n\nevent: ping\ndata:\n\nid: s1-0\ndata:\n\nevent: foo\ndata: {}\n\n:\n: x\ndata: "+answer+"\n\n",
		`event="ping" data=""`, `id="s1-0" data=""`, `event="foo" data="{}"`, fmt.Sprintf("data=%q", answer))
	wantEvents(t, "id: 7\n\nevent: x\n\ndata: y\n\n", `id="7"`, `data="y"`)
	wantEvents(t, "id: a\x00b\ndata: x\n\n", `data="x"`)
}

func TestRetry(t *testing.T) {
	for value, want := range map[string]string{
		"3000": "retry=3000", "0": "", "": "", "3s": "", "-1": "", "+1": "", "1.5": "", " 7": "", "007": "retry=7",
		strings.Repeat("9", 40): "retry=31536000000",
	} {
		var all []string
		if want != "" {
			all = append(all, want)
		}
		wantEvents(t, "retry: "+value+"\n\n", all...)
	}
}

// S02: one event is bounded, a stream is not.
func TestCaseS02(t *testing.T) {
	const limit = 1 << 16
	for name, stream := range map[string]io.Reader{
		"line": endless("data: ", "a"),
		"data": endless("", "data: aaaaaaaaaaaaaaa\n"),
		"none": endless("", "a"),
	} {
		_, err := read(io.LimitReader(stream, 1<<31), limit)
		if !errors.Is(err, sse.ErrTooLong) || !strings.Contains(err.Error(), "65536") {
			t.Errorf("%s: %v", name, err)
		}
	}
	big := "data: " + strings.Repeat("x", limit-6) + "\n\n"
	got, err := read(io.LimitReader(endless("", big), int64(1000*len(big))), limit)
	if !errors.Is(err, io.EOF) || len(got) != 1000 {
		t.Errorf("%d events, %v", len(got), err)
	}
	// Keep-alives within an event do not add up.
	noise := strings.Repeat(": keep-alive\n", limit)
	got, err = read(strings.NewReader("data: x\n"+noise+"data: y\n\n"), limit)
	if !errors.Is(err, io.EOF) || len(got) != 1 || got[0] != `data="x\ny"` {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := read(strings.NewReader("data: "+strings.Repeat("x", limit)+"\n\n"), limit); !errors.Is(err, sse.ErrTooLong) {
		t.Error(err)
	}
}

// endless is a reader of head and then of unit for ever.
func endless(head, unit string) io.Reader {
	return io.MultiReader(strings.NewReader(head), &loop{[]byte(strings.Repeat(unit, 1+4096/len(unit))), 0})
}

type loop struct {
	b []byte
	i int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.b[l.i:])
	l.i = (l.i + n) % len(l.b)
	return n, nil
}

// stuck returns nothing and no error.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestReaderErrors(t *testing.T) {
	if _, err := read(stuck{}, 0); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
	broken := errors.New("connection reset")
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 0)
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAppend(t *testing.T) {
	tests := []struct {
		ev   sse.Event
		want string
	}{
		{sse.Event{Data: []byte(answer)}, "data: " + answer + "\n\n"},
		{sse.Event{Name: "message", ID: "s1", HasID: true, Data: []byte{}, Retry: 3 * time.Second}, "id: s1\nevent: message\nretry: 3000\ndata: \n\n"},
		{sse.Event{Data: []byte("a\nb\r\nc\rd\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{sse.Event{Name: "a\r\ndata: x", ID: "1\n\n\x002", HasID: true, Data: []byte("y")}, "id: 12\nevent: adata: x\ndata: y\n\n"},
		{sse.Event{HasID: true}, "id: \n\n"},
		{sse.Event{Retry: time.Microsecond, Data: []byte(" x")}, "data:  x\n\n"},
	}
	for _, tt := range tests {
		if got := string(sse.Append([]byte("~"), &tt.ev)); got != "~"+tt.want {
			t.Errorf("Append(%s) = %q, want %q", show(tt.ev), got, tt.want)
		}
	}
}

func TestAppendComment(t *testing.T) {
	if got := string(sse.AppendComment(nil, "keep\ndata: alive\r")); got != ": keep\n: data: alive\n: \n\n" {
		t.Errorf("got %q", got)
	}
	wantEvents(t, "data: a\n\n"+string(sse.AppendComment(nil, "x\n\ndata: y"))+"data: b\n\n", `data="a"`, `data="b"`)
}

// chunks reads b in pieces whose sizes follow from seed.
type chunks struct {
	b    []byte
	seed uint64
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	c.seed = c.seed*6364136223846793005 + 1442695040888963407
	n := min(1+int(c.seed>>33)%7, len(p), len(c.b))
	copy(p, c.b[:n])
	c.b = c.b[n:]
	return n, nil
}

// FuzzReader: how a stream is cut into reads makes no difference, and what was
// read reads the same after it was written again.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\ufeffdata: a\r\n\r\nid: 1\nretry: 3\rdata\n\n"), uint64(1))
	f.Add([]byte("\ufeffdata:  a\r\ndata: b\r\n\r\nid: 1\x00\ndata: c\rdata\n\n"), uint64(3))
	f.Add([]byte(": c\nevent: x\ndata: 漢\ndata:\n\n"), uint64(2))
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		const limit = 256
		whole, err1 := read(bytes.NewReader(stream), limit)
		cut, err2 := read(&chunks{stream, seed}, limit)
		if fmt.Sprint(whole, err1) != fmt.Sprint(cut, err2) {
			t.Fatalf("%q\nwhole %q %v\n  cut %q %v", stream, whole, err1, cut, err2)
		}
		if want, ok := reference(string(stream), limit); ok && fmt.Sprint(whole) != fmt.Sprint(want) {
			t.Fatalf("%q\n got %q\nwant %q", stream, whole, want)
		}
		var again []byte
		for sr := sse.NewReader(bytes.NewReader(stream), limit); ; {
			ev, err := sr.Next()
			if err != nil {
				break
			}
			again = sse.AppendComment(sse.Append(again, &ev), "x")
		}
		if back, _ := read(bytes.NewReader(again), 2*limit); fmt.Sprint(back) != fmt.Sprint(whole) {
			t.Fatalf("%q became %q\n got %q\nwant %q", stream, again, back, whole)
		}
	})
}

// reference reads a stream the slow way, word for word as the standard has it. It knows no retry times and no bound.
func reference(stream string, limit int) (events []string, ok bool) {
	if len(stream) > limit/2 || strings.Contains(stream, "retry") {
		return nil, false
	}
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(stream, "\ufeff"))
	lines := strings.Split(stream, "\n")
	var ev sse.Event
	for _, line := range lines[:len(lines)-1] { // the last one did not end
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if ev.Data != nil || ev.HasID {
				if ev.Data != nil {
					ev.Data = ev.Data[:len(ev.Data)-1]
				}
				events = append(events, show(ev))
			}
			ev = sse.Event{}
		case name == "data":
			ev.Data = append(append(ev.Data, value...), '\n')
		case name == "event":
			ev.Name = value
		case name == "id" && !strings.Contains(value, "\x00"):
			ev.ID, ev.HasID = value, true
		}
	}
	return events, true
}

// FuzzRoundTrip: what was written is read, line ends of the data aside.
func FuzzRoundTrip(f *testing.F) {
	f.Add("message", "1", true, []byte("{}"), int64(5))
	f.Add("", "\x00\n", true, []byte("a\r\nb\rc\n"), int64(0))
	f.Fuzz(func(t *testing.T, name, id string, hasID bool, data []byte, ms int64) {
		strip := strings.NewReplacer("\r", "", "\n", "")
		if data == nil {
			data = []byte{}
		}
		ev := sse.Event{Name: name, ID: id, HasID: hasID, Data: data, Retry: time.Duration(ms%1e9) * time.Millisecond}
		got, err := read(bytes.NewReader(sse.Append(nil, &ev)), 0)
		ev.Name, ev.ID, ev.Retry = strip.Replace(name), strings.ReplaceAll(strip.Replace(id), "\x00", ""), max(ev.Retry, 0)
		lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
		ev.Data = append([]byte{}, lines...)
		if !errors.Is(err, io.EOF) || len(got) != 1 || got[0] != show(ev) {
			t.Fatalf("got %q, %v; want %q", got, err, show(ev))
		}
	})
}

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{300, 64 << 10} {
		ev := sse.Append(nil, &sse.Event{Name: "message", Data: bytes.Repeat([]byte("x"), size)})
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(len(ev)))
			b.ReportAllocs()
			r := sse.NewReader(&loop{ev, 0}, 0)
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
