// Command conformance-client is the client that the official conformance suite tests. The suite starts it once per scenario with the URL
// of a mock server as the last argument and the scenario's name in the environment. Each scenario is what a host would do there: connect,
// look, call, answer. How requests are written, repeated, resumed and refused is the library's doing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// The suite's way to tell a client what to do.
const (
	envScenario = "MCP_CONFORMANCE_SCENARIO"
	envContext  = "MCP_CONFORMANCE_CONTEXT"
)

// timeout is below the suite's own, so that a client that hangs says where.
const timeout = 25 * time.Second

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "conformance-client:", err)
		cancel()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) < 2 {
		return errors.New("the last argument must be the server's URL")
	}
	scenario := os.Getenv(envScenario)
	play, ok := scenarios[scenario]
	if !ok {
		play = listAndCall
	}
	h := &host{url: os.Args[len(os.Args)-1], scenario: scenario}
	if raw := os.Getenv(envContext); raw != "" {
		if err := json.Unmarshal([]byte(raw), &h.context); err != nil {
			return fmt.Errorf("%s: %w", envContext, err)
		}
	}
	transport, err := h.transport()
	if err != nil {
		return err
	}
	client, err := mcp.Connect(ctx, transport, &mcp.ClientOptions{
		Info:       &mcp.Implementation{Name: "parley-conformance", Version: "1.0.0"},
		Interactor: h.interactor(),
		Logger:     slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	h.client = client
	return errors.Join(play(ctx, h), client.Close())
}

// A host is the program around the client, and stands in for its person.
type host struct {
	url, scenario string
	context       scenarioContext
	client        *mcp.Client
	between       func(ctx context.Context) error // what the person does before answering a form
}

// scenarioContext is what some scenarios hand to the client.
type scenarioContext struct {
	ToolCalls []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
	authContext
}

// interactor answers as a person who accepts what is proposed.
func (h *host) interactor() *mcp.Interactor {
	return &mcp.Interactor{
		Form: func(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			if h.between != nil {
				if err := h.between(ctx); err != nil {
					return nil, err
				}
			}
			return accept(q)
		},
		Open: func(context.Context, *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
		},
		Sample: func(context.Context, *mcp.SampleQuestion) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "none", Content: mcp.SamplingContent(mcp.Text("A sampled text."))}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///conformance", Name: "conformance"}}, nil
		},
	}
}
