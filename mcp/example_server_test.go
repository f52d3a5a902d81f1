package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/seed38e7925c/parley/mcp"
)

// connected returns a client of a server in this process.
func connected(srv *mcp.Server) *mcp.Client {
	c, err := mcp.Connect(context.Background(), mcp.Pipe(srv.ServeConn), nil)
	if err != nil {
		log.Fatal(err)
	}
	return c
}

func ExampleAddTool() {
	type trip struct {
		From string `json:"from" jsonschema:"station of departure"`
		To   string `json:"to"`
		Seat string `json:"seat" enum:"first,second" default:"second"`
	}
	type ticket struct {
		Text  string  `json:"text"`
		Price float64 `json:"price"`
	}
	srv := mcp.NewServer("travel", "1.4.0", nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "book", Description: "Book a seat on a train."},
		func(_ context.Context, _ *mcp.Call, in trip) (ticket, error) {
			if in.From == in.To {
				return ticket{}, mcp.ToolErrorf("%s is where you are", in.To)
			}
			return ticket{Text: in.From + " to " + in.To + ", " + in.Seat + " class", Price: 59.5}, nil
		})

	c := connected(srv)
	defer c.Close()
	got, err := mcp.CallTool[ticket](context.Background(), c, "book", map[string]string{"from": "Bern", "to": "Wien"})
	fmt.Println(got.Text, got.Price, err)
	result, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "book", Arguments: []byte(`{"from":"Bern","to":"Bern"}`)})
	fmt.Println(result.IsError, result.Content.Text(), err)
	// Output:
	// Bern to Wien, second class 59.5 <nil>
	// true Bern is where you are <nil>
}

func ExampleAddResourceTemplate() {
	srv := mcp.NewServer("diary", "1.0.0", nil)
	mcp.AddResourceTemplate(srv, &mcp.ResourceTemplate{URITemplate: "diary:///{year}/{month}", Name: "month", MIMEType: "text/plain"},
		func(_ context.Context, _ *mcp.Call, vars mcp.TemplateVars) (*mcp.ReadResourceResult, error) {
			if vars.Get("year") < "2020" {
				return nil, fmt.Errorf("nothing before 2020: %w", mcp.ErrNotFound)
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "Diary of " + vars.Get("month") + "/" + vars.Get("year")}}}, nil
		})

	c := connected(srv)
	defer c.Close()
	got, err := c.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "diary:///2026/11"})
	fmt.Println(got.Contents[0].Text, err)
	_, err = c.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "diary:///1999/1"})
	fmt.Println(errors.Is(err, mcp.ErrNotFound))
	// Output:
	// Diary of 11/2026 <nil>
	// true
}

func ExampleServer_Use() {
	srv := mcp.NewServer("audited", "1.0.0", nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "hi", nil })
	srv.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, call *mcp.Call) (any, error) {
			result, err := next(ctx, call)
			if call.Method() == mcp.MethodToolsCall {
				fmt.Println("audit:", call.Name(), err)
			}
			return result, err
		}
	})

	c := connected(srv)
	defer c.Close()
	text, err := mcp.CallTool[string](context.Background(), c, "hello", nil)
	fmt.Println(text, err)
	// Output:
	// audit: hello <nil>
	// hi <nil>
}
