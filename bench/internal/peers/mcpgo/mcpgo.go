// Package mcpgo is github.com/mark3labs/mcp-go as a peer.
package mcpgo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/tool"
)

// Peer is the library with typed tools and its defaults: nothing is validated.
type Peer struct{}

// Name implements [peer.Peer].
func (Peer) Name() string { return "mcpgo" }

func newServer(s peer.Setup) *server.MCPServer {
	opts := []server.ServerOption{server.WithToolCapabilities(true)}
	if s.Ask {
		opts = append(opts, server.WithElicitation())
	}
	if s.Filter {
		opts = append(opts, server.WithToolFilter(func(_ context.Context, tools []mcp.Tool) []mcp.Tool {
			return slices.DeleteFunc(slices.Clone(tools), func(t mcp.Tool) bool { return !tool.ShownName(t.Name) })
		}))
	}
	srv := server.NewMCPServer(tool.Server, tool.Version, opts...)
	all := []server.ServerTool{repeat(tool.Repeat, tool.RepeatText)}
	for i := range s.Extra {
		all = append(all, repeat(tool.Extra(i), tool.ExtraText(i)))
	}
	srv.AddTools(all...) // at once, because each call tells the clients
	if s.Ask {
		modern := s.Mode == peer.Modern
		addAsking(srv, tool.Approve, tool.ApproveText, 1, modern)
		addAsking(srv, tool.Trip, tool.TripText, tool.Asks, modern)
	}
	return srv
}

func repeat(name, text string) server.ServerTool {
	return server.ServerTool{
		Tool: mcp.NewTool(name, mcp.WithDescription(text), mcp.WithInputSchema[tool.In](), mcp.WithOutputSchema[tool.Out]()),
		Handler: mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in tool.In) (tool.Out, error) {
			return tool.Do(in), nil
		}),
	}
}

func question(i int) mcp.ElicitationParams {
	return mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: tool.Question(i), RequestedSchema: json.RawMessage(tool.FormSchema)}
}

func yes(r *mcp.ElicitationResult) bool {
	content, _ := r.Content.(map[string]any)
	ok, _ := content["yes"].(bool)
	return r.Action == mcp.ElicitationResponseActionAccept && ok
}

// addAsking adds a tool that asks n questions. In rounds, the state is the number of questions that were answered, all with yes.
func addAsking(srv *server.MCPServer, name, text string, n int, modern bool) {
	t := mcp.NewTool(name, mcp.WithDescription(text), mcp.WithInputSchema[tool.Subject]())
	srv.AddTool(t, mcp.NewTypedToolHandler(func(ctx context.Context, req mcp.CallToolRequest, in tool.Subject) (*mcp.CallToolResult, error) {
		if modern {
			return round(req, in, n), nil
		}
		approved := 0
		for i := range n {
			r, err := srv.RequestElicitation(ctx, mcp.ElicitationRequest{Params: question(i)})
			if err != nil {
				return nil, err
			}
			if yes(r) {
				approved++
			}
		}
		return mcp.NewToolResultText(tool.Done(in.Subject, approved)), nil
	}))
}

func round(req mcp.CallToolRequest, in tool.Subject, n int) *mcp.CallToolResult {
	done, _ := strconv.Atoi(req.Params.RequestState) // empty at first
	if r := server.ElicitationResponse(req.Params.InputResponses, tool.Key(done)); r != nil && yes(r) {
		done++
	}
	if done == n {
		return mcp.NewToolResultText(tool.Done(in.Subject, done))
	}
	return server.NewInputRequestBuilder(strconv.Itoa(done)).Elicit(tool.Key(done), question(done)).ToolResult()
}

// Serve implements [peer.Peer].
func (Peer) Serve(s peer.Setup) (*peer.Server, error) {
	srv := newServer(s)
	session := server.WithStateLess(true)
	if s.Mode == peer.Stateful {
		session = server.WithStateful(true)
	}
	h := server.NewStreamableHTTPServer(srv, session, server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)))
	fresh := false
	return &peer.Server{Handler: h, Change: func() {
		if fresh = !fresh; fresh {
			srv.AddTools(repeat("fresh", tool.RepeatText))
			return
		}
		srv.DeleteTools("fresh")
	}}, nil
}

// ServeLines implements [peer.Peer].
func (Peer) ServeLines(ctx context.Context, r io.Reader, w io.Writer, s peer.Setup) error {
	return server.NewStdioServer(newServer(s)).Listen(ctx, r, w)
}

type caller struct{ c *client.Client }

// Dial implements [peer.Peer].
func (Peer) Dial(ctx context.Context, url string) (peer.Caller, error) {
	c, err := client.NewStreamableHttpClient(url)
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var init mcp.InitializeRequest
	init.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	init.Params.ClientInfo = mcp.Implementation{Name: "bench-client", Version: "1.0.0"}
	if _, err := c.Initialize(ctx, init); err != nil {
		return nil, err
	}
	return caller{c}, nil
}

// Call implements [peer.Caller].
func (c caller) Call(ctx context.Context) error {
	var req mcp.CallToolRequest
	req.Params.Name = tool.Repeat
	req.Params.Arguments = tool.In{Message: "hello", Number: 7}
	res, err := c.c.CallTool(ctx, req)
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
func (c caller) Close() error { return c.c.Close() }
