package matrix_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/internal/matrix"
	"github.com/seed38e7925c/parley/mcp"
)

func TestMain(m *testing.M) { matrix.Main(m) }

// field is a server with something for every case that wants no server of its own.
var field = matrix.NewFixture("field", newField)

// notUTF8 is text in some other encoding.
const notUTF8 = "\xb0\xa1\xff"

type record struct {
	ID  int64   `json:"id"`
	Big *uint64 `json:"big,omitempty"`
	Def int64   `json:"def" default:"9007199254740993"`
}

// gate holds handlers until something opens it.
type gate struct {
	once sync.Once
	c    chan struct{}
}

func (g *gate) open()     { g.once.Do(func() { close(g.c) }) }
func newGate() *gate      { return &gate{c: make(chan struct{})} }
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newField() *mcp.Server {
	srv := mcp.NewServer("field", "1", &mcp.ServerOptions{Logger: quiet(), NoticeDelay: -1, Declare: []string{"tools", "prompts", "resources"}})
	var mu sync.Mutex
	ran := []string{} // what has run, for tests that must know
	ended := newGate()
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, what)
	}
	for _, name := range []string{"read_note", "delete_all"} {
		mcp.AddTool(srv, &mcp.Tool{Name: name}, func(context.Context, *mcp.Call, struct{}) (string, error) { note(name); return name, nil })
	}
	mcp.AddTool(srv, &mcp.Tool{Name: "ran"}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		return "ran: " + strings.Join(ran, ","), nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "record"}, func(_ context.Context, _ *mcp.Call, in record) (record, error) { return in, nil })
	mcp.AddTool(srv, &mcp.Tool{Name: "wait"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		if err := c.Progress(ctx, 1, 0, "waiting"); err != nil {
			return "", err
		}
		<-ctx.Done()
		note("wait ended")
		ended.open()
		return "", errors.New("given up")
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "stubborn"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		if err := c.Progress(ctx, 1, 0, "waiting"); err != nil {
			return "", err
		}
		<-ctx.Done()
		for i := range 3 {
			_ = c.Progress(context.WithoutCancel(ctx), float64(i+2), 0, "late") // to nobody
		}
		_ = c.Log(context.WithoutCancel(ctx), mcp.LevelError, "", "late")
		_, _ = ask.Confirm(context.WithoutCancel(ctx), c, "late", "Is it too late?")
		note("stubborn ended")
		ended.open()
		return "a result that nobody wants", nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "ended"}, func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		select {
		case <-ended.c:
			return "ended", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	addOdd(srv)
	addAsking(srv)
	addPlaces(srv)
	return srv
}

// addOdd adds what goes wrong, or says odd things.
func addOdd(srv *mcp.Server) {
	odd := func(name string, f func(ctx context.Context, c *mcp.Call) (any, error)) {
		mcp.AddTool(srv, &mcp.Tool{Name: name}, func(ctx context.Context, c *mcp.Call, _ struct{}) (any, error) { return f(ctx, c) })
	}
	odd("bytes", func(ctx context.Context, c *mcp.Call) (any, error) { return notUTF8, c.Progress(ctx, 1, 2, notUTF8) })
	odd("bytes-error", func(context.Context, *mcp.Call) (any, error) { return nil, mcp.ToolErrorf("%s", notUTF8) })
	odd("fail", func(context.Context, *mcp.Call) (any, error) { return nil, errors.New("hunter2") })
	odd("refuse", func(context.Context, *mcp.Call) (any, error) { return nil, mcp.ToolErrorf("sold out") })
	odd("protocol", func(context.Context, *mcp.Call) (any, error) {
		return nil, fmt.Errorf("hunter2: %w", &mcp.Error{Code: 7, Message: "mine"})
	})
	odd("deadline", func(context.Context, *mcp.Call) (any, error) { return nil, context.DeadlineExceeded })
	odd("panic", func(context.Context, *mcp.Call) (any, error) { panic("hunter2") })
	odd("both", func(context.Context, *mcp.Call) (any, error) {
		return &mcp.CallToolResult{IsError: true, Content: mcp.Text("partly"), StructuredContent: json.RawMessage(`{"n":1}`)}, nil
	})
	odd("crowd", func(ctx context.Context, c *mcp.Call) (any, error) {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				_ = c.Progress(ctx, float64(i), 50, strings.Repeat("p", 100)) // some come too late to advance
				_ = c.Log(ctx, mcp.LevelError, "crowd", strings.Repeat("l", 100))
			})
		}
		wg.Wait()
		return "done", nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "big"},
		func(context.Context, *mcp.Call, struct{}) (json.RawMessage, error) {
			return json.RawMessage(`{"id":9007199254740993,"d":0.10,"e":1e400}`), nil
		})
}

