package mcphttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

func ExampleNewHandler() {
	srv := mcp.NewServer("greeter", "1.0.0", nil)
	type in struct {
		Name string `json:"name"`
	}
	mcp.AddTool(srv, &mcp.Tool{Name: "greet", Description: "Greets."}, func(_ context.Context, call *mcp.Call, in in) (string, error) {
		return "Hello, " + in.Name + ", says " + call.Principal().Subject, nil
	})

	tokens := map[string]string{"Bearer t0k3n": "ada"} // stands in for what verifies real ones
	handler := mcphttp.NewHandler(srv, &mcphttp.Options{
		Authenticate: func(r *http.Request) (*mcp.Principal, error) {
			user, ok := tokens[r.Header.Get("Authorization")]
			if !ok {
				return nil, &mcphttp.AuthError{Challenges: []string{"Bearer"}, Message: "an access token is needed"}
			}
			return &mcp.Principal{Issuer: "https://issuer.example", Subject: user, Person: true}, nil
		},
	})
	mux := http.NewServeMux()
	mcphttp.Mount(mux, "/mcp", handler)
	ts := httptest.NewServer(mux)
	defer ts.Close()

	for _, token := range []string{"", "Bearer t0k3n"} {
		r := callTool("1", "greet", `{"name":"Bern"}`).with("Authorization", token) // what a client of 2026-07-28 sends
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, ts.URL+"/mcp", strings.NewReader(r.body))
		if err != nil {
			fmt.Println(err)
			return
		}
		req.Header = r.header
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(resp.StatusCode, strings.Contains(string(body), "Hello, Bern, says ada"), err)
	}
	// Output:
	// 401 false <nil>
	// 200 true <nil>
}
