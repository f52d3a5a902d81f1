package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

// A host connects to a server, here one in the same process, and calls a tool with typed arguments and a typed result.
func ExampleConnect() {
	srv := mcp.NewServer("sums", "1.0", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	type numbers struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	type sum struct {
		Sum int `json:"sum"`
	}
	mcp.AddTool(srv, &mcp.Tool{Name: "add"}, func(_ context.Context, _ *mcp.Call, in numbers) (sum, error) {
		return sum{in.A + in.B}, nil
	})

	ctx := context.Background()
	c, err := mcp.Connect(ctx, mcp.Pipe(srv.ServeConn), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Println(c.Server().Implementation.Name, "speaks", c.Server().Revision)
	got, err := mcp.CallTool[sum](ctx, c, "add", numbers{2, 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Sum)
	// Output:
	// sums speaks 2026-07-28
	// 5
}

// An Interactor puts the server's questions to a person; here it always gives the same answer.
func ExampleInteractor() {
	in := &mcp.Interactor{
		Form: func(_ context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			fmt.Printf("%s asks: %s\n", q.Server.Name, q.Message)
			for _, field := range q.Form.Fields {
				fmt.Println("-", field.Label())
			}
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"to":"Wien"}`)}, nil
		},
	}
	ctx := context.Background()
	c, err := mcp.Connect(ctx, mcp.Pipe(travelAgency().ServeConn), &mcp.ClientOptions{Interactor: in})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Println(mcp.CallTool[string](ctx, c, "book", nil))
	// Output:
	// agency asks: Where to?
	// - Destination
	// booked to Wien <nil>
}

// travelAgency asks where to travel before it books.
func travelAgency() *mcp.Server {
	type trip struct {
		To string `json:"to" title:"Destination"`
	}
	where, err := form.Of[trip]()
	if err != nil {
		log.Fatal(err)
	}
	q := &mcp.Question{Key: "where", Kind: mcp.AskForm, Message: "Where to?", Form: where}
	srv := mcp.NewServer("agency", "1.0", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddTool(srv, &mcp.Tool{Name: "book", Asks: []*mcp.Question{q}}, func(ctx context.Context, call *mcp.Call, _ struct{}) (string, error) {
		a, err := call.Ask(ctx, q)
		if err != nil {
			return "", err
		}
		t, err := form.Decode[trip](a.Content)
		return "booked to " + t.To, err
	})
	return srv
}