type seat struct {
	Class string `json:"class" enum:"first,second"`
}

// addAsking adds tools that ask.
func addAsking(srv *mcp.Server) {
	mcp.AddTool(srv, &mcp.Tool{Name: "seat"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		s, err := ask.Form[seat](ctx, c, "seat", "Which class?")
		if err != nil {
			return "", outcome(err)
		}
		return "seat in " + s.Class, nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "sure"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		yes, err := ask.Confirm(ctx, c, "sure", "Are you sure?")
		if err != nil {
			return "", outcome(err)
		}
		return fmt.Sprint("sure: ", yes), nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "visit"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		if err := ask.Open(ctx, c, "page", "Please sign in.", "https://travel.example/connect/1"); err != nil {
			return "", outcome(err)
		}
		return "visited", nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "form"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (seat, error) {
		return ask.Form[seat](ctx, c, "seat", "Which class?") // what becomes of its error is the library's business
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "page"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return "opened", ask.Open(ctx, c, "page", "Please sign in.", "https://travel.example/connect/1")
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "chain"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		s, err := ask.Form[seat](ctx, c, "seat", "Which class?")
		if err != nil {
			return "", outcome(err)
		}
		return s.Class + ", opened", ask.Open(ctx, c, "page", "Please sign in.", "https://travel.example/connect/1")
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "impatient"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err := ask.Form[seat](ctx, c, "seat", "Which class, quickly?")
		return fmt.Sprint("gave up: ", errors.Is(err, context.DeadlineExceeded)), nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "capabilities"}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		b, err := json.Marshal(c.ClientCapabilities())
		return string(b), err
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "wizard"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		var got []string
		for i := range 6 {
			s, err := ask.Form[seat](ctx, c, fmt.Sprint("step", i), fmt.Sprint("Class of leg ", i, "?"))
			if err != nil {
				return "", outcome(err)
			}
			got = append(got, s.Class)
		}
		return strings.Join(got, ","), nil
	})
}

// outcome makes each of the honest answers something that the model reads.
func outcome(err error) error {
	switch {
	case errors.Is(err, mcp.ErrDeclined):
		return mcp.ToolErrorf("outcome: declined")
	case errors.Is(err, mcp.ErrCanceled):
		return mcp.ToolErrorf("outcome: dismissed")
	case errors.Is(err, mcp.ErrUnavailable):
		return mcp.ToolErrorf("outcome: nobody to ask")
	}
	return err
}

// addPlaces adds prompts and resources.
func addPlaces(srv *mcp.Server) {
	mcp.AddPrompt(srv, &mcp.Prompt{Name: "greet"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (*mcp.GetPromptResult, error) {
		s, err := ask.Form[seat](ctx, c, "seat", "Which class?")
		if err != nil {
			return nil, err
		}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "greetings in " + s.Class}}}}, nil
	})
	mcp.AddPrompt(srv, &mcp.Prompt{Name: "panic"}, func(context.Context, *mcp.Call, struct{}) (*mcp.GetPromptResult, error) { panic("hunter2") })
	mcp.AddResource(srv, &mcp.Resource{URI: "note:///a", Name: "a"}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: notUTF8}}}, nil
	})
	mcp.AddResource(srv, &mcp.Resource{URI: "note:///asks", Name: "asks"}, func(ctx context.Context, c *mcp.Call) (*mcp.ReadResourceResult, error) {
		s, err := ask.Form[seat](ctx, c, "seat", "Which class?")
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "text in " + s.Class}}}, nil
	})
	mcp.AddResource(srv, &mcp.Resource{URI: "note:///panic", Name: "panic"}, func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		panic("hunter2")
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "touch"}, func(_ context.Context, _ *mcp.Call, in struct {
		URI string `json:"uri"`
	}) (string, error) {
		srv.ResourceUpdated(in.URI)
		return "touched", nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "grow"}, func(_ context.Context, _ *mcp.Call, in struct {
		N int `json:"n"`
	}) (string, error) {
		for i := range in.N {
			name := fmt.Sprint("grown", i)
			srv.RemoveTools(name)
			mcp.AddTool(srv, &mcp.Tool{Name: name}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
		}
		return "grown", nil
	})
}
