package parley

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/tool"
	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/storetest"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

const (
	deskURL    = "https://travel.example/connect/"
	deskIssuer = "https://login.example"
	deskCookie = "who"
)

// stamping is a store that notes when an interaction was completed last.
type stamping struct {
	connect.Store
	at atomic.Pointer[time.Time]
}

// Update implements [connect.Store]. The time is that before the update: what is measured from it includes the store's work.
func (s *stamping) Update(ctx context.Context, r *connect.Row) error {
	if r.Status == "completed" && r.Version == 1 {
		now := time.Now()
		s.at.Store(&now)
	}
	return s.Store.Update(ctx, r)
}

// Connect implements [peer.Connected].
func (Peer) Connect() (*peer.Connection, error) {
	dir, err := os.MkdirTemp("", "parley-bench")
	if err != nil {
		return nil, err
	}
	store := &stamping{Store: storetest.NewMemory()}
	desk, err := connect.Open(context.Background(), &connect.Options{
		ServerName: tool.Server, BaseURL: deskURL, Store: store, Keys: connect.KeysFromFile(filepath.Join(dir, "keys")),
		Identity: connect.Session(&connect.SessionSpec{Who: who, SignIn: nobody}), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c := &peer.Connection{Close: func() error { return errors.Join(desk.Close(), os.RemoveAll(dir)) }}
	c.Handler, c.Entered = connected(desk)
	c.Fill = func(person, link string) (time.Time, error) {
		store.at.Store(nil)
		if err := fill(desk, person, link); err != nil {
			return time.Time{}, err
		}
		if at := store.at.Load(); at != nil {
			return *at, nil
		}
		return time.Time{}, errors.New("the page completed nothing")
	}
	return c, nil
}

// connected is a server whose tools need the desk, or are held without it, and how many calls of these have begun.
func connected(desk *connect.Desk) (http.Handler, func() int64) {
	quiet := slog.New(slog.DiscardHandler)
	key := desk.Secret(&connect.SecretSpec{Name: "bench", Title: "Key"})
	srv := mcp.NewServer(tool.Server, tool.Version, &mcp.ServerOptions{
		Logger: quiet, Ask: &mcp.AskOptions{Hold: time.Hour, Lifetime: 2 * time.Hour, MaxPerMinute: 1 << 30},
	})
	var entered atomic.Int64
	addRepeat(srv, tool.Repeat, tool.RepeatText)
	mcp.AddTool(srv, &mcp.Tool{Name: tool.Keyed, Description: tool.RepeatText, Asks: desk.Asks("bench")},
		func(ctx context.Context, call *mcp.Call, in tool.In) (tool.Out, error) {
			entered.Add(1)
			v, err := key.Get(ctx, call)
			if err == nil && v.Reveal() != secretOf(call.Principal().Subject) {
				err = errors.New("the secret is another one")
			}
			return tool.Do(in), err
		})
	mcp.AddTool(srv, &mcp.Tool{Name: tool.Hold, Description: tool.RepeatText},
		func(ctx context.Context, call *mcp.Call, in tool.In) (tool.Out, error) {
			entered.Add(1)
			return tool.Do(in), call.Await(ctx, "nothing", "", func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
		})
	return mcphttp.NewHandler(srv, &mcphttp.Options{Logger: quiet, Authenticate: bearer}), entered.Load
}

// bearer takes the token for the name of a person.
func bearer(r *http.Request) (*mcp.Principal, error) {
	person := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	return &mcp.Principal{Issuer: deskIssuer, Subject: person, ClientID: "bench", Person: true}, nil
}

// who takes the cookie for the name of a person.
func who(r *http.Request) (*connect.Person, string, error) {
	c, err := r.Cookie(deskCookie)
	if err != nil {
		return nil, "", err
	}
	return &connect.Person{Issuer: deskIssuer, Subject: c.Value}, c.Value, nil
}

// nobody answers a browser without a person.
func nobody(w http.ResponseWriter, _ *http.Request, _ string) {
	http.Error(w, "nobody is signed in", http.StatusUnauthorized)
}

func secretOf(person string) string { return "key-of-" + person }

var formToken = regexp.MustCompile(`name="csrf" value="([^"]*)"`)

// fill sends a page's form as a person, past the network.
func fill(desk *connect.Desk, person, link string) error {
	page, err := visit(desk, person, httptest.NewRequestWithContext(context.Background(), http.MethodGet, link, nil))
	if err != nil {
		return err
	}
	m := formToken.FindStringSubmatch(page)
	if m == nil {
		return fmt.Errorf("%s has no form", link)
	}
	form := url.Values{"csrf": {m[1]}, "do": {"submit"}, "f-value": {secretOf(person)}}
	req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, link, strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	_, err = visit(desk, person, req)
	return err
}

// visit returns a page.
func visit(desk *connect.Desk, person string, req *http.Request) (string, error) {
	req.AddCookie(&http.Cookie{Name: deskCookie, Value: person})
	w := httptest.NewRecorder()
	desk.ServeHTTP(w, req)
	if w.Code >= http.StatusBadRequest {
		return "", fmt.Errorf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String(), nil
}
