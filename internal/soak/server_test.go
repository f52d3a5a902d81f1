package soak

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
)

// A house is the server under load, and what it counts.
type house struct {
	srv     *mcp.Server
	running atomic.Int64 // handlers of hold
	extras  atomic.Int64 // tools that came and went
}

type canaryIn struct {
	Canary string `json:"canary" minLength:"1"`
	Size   int    `json:"size,omitempty"`
}

// A told is an answer: whose it is, as the server knows, and what was said.
type told struct {
	Subject string `json:"subject"`
	Canary  string `json:"canary"`
	Filler  string `json:"filler,omitempty"`
}

type whoForm struct {
	Name string `json:"name" minLength:"1"`
	Age  int    `json:"age,omitempty" minimum:"0"`
}

// subject returns who is calling: the principal over HTTP, the child's only client on stdio.
func subject(c *mcp.Call) string {
	if p := c.Principal(); p != nil {
		return p.Subject
	}
	return "local"
}

// filler returns size bytes that belong to a canary alone.
func filler(canary string, size int) string {
	return strings.Repeat(canary+".", size/(len(canary)+1)+1)[:size]
}

func newHouse(log *slog.Logger) *house {
	h := &house{srv: mcp.NewServer("soak", "1.0.0", &mcp.ServerOptions{
		Logger: log, Ask: &mcp.AskOptions{MaxPerMinute: -1, Keys: mcp.NewKeyRing(), Lifetime: time.Minute}, NoticeDelay: 5 * time.Millisecond,
	})}
	mcp.AddTool(h.srv, &mcp.Tool{Name: "echo"}, func(_ context.Context, c *mcp.Call, in canaryIn) (told, error) {
		return told{subject(c), in.Canary, filler(in.Canary, in.Size)}, nil
	})
	mcp.AddTool(h.srv, &mcp.Tool{Name: "steps"}, h.steps)
	mcp.AddTool(h.srv, &mcp.Tool{Name: "hold"}, h.hold)
	mcp.AddTool(h.srv, &mcp.Tool{Name: "who", Asks: ask.Declare(ask.FormItem[whoForm]("who", ""))}, h.who)
	mcp.AddTool(h.srv, &mcp.Tool{Name: "touch"}, func(_ context.Context, c *mcp.Call, in canaryIn) (told, error) {
		h.srv.ResourceUpdated("soak:///" + in.Canary)
		return told{Subject: subject(c), Canary: in.Canary}, nil
	})
	mcp.AddTool(h.srv, &mcp.Tool{Name: "change"}, h.change)
	mcp.AddResourceTemplate(h.srv, &mcp.ResourceTemplate{URITemplate: "soak:///{canary}", Name: "own"},
		func(_ context.Context, c *mcp.Call, vars mcp.TemplateVars) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: subject(c) + " " + vars.Get("canary")}}}, nil
		})
	mcp.AddPrompt(h.srv, &mcp.Prompt{Name: "hello"}, func(_ context.Context, c *mcp.Call, in canaryIn) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: subject(c) + " " + in.Canary}}}}, nil
	})
	return h
}

// steps reports as many steps as Size says before it answers.
func (h *house) steps(ctx context.Context, c *mcp.Call, in canaryIn) (told, error) {
	for i := range in.Size {
		if err := c.Progress(ctx, float64(i+1), float64(in.Size), in.Canary); err != nil {
			return told{}, err
		}
		if i%4 == 3 {
			pause(ctx, time.Millisecond)
		}
	}
	return told{Subject: subject(c), Canary: in.Canary}, nil
}

// hold waits to be cancelled, and not for ever.
func (h *house) hold(ctx context.Context, c *mcp.Call, in canaryIn) (told, error) {
	h.running.Add(1)
	defer h.running.Add(-1)
	if pause(ctx, 3*time.Second) {
		return told{Subject: subject(c), Canary: in.Canary, Filler: "released"}, nil
	}
	return told{}, context.Cause(ctx)
}

// who asks a form and tells what came of it.
func (h *house) who(ctx context.Context, c *mcp.Call, in canaryIn) (told, error) {
	got, err := ask.Form[whoForm](ctx, c, "who", "Who are you, "+in.Canary+"?")
	out := told{Subject: subject(c), Canary: in.Canary}
	switch {
	case err == nil:
		out.Filler = "accepted " + got.Name + " " + strconv.Itoa(got.Age)
	case errors.Is(err, ask.ErrDeclined):
		out.Filler = "declined"
	case errors.Is(err, ask.ErrCanceled):
		out.Filler = "canceled"
	default:
		return told{}, err
	}
	return out, nil
}

// change adds a tool and removes the one before, so that the list has changed.
func (h *house) change(_ context.Context, c *mcp.Call, in canaryIn) (told, error) {
	n := h.extras.Add(1)
	err := mcp.RegisterTool(h.srv, &mcp.Tool{Name: "extra" + strconv.FormatInt(n, 10)},
		func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
	h.srv.RemoveTools("extra" + strconv.FormatInt(n-1, 10))
	return told{Subject: subject(c), Canary: in.Canary}, err
}

// authenticate believes what the header says: everybody here has a name of their own.
func authenticate(r *http.Request) (*mcp.Principal, error) {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil, errors.New("no name")
	}
	return &mcp.Principal{Issuer: "https://soak.test", Subject: name, ClientID: "soak", Person: true}, nil
}

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// A loud is a log handler that keeps what ought not to happen: warnings and errors of the server.
type loud struct {
	min  slog.Level
	seen func(string)
}

func (l loud) Enabled(_ context.Context, level slog.Level) bool { return level >= l.min }
func (l loud) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l loud) WithGroup(string) slog.Handler                    { return l }
func (l loud) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprintf(&b, " %s=%v", a.Key, a.Value); return true })
	l.seen(b.String())
	return nil
}
