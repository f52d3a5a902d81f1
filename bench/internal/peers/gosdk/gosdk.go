// Package gosdk is github.com/modelcontextprotocol/go-sdk as a peer.
package gosdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/tool"
)

// Peer is the library with typed tools, which it validates, and answers in plain JSON, which is its faster way.
type Peer struct{}

// Name implements [peer.Peer].
func (Peer) Name() string { return "gosdk" }

func server(s peer.Setup, modern func(*mcp.CallToolRequest) bool) *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: tool.Server, Version: tool.Version}, nil)
	if s.Filter {
		srv.AddReceivingMiddleware(filter)
	}
	addRepeat(srv, tool.Repeat, tool.RepeatText)
	for i := range s.Extra {
		addRepeat(srv, tool.Extra(i), tool.ExtraText(i))
	}
	if s.Ask {
		addAsking(srv, tool.Approve, tool.ApproveText, 1, modern)
		addAsking(srv, tool.Trip, tool.TripText, tool.Asks, modern)
	}
	return srv
}

// filter leaves out what the caller may not see: the library has no other place for it.
func filter(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
			shown := *list
			shown.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *mcp.Tool) bool { return !tool.ShownName(t.Name) })
			return &shown, nil
		}
		return res, err
	}
}

func addRepeat(srv *mcp.Server, name, text string) {
	mcp.AddTool(srv, &mcp.Tool{Name: name, Description: text},
		func(_ context.Context, _ *mcp.CallToolRequest, in tool.In) (*mcp.CallToolResult, tool.Out, error) {
			return nil, tool.Do(in), nil
		})
}

func question(i int) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: tool.Question(i), RequestedSchema: json.RawMessage(tool.FormSchema)}
}

func yes(r *mcp.ElicitResult) bool {
	ok, _ := r.Content["yes"].(bool)
	return r.Action == "accept" && ok
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// addAsking adds a tool that asks n questions. In rounds, the state is the number of questions that were answered, all with yes.
func addAsking(srv *mcp.Server, name, desc string, n int, modern func(*mcp.CallToolRequest) bool) {
	mcp.AddTool(srv, &mcp.Tool{Name: name, Description: desc},
		func(ctx context.Context, req *mcp.CallToolRequest, in tool.Subject) (*mcp.CallToolResult, any, error) {
			if modern(req) {
				return round(req, in, n), nil, nil
			}
			approved := 0
			for i := range n {
				r, err := req.Session.Elicit(ctx, question(i))
				if err != nil {
					return nil, nil, err
				}
				if yes(r) {
					approved++
				}
			}
			return text(tool.Done(in.Subject, approved)), nil, nil
		})
}

func round(req *mcp.CallToolRequest, in tool.Subject, n int) *mcp.CallToolResult {
	done, _ := strconv.Atoi(req.Params.RequestState) // empty at first
	if r, ok := req.Params.InputResponses[tool.Key(done)].(*mcp.ElicitResult); ok && yes(r) {
		done++
	}
	if done == n {
		return text(tool.Done(in.Subject, done))
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{tool.Key(done): question(done)},
		RequestState:  strconv.Itoa(done),
	}
}

// Serve implements [peer.Peer].
func (Peer) Serve(s peer.Setup) (*peer.Server, error) {
	srv := server(s, func(*mcp.CallToolRequest) bool { return s.Mode == peer.Modern })
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{
		Stateless: s.Mode != peer.Stateful,
		// Questions of a session travel on the stream of the call, which a plain answer does not have.
		JSONResponse: !s.Ask || s.Mode != peer.Stateful,
	})
	var n atomic.Int64
	return &peer.Server{Handler: h, Change: func() {
		if n.Add(1)%2 == 0 {
			srv.RemoveTools("fresh")
			return
		}
		addRepeat(srv, "fresh", tool.RepeatText)
	}}, nil
}

type closer struct{ io.Writer }

func (closer) Close() error { return nil }

// ServeLines implements [peer.Peer].
func (Peer) ServeLines(ctx context.Context, r io.Reader, w io.Writer, s peer.Setup) error {
	return server(s, nil).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(r), Writer: closer{w}})
}

type caller struct{ s *mcp.ClientSession }

// Dial implements [peer.Peer].
func (Peer) Dial(ctx context.Context, url string) (peer.Caller, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "bench-client", Version: "1.0.0"}, nil)
	s, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		return nil, err
	}
	return caller{s}, nil
}

// Call implements [peer.Caller].
func (c caller) Call(ctx context.Context) error {
	res, err := c.s.CallTool(ctx, &mcp.CallToolParams{Name: tool.Repeat, Arguments: tool.In{Message: "hello", Number: 7}})
	if err != nil {
		return err
	}
	raw, err := json.Marshal(res.StructuredContent) // the library hands it out as a map
	if err != nil {
		return err
	}
	var out tool.Out
	if err := json.Unmarshal(raw, &out); err != nil {
		return err
	}
	if out.Message != "hello" || out.Number != 7 {
		return fmt.Errorf("wrong answer %s", raw)
	}
	return nil
}

// Close implements [peer.Caller].
func (c caller) Close() error { return c.s.Close() }
