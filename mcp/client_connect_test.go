//go:build !mcp_modern_only

package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
)

// Anything but an answer of the new era leads to initialize: whatever the error code, and silence too.
func TestCaseV06FallbackIsNotKeyedToACode(t *testing.T) {
	for _, code := range []int{-32601, -32602, -32600, -32000, 0, -32603, -32700, 17} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			f := legacyFake(t, "2025-11-25")
			f.on["server/discover"] = func(p *fakePeer, m *jsonrpc.Message) { p.fail(m, code, "Server not initialized", "") }
			if rev := f.connect(nil).Server().Revision; rev != mcp.Revision20251125 {
				t.Errorf("revision %v", rev)
			}
		})
	}
	for name, answer := range map[string]string{
		"a result without versions": `{"ok":true}`,
		"versions that are none":    `{"supportedVersions":[]}`,
		"only older revisions":      `{"resultType":"complete","supportedVersions":["2025-06-18"],"capabilities":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := legacyFake(t, "2025-06-18")
			f.on["server/discover"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, answer) }
			if rev := f.connect(nil).Server().Revision; rev != mcp.Revision20250618 {
				t.Errorf("revision %v", rev)
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := legacyFake(t, "2025-11-25")
			f.on["server/discover"] = func(*fakePeer, *jsonrpc.Message) {}
			start := time.Now()
			c := f.connect(&mcp.ClientOptions{ProbeTimeout: 3 * time.Second})
			if d := time.Since(start); d != 3*time.Second {
				t.Errorf("fell back after %v", d)
			}
			if c.Server().Revision != mcp.Revision20251125 {
				t.Errorf("revision %v", c.Server().Revision)
			}
			if n := f.received("notifications/cancelled"); len(n) != 0 {
				t.Errorf("the probe was cancelled on the wire: %v", n)
			}
		})
	})
}

func TestConnectNeverFallsBackOnModernErrors(t *testing.T) {
	tests := []struct {
		code   int
		data   string
		probes int
		want   string
	}{
		{-32022, `{"supported":["2099-01-01"],"requested":"2026-07-28"}`, 1, "2099-01-01"},
		{-32022, ``, 1, "-32022"},
		{-32022, `{"supported":["2026-07-28"],"requested":"2026-07-28"}`, 3, "keeps refusing"},
		{-32021, `{"requiredCapabilities":{"sampling":{}}}`, 1, "-32021"},
		{-32020, ``, 3, "-32020"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.code, tt.data), func(t *testing.T) {
			f := legacyFake(t, "2025-11-25")
			f.on["server/discover"] = func(p *fakePeer, m *jsonrpc.Message) { p.fail(m, tt.code, "no", tt.data) }
			_, err := mcp.Connect(t.Context(), mcp.Pipe(f.serve), nil)
			var e *mcp.Error
			if !errors.As(err, &e) || int(e.Code) != tt.code || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Connect: %v", err)
			}
			if n := len(f.received("server/discover")); n != tt.probes {
				t.Errorf("%d probes", n)
			}
			if len(f.received("initialize")) != 0 {
				t.Error("the client fell back")
			}
		})
	}
	t.Run("same version listed: retry at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := modernFake(t)
			answer := f.on["server/discover"]
			f.on["server/discover"] = func(p *fakePeer, m *jsonrpc.Message) {
				if len(f.received("server/discover")) == 1 {
					p.fail(m, -32022, "not this time", `{"supported":["2026-07-28"],"requested":"2026-07-28"}`)
					return
				}
				answer(p, m)
			}
			start := time.Now()
			if rev := f.connect(nil).Server().Revision; rev != mcp.Revision20260728 || time.Since(start) != 0 {
				t.Errorf("revision %v after %v", rev, time.Since(start))
			}
		})
	})
	t.Run("only older revisions listed", func(t *testing.T) {
		f := legacyFake(t, "2025-06-18")
		f.on["server/discover"] = func(p *fakePeer, m *jsonrpc.Message) {
			p.fail(m, -32022, "no", `{"supported":["2025-06-18"],"requested":"2026-07-28"}`)
		}
		if rev := f.connect(nil).Server().Revision; rev != mcp.Revision20250618 {
			t.Errorf("revision %v", rev)
		}
	})
}

func TestCaseV02InitializeCannotNegotiateModern(t *testing.T) {
	f := legacyFake(t, "2026-07-28")
	if _, err := mcp.Connect(t.Context(), mcp.Pipe(f.serve), nil); err == nil || !strings.Contains(err.Error(), "2026-07-28") {
		t.Errorf("Connect: %v", err)
	}
}

func TestCaseV03UnknownVersionDisconnects(t *testing.T) {
	for _, v := range []string{"1999-01-01", ""} {
		f := legacyFake(t, v)
		_, err := mcp.Connect(t.Context(), mcp.Pipe(f.serve), nil)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", v)) || !strings.Contains(err.Error(), "2025-11-25") {
			t.Errorf("Connect: %v; want both versions named", err)
		}
		if len(f.received("notifications/initialized")) != 0 {
			t.Error("the client went on")
		}
	}
}

func TestCaseV04AnySupportedCounterOffer(t *testing.T) {
	for _, v := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(v, func(t *testing.T) {
			f := legacyFake(t, v)
			f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, `{"content":[]}`) }
			c := f.connect(nil)
			if c.Server().Revision.String() != v {
				t.Errorf("revision %v", c.Server().Revision)
			}
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
				t.Fatal(err)
			}
			call := f.received("tools/call")[0]
			if string(call.Params) != `{"name":"x"}` {
				t.Errorf("params %s; want nothing of the new era", call.Params)
			}
			if memberIn(t, f.received("initialize")[0].Params, "protocolVersion") != `"2025-11-25"` {
				t.Error("the offer is not the newest")
			}
			if len(f.received("notifications/initialized")) != 1 {
				t.Error("notifications/initialized is missing")
			}
		})
	}
}

func TestConnectRevisions(t *testing.T) {
	t.Run("handshake only: no probe", func(t *testing.T) {
		f := legacyFake(t, "2025-06-18")
		c := f.connect(&mcp.ClientOptions{Revisions: []mcp.Revision{mcp.Revision20250618, mcp.Revision20241105}})
		if len(f.received("server/discover")) != 0 || c.Server().Revision != mcp.Revision20250618 {
			t.Errorf("sent %v", f.received(""))
		}
		if memberIn(t, f.received("initialize")[0].Params, "protocolVersion") != `"2025-06-18"` {
			t.Error("offered another revision")
		}
	})
	t.Run("pinned revision not granted", func(t *testing.T) {
		f := legacyFake(t, "2025-03-26")
		if _, err := mcp.Connect(t.Context(), mcp.Pipe(f.serve), &mcp.ClientOptions{Revisions: []mcp.Revision{mcp.Revision20251125}}); err == nil {
			t.Error("accepted a revision that was not allowed")
		}
	})
	t.Run("modern only: no fallback", func(t *testing.T) {
		f := legacyFake(t, "2025-11-25")
		_, err := mcp.Connect(t.Context(), mcp.Pipe(f.serve), &mcp.ClientOptions{Revisions: []mcp.Revision{mcp.Revision20260728}})
		if err == nil || !strings.Contains(err.Error(), "ClientOptions.Revisions") || len(f.received("initialize")) != 0 {
			t.Errorf("Connect: %v", err)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		if _, err := mcp.Connect(t.Context(), mcp.Pipe(legacyFake(t, "").serve), &mcp.ClientOptions{Revisions: []mcp.Revision{99}}); err == nil {
			t.Error("accepted revision 99")
		}
	})
	t.Run("refused with a list", func(t *testing.T) {
		f := legacyFake(t, "2025-03-26")
		answer := f.on["initialize"]
		f.on["initialize"] = func(p *fakePeer, m *jsonrpc.Message) {
			if memberIn(t, m.Params, "protocolVersion") != `"2025-03-26"` {
				p.fail(m, -32602, "Unsupported protocol version", `{"supported":["2025-03-26"],"requested":"2025-11-25"}`)
				return
			}
			answer(p, m)
		}
		if rev := f.connect(nil).Server().Revision; rev != mcp.Revision20250326 {
			t.Errorf("revision %v", rev)
		}
	})
}

// A server that dies of the probe is started again and spoken to in the old way, and that is remembered for the next time.
func TestCaseV08ServerDiesOnProbe(t *testing.T) {
	f := legacyFake(t, "2025-06-18")
	f.on["server/discover"] = func(p *fakePeer, _ *jsonrpc.Message) { p.rwc.Close() }
	pipe := mcp.Pipe(f.serve)
	for range 2 {
		c, err := mcp.Connect(t.Context(), pipe, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.Server().Revision != mcp.Revision20250618 {
			t.Errorf("revision %v", c.Server().Revision)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := len(f.received("server/discover")); n != 1 {
		t.Errorf("%d probes, want 1", n)
	}
	if len(f.peers) != 3 {
		t.Errorf("%d connections, want 3", len(f.peers))
	}
}

// What was remembered about a server is found out anew when it no longer holds.
func TestConnectForgetsEra(t *testing.T) {
	f := legacyFake(t, "2025-06-18")
	pipe := mcp.Pipe(f.serve)
	c, err := mcp.Connect(t.Context(), pipe, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	f.on["server/discover"] = modernFake(t).on["server/discover"]
	delete(f.on, "initialize")
	if c, err = mcp.Connect(t.Context(), pipe, nil); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Server().Revision != mcp.Revision20260728 {
		t.Errorf("revision %v", c.Server().Revision)
	}
}

func TestCaseV11PingDuringHandshake(t *testing.T) {
	f := legacyFake(t, "2025-11-25")
	answer := f.on["initialize"]
	f.on["initialize"] = func(p *fakePeer, m *jsonrpc.Message) {
		if r := p.ask(t.Context(), "p1", "ping", `{}`); r == nil || string(r.Result) != `{}` {
			t.Errorf("ping before the handshake: %v", r)
		}
		answer(p, m)
	}
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) {
		if r := p.ask(t.Context(), "p2", "ping", `{}`); r == nil || string(r.Result) != `{}` {
			t.Errorf("ping during a call: %v", r)
		}
		p.result(m, `{"content":[]}`)
	}
	c := f.connect(nil)
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
		t.Error(err)
	}
	if err := c.Ping(t.Context()); err == nil {
		t.Error("the fake has no ping")
	}
}

// Capabilities are exactly what the interactor can do.
func TestCaseF11CapabilitiesFollowInteractor(t *testing.T) {
	form := func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) { return nil, nil }
	open := func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) { return nil, nil }
	tests := []struct {
		in                   *mcp.Interactor
		modern, r1125, r0618 string
	}{
		{nil, `{}`, `{}`, `{}`},
		{&mcp.Interactor{Form: form}, `{"elicitation":{"form":{}}}`, `{"elicitation":{"form":{}}}`, `{"elicitation":{}}`},
		{&mcp.Interactor{Open: open}, `{"elicitation":{"url":{}}}`, `{"elicitation":{"url":{}}}`, `{}`},
		{&mcp.Interactor{Form: form, Open: open, SampleTools: true,
			Sample: func(context.Context, *mcp.SampleQuestion) (*mcp.CreateMessageResult, error) { return nil, nil },
			Roots:  func(context.Context) ([]mcp.Root, error) { return nil, nil }},
			`{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`,
			`{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`,
			`{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}`},
	}
	for i, tt := range tests {
		f := modernFake(t)
		f.connect(&mcp.ClientOptions{Interactor: tt.in})
		if v := memberIn(t, f.received("server/discover")[0].Params, "_meta", mcp.MetaClientCapabilities); v != tt.modern {
			t.Errorf("%d: modern %s, want %s", i, v, tt.modern)
		}
		for rev, want := range map[mcp.Revision]string{mcp.Revision20251125: tt.r1125, mcp.Revision20250618: tt.r0618} {
			f = legacyFake(t, rev.String())
			f.connect(&mcp.ClientOptions{Interactor: tt.in, Revisions: []mcp.Revision{rev}})
			if v := memberIn(t, f.received("initialize")[0].Params, "capabilities"); v != want {
				t.Errorf("%d: %v %s, want %s", i, rev, v, want)
			}
		}
	}
}

func TestConnectLogLevel(t *testing.T) {
	f := legacyFake(t, "2025-06-18")
	f.on["logging/setLevel"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, `{}`) }
	c := f.connect(&mcp.ClientOptions{LogLevel: mcp.LevelWarning})
	if err := c.SetLogLevel(t.Context(), mcp.LevelDebug); err != nil {
		t.Error(err)
	}
	if err := c.SetLogLevel(t.Context(), "loud"); err == nil {
		t.Error("accepted an unknown level")
	}
	var levels []string
	for _, m := range f.received("logging/setLevel") {
		levels = append(levels, string(m.Params))
	}
	if !slices.Equal(levels, []string{`{"level":"warning"}`, `{"level":"debug"}`}) {
		t.Errorf("levels %v", levels)
	}
	f = modernFake(t)
	f.on["tools/call"] = func(p *fakePeer, m *jsonrpc.Message) { p.result(m, textResult("")) }
	c = f.connect(&mcp.ClientOptions{LogLevel: mcp.LevelWarning})
	for _, want := range []string{`"warning"`, `"debug"`} {
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
			t.Fatal(err)
		}
		calls := f.received("tools/call")
		if v := memberIn(t, calls[len(calls)-1].Params, "_meta", mcp.MetaLogLevel); v != want {
			t.Errorf("log level %s, want %s", v, want)
		}
		if err := c.SetLogLevel(t.Context(), mcp.LevelDebug); err != nil {
			t.Error(err)
		}
	}
	if len(f.received("logging/setLevel")) != 0 {
		t.Error("logging/setLevel sent at 2026-07-28")
	}
}
