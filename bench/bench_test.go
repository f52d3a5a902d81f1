package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/peers/floor"
	"github.com/seed38e7925c/parley/bench/internal/peers/gosdk"
	"github.com/seed38e7925c/parley/bench/internal/peers/mcpgo"
	"github.com/seed38e7925c/parley/bench/internal/peers/parley"
	"github.com/seed38e7925c/parley/bench/internal/tool"
	"github.com/seed38e7925c/parley/bench/internal/wire"
)

// The comparison is fair only if all peers give the same answers to the same bytes.

var compared = []peer.Peer{parley.Peer{}, gosdk.Peer{}, mcpgo.Peer{}, floor.Peer{}}

var modes = []peer.Mode{peer.Modern, peer.Stateful, peer.Stateless}

// each runs f for every peer in every mode.
func each(t *testing.T, s peer.Setup, f func(t *testing.T, c *wire.Conn, srv *peer.Server, s peer.Setup)) {
	for _, p := range compared {
		for _, mode := range modes {
			t.Run(p.Name()+"/"+string(mode), func(t *testing.T) {
				s := s
				s.Mode = mode
				srv, err := p.Serve(s)
				if err != nil {
					t.Fatal(err)
				}
				ts := httptest.NewServer(srv.Handler)
				t.Cleanup(func() {
					ts.CloseClientConnections()
					ts.Close()
				})
				c := dial(t, strings.TrimPrefix(ts.URL, "http://"))
				if mode != peer.Modern {
					if _, err := c.Handshake(); err != nil {
						t.Fatal(err)
					}
				}
				f(t, c, srv, s)
			})
		}
	}
}

