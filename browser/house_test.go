package browser_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/storetest"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// A house is a protected server with a desk, and the issuer where its people sign in, with the pages that people see.
type house struct {
	t      *testing.T
	url    string
	issuer *idp.Server
	done   chan string // what the tools' actions did
}

type input struct {
	Text string `json:"text"`
}

// newHouse starts one.
func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, done: make(chan string, 10)}
	mux := http.NewServeMux()
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	h.url = ts.URL
	h.issuer = idp.Start(t, &idp.Options{
		Name:    "Travel sign-in",
		Clients: []idp.Client{{ID: "desk", Name: "Travel desk", Secret: "s", RedirectURIs: []string{ts.URL + "/connect/signin/callback"}}},
	})
	resource, err := mcpauth.NewResource(ts.URL+"/mcp", mcpauth.JWT(h.issuer.Issuer(), nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	desk, err := connect.Open(t.Context(), &connect.Options{
		ServerName: "Travel desk", BaseURL: ts.URL + "/connect/", Store: storetest.NewMemory(),
		Keys:     connect.KeysFromFile(filepath.Join(t.TempDir(), "keys")),
		Identity: connect.OIDC(h.issuer.Issuer(), "desk", "s", &connect.OIDCOptions{Resource: resource}), Logger: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := desk.Close(); err != nil {
			t.Error(err)
		}
	})
	srv := mcp.NewServer("travel", "1.4.0", &mcp.ServerOptions{Logger: log})
	h.tools(srv, desk)
	mux.Handle("/mcp", mcphttp.NewHandler(srv, &mcphttp.Options{Authenticate: resource.Authenticate, Logger: log}))
	mux.Handle("/connect/", desk)
	mux.HandleFunc("/pay", func(w http.ResponseWriter, r *http.Request) { // somebody else's page
		back := r.URL.Query().Get("back")
		_, _ = io.WriteString(w, `<!DOCTYPE html><html lang="en"><title>Pay</title><main><h1>Pay</h1><a href="`+back+`">Paid</a></main>`)
	})
	return h
}

// tools adds one for each kind.
func (h *house) tools(srv *mcp.Server, desk *connect.Desk) {
	key := desk.Secret(&connect.SecretSpec{
		Name: "maps", Title: "Maps API key", Reason: "To look up the stations near you.", HelpURL: "https://maps.example/keys",
		Validate: func(_ context.Context, v connect.Value) error {
			if !strings.HasPrefix(v.Reveal(), "mk_") {
				return connect.Refuse("a key begins with mk_")
			}
			return nil
		},
	})
	shop := desk.Page(&connect.PageSpec{
		Name: "payment", Title: "Payment", Host: strings.TrimPrefix(h.url, "http://"),
		Start: func(_ context.Context, v *connect.Visit) (string, error) {
			return h.url + "/pay?back=" + url.QueryEscape(v.ReturnURL), nil
		},
		Finish: func(context.Context, *connect.Visit, url.Values) (any, error) { return "paid", nil },
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "stations", Asks: desk.Asks("maps")}, func(ctx context.Context, call *mcp.Call, in input) (input, error) {
		v, err := key.Get(ctx, call)
		return input{Text: fmt.Sprint("a key of ", len(v.Reveal()))}, err
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "book"}, func(ctx context.Context, call *mcp.Call, in input) (input, error) {
		action := connect.Action{
			Title: "Pay 42.00 EUR to Rail AG", Reason: "The seat is yours once it is paid.",
			Details: []connect.Detail{{Label: "From", Value: "Bern"}, {Label: "To", Value: "Wien"}, {Label: "Seat", Value: "Second class, quiet coach"}},
		}
		return connect.Do(ctx, desk, call, action, func(a connect.Approved) (input, error) {
			h.done <- a.Action.Title
			return input{Text: "booked for " + a.By.Subject}, nil
		})
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "shop"}, func(ctx context.Context, call *mcp.Call, in input) (input, error) {
		res, err := shop.Wait(ctx, call, nil)
		return input{Text: string(res)}, err
	})
}

// An outcome is how a call ended.
type outcome struct {
	text string
	err  error
}

// call has somebody's client call a tool, and returns the link that the client is asked to open, and how the call ends.
func (h *house) call(subject, tool string) (link string, ended chan outcome) {
	h.t.Helper()
	token, err := h.issuer.Mint(&idp.Ticket{Subject: subject, ClientID: "desktop", Resource: h.url + "/mcp"})
	if err != nil {
		h.t.Fatal(err)
	}
	links := make(chan string, 1)
	person := &mcp.Interactor{Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		links <- q.URL
		return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
	}}
	transport := mcphttp.Dial(h.url+"/mcp", &mcphttp.DialOptions{Header: http.Header{"Authorization": {"Bearer " + token}}})
	c, err := mcp.Connect(h.t.Context(), transport, &mcp.ClientOptions{
		Info: &mcp.Implementation{Name: "Desk Assistant", Version: "1"}, Interactor: person,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	ended = make(chan outcome, 1)
	ctx := h.t.Context()
	go func() { // ends with the client, which the test closes
		res, err := mcp.CallTool[input](ctx, c, tool, input{Text: "x"})
		ended <- outcome{res.Text, err}
	}()
	h.t.Cleanup(func() { _ = c.Close() })
	return <-links, ended
}

// wait waits for the end of a call.
func (h *house) wait(ended chan outcome) outcome {
	h.t.Helper()
	select {
	case o := <-ended:
		return o
	case <-time.After(time.Minute):
		h.t.Fatal("the call does not end")
	}
	panic("unreachable")
}