func dial(t *testing.T, host string) *wire.Conn {
	t.Helper()
	c, err := wire.Dial(host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// send returns the body of the answer to m.
func send(t *testing.T, c *wire.Conn, m wire.Message) []byte {
	t.Helper()
	session := c.Session
	status, body, err := c.Do(m.Post(c.Host, session).Raw)
	if err != nil || status != 200 {
		t.Fatalf("status %d, %s, %v", status, body, err)
	}
	return wire.Payload(body)
}

// resultOf decodes a response that is no error.
func resultOf(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var m struct {
		ID     json.Number
		Result map[string]any
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.Result == nil || len(m.ID) != 10 {
		t.Fatalf("%s: %v", raw, err)
	}
	return m.Result
}

// stamped checks what the modern revision demands of every result.
func stamped(t *testing.T, r map[string]any, kind string) {
	t.Helper()
	meta, _ := r["_meta"].(map[string]any)
	if r["resultType"] != kind || meta["io.modelcontextprotocol/serverInfo"] == nil {
		t.Errorf("resultType %v, _meta %v", r["resultType"], meta)
	}
}

func checkCall(t *testing.T, raw []byte, size int, modern bool) {
	t.Helper()
	var want any
	enc, err := json.Marshal(tool.Do(wire.Input(size)))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(enc, &want); err != nil {
		t.Fatal(err)
	}
	r := resultOf(t, raw)
	content, _ := r["content"].([]any)
	if len(content) != 1 || r["isError"] == true || !reflect.DeepEqual(r["structuredContent"], want) {
		t.Fatalf("%.400s", raw)
	}
	text, _ := content[0].(map[string]any)["text"].(string)
	var got any
	if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("text %.300s: %v", text, err)
	}
	if modern {
		stamped(t, r, "complete")
	}
}

func TestCalls(t *testing.T) {
	each(t, peer.Setup{}, func(t *testing.T, c *wire.Conn, _ *peer.Server, s peer.Setup) {
		for _, size := range []int{100, 64 << 10} {
			checkCall(t, send(t, c, wire.Call(s.Mode == peer.Modern, size)), size, s.Mode == peer.Modern)
		}
	})
}

// All but mcp-go, whose default is to validate nothing, refuse what the schema forbids.
func TestBadArguments(t *testing.T) {
	each(t, peer.Setup{}, func(t *testing.T, c *wire.Conn, _ *peer.Server, s peer.Setup) {
		for _, args := range []string{`{"message":"x"}`, `{"message":"x","number":1,"other":2}`, `{"message":7,"number":1}`} {
			m := wire.Request(s.Mode == peer.Modern, "tools/call", tool.Repeat, `"name":"`+tool.Repeat+`","arguments":`+args)
			status, body, err := c.Do(m.Post(c.Host, c.Session).Raw)
			if err != nil {
				t.Fatal(err)
			}
			refused := status >= 400 || bytes.Contains(body, []byte(`"isError":true`)) || bytes.Contains(body, []byte(`"error":`))
			if !refused && !strings.HasPrefix(t.Name(), "TestBadArguments/mcpgo") {
				t.Errorf("%s was accepted: %s", args, body)
			}
		}
	})
}

// canonical makes lists comparable: the order of members, hints that one peer always adds, and two ways to say that a list may be
// left out are no differences.
func canonical(t *testing.T, r map[string]any) string {
	t.Helper()
	list, _ := r["tools"].([]any)
	for _, entry := range list {
		if m, ok := entry.(map[string]any); ok {
			delete(m, "annotations")
		}
	}
	enc, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(enc), `"type":["null","array"]`, `"type":"array"`)
}

func TestLists(t *testing.T) {
	for _, filter := range []bool{false, true} {
		const extra = 20
		want := ""
		each(t, peer.Setup{Extra: extra, Filter: filter}, func(t *testing.T, c *wire.Conn, srv *peer.Server, s peer.Setup) {
			r := resultOf(t, send(t, c, wire.List(s.Mode == peer.Modern)))
			got := canonical(t, r)
			if want == "" {
				want = got
			}
			if !sameTools(t, got, want) {
				t.Errorf("the first peer has\n%s\nand this one\n%s", want, got)
			}
			n := strings.Count(got, `"inputSchema"`)
			if n != map[bool]int{false: extra, true: extra / 2}[filter]+1 {
				t.Errorf("%d tools", n)
			}
			if s.Mode == peer.Modern {
				stamped(t, r, "complete")
			}
			if srv.Change == nil {
				t.Error("cannot change")
			}
		})
	}
}

// sameTools compares lists without regard to order: peers sort by name or by registration.
func sameTools(t *testing.T, a, b string) bool {
	t.Helper()
	index := func(s string) map[string]any {
		var list []map[string]any
		if err := json.Unmarshal([]byte(s), &list); err != nil {
			t.Fatal(err)
		}
		m := map[string]any{}
		for _, entry := range list {
			m[entry["name"].(string)] = entry
		}
		return m
	}
	return reflect.DeepEqual(index(a), index(b))
}

func TestQuestions(t *testing.T) {
	each(t, peer.Setup{Ask: true}, func(t *testing.T, c *wire.Conn, _ *peer.Server, s peer.Setup) {
		for name, n := range map[string]int{tool.Approve: 1, tool.Trip: tool.Asks} {
			switch s.Mode {
			case peer.Modern:
				rounds(t, c, name, n)
			case peer.Stateful:
				stream(t, c, name, n)
			}
		}
	})
}

func rounds(t *testing.T, c *wire.Conn, name string, n int) {
	t.Helper()
	raw := send(t, c, wire.Ask(true, name))
	for i := range n {
		r := resultOf(t, raw)
		stamped(t, r, "input_required")
		asked, _ := r["inputRequests"].(map[string]any)
		question, _ := asked[tool.Key(i)].(map[string]any)
		if len(asked) != 1 || question["method"] != "elicitation/create" || !strings.Contains(string(raw), tool.Question(i)) {
			t.Fatalf("question %d: %s", i, raw)
		}
		state, _ := r["requestState"].(string)
		raw = send(t, c, wire.Retry(name, i, []byte(state)))
	}
	stamped(t, resultOf(t, raw), "complete")
	if !bytes.Contains(raw, []byte(tool.Done("launch", n))) {
		t.Errorf("%s", raw)
	}
}

func stream(t *testing.T, c *wire.Conn, name string, n int) {
	t.Helper()
	answers := dial(t, c.Host)
	session := c.Session
	if status, err := c.Open(wire.Ask(false, name).Post(c.Host, session).Raw); err != nil || status != 200 {
		t.Fatal(status, err)
	}
	for i := range n {
		event, err := c.Event()
		if err != nil || !bytes.Contains(event, []byte(tool.Question(i))) {
			t.Fatalf("question %d: %s, %v", i, event, err)
		}
		id := wire.Between(event, `"id":`, ",")
		status, body, err := answers.Do(wire.Approval(id).Post(c.Host, session).Raw)
		if err != nil || status != 202 {
			t.Fatalf("answer %d: %d %s %v", i, status, body, err)
		}
	}
	rest, err := c.Rest()
	if err != nil || !bytes.Contains(rest, []byte(tool.Done("launch", n))) {
		t.Errorf("%s, %v", rest, err)
	}
}

func TestChangesAreTold(t *testing.T) {
	each(t, peer.Setup{}, func(t *testing.T, c *wire.Conn, srv *peer.Server, s peer.Setup) {
		var request []byte
		switch s.Mode {
		case peer.Modern:
			request = wire.Listen().Post(c.Host, "").Raw
		case peer.Stateful:
			request = wire.Get(c.Host, c.Session)
		default:
			t.Skip("nothing can be told without a session")
		}
		if status, err := c.Open(request); err != nil || status != 200 {
			t.Fatal(status, err)
		}
		if s.Mode == peer.Modern {
			event, err := c.Event()
			if err != nil || !bytes.Contains(event, []byte("notifications/subscriptions/acknowledged")) {
				t.Fatalf("%s, %v", event, err)
			}
		}
		told := make(chan struct{})
		go func() {
			defer close(told)
			event, err := c.Event()
			if err != nil || !bytes.Contains(event, []byte("notifications/tools/list_changed")) {
				t.Errorf("%s, %v", event, err)
			}
		}()
		srv.Change()
		<-told
	})
}

func TestLines(t *testing.T) {
	for _, p := range compared {
		for _, modern := range []bool{true, false} {
			t.Run(p.Name()+"/"+strconv.FormatBool(modern), func(t *testing.T) {
				toServer, fromClient := io.Pipe()
				toClient, fromServer := io.Pipe()
				ended := make(chan error, 1)
				go func() { ended <- p.ServeLines(context.Background(), toServer, fromServer, peer.Setup{}) }()
				l := wire.NewLines(toClient, fromClient)
				if !modern {
					if err := l.Handshake(); err != nil {
						t.Fatal(err)
					}
				}
				for _, size := range []int{100, 64 << 10} {
					raw, err := l.Do(wire.Call(modern, size).Line())
					if err != nil {
						t.Fatal(err)
					}
					checkCall(t, bytes.TrimSpace(raw), size, modern)
				}
				_ = fromClient.Close()
				<-ended
			})
		}
	}
}

func TestClients(t *testing.T) {
	srv, err := floor.Peer{}.Serve(peer.Setup{Mode: peer.Modern})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(srv.Handler)
	defer ts.Close()
	for _, p := range compared {
		c, err := p.Dial(t.Context(), ts.URL+"/mcp")
		if err != nil {
			t.Fatalf("%s: %v", p.Name(), err)
		}
		if err := c.Call(t.Context()); err != nil {
			t.Errorf("%s: %v", p.Name(), err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: %v", p.Name(), err)
		}
	}
}

// The arithmetic of the tables: ratios within rounds, and which way is better.
func TestVerdicts(t *testing.T) {
	d := collect([]result{
		{0, "crowd", ours, map[string]float64{"op/s": 100}}, {0, "crowd", "gosdk", map[string]float64{"op/s": 10}},
		{1, "crowd", ours, map[string]float64{"op/s": 50}}, {1, "crowd", "gosdk", map[string]float64{"op/s": 10}},
		{2, "crowd", ours, map[string]float64{"op/s": 30}}, {2, "crowd", "floor", map[string]float64{"op/s": 60}},
		{0, "sessions", ours, map[string]float64{"heap-B": 2048, "goroutines": 0}},
	})
	if x, ok := d.better("crowd", "op/s", "gosdk"); !ok || x != 7.5 {
		t.Errorf("better %v %v", x, ok)
	}
	got := ""
	for _, row := range d.verdicts()[1:] {
		got += strings.Join(row, ";") + "\n"
	}
	const want = "sessions;heap;≤ 1.00 KiB;2.00 KiB;MISSED\nsessions;goroutines;≤ 0.00;0.00;holds\n" +
		"crowd;op/s;gosdk ≥ 4x;7.50x;holds\ncrowd;op/s;floor ≤ 1.15x;2.00x;MISSED\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
