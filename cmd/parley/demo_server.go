package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// Names of the files of the demo's server.
const (
	demoStoreFile = "demo.db"
	demoKeysFile  = "demo.keys"
)

var quiet = slog.New(slog.DiscardHandler)

// A demoServer is the server of the demo over HTTP: an MCP server that demands a login, and its desk.
type demoServer struct {
	url   string // of the MCP endpoint
	pages string // of the desk
	store *sqlite.Store
	last  atomic.Int64 // when a page was last answered, in nanoseconds of Unix time

	desk    *connect.Desk
	mcp     *mcp.Server
	http    *http.Server
	handler *mcphttp.Handler
	done    chan error
}

// startDemoServer serves on a free port of the loopback interface, to those who log in at a provider. Its files are in dir.
func startDemoServer(ctx context.Context, dir string, people *idp.Server, company *railAG) (_ *demoServer, err error) {
	l, err := mcphttp.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	base := "http://" + l.Addr().String() + "/"
	d := &demoServer{url: base + "mcp", pages: base + "connect/", done: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close(), d.closeDesk())
		}
	}()
	access, err := company.register(d.pages+"callback/rail", rand.Text())
	if err != nil {
		return nil, err
	}
	own := &idp.Client{ID: "travel-desk", Name: "Travel desk", Secret: rand.Text(), RedirectURIs: []string{d.pages + "signin/callback"}, Trusted: true}
	if err := people.AddClient(own); err != nil {
		return nil, err
	}
	guard, err := mcpauth.NewResource(d.url, mcpauth.JWT(people.Issuer(), nil), &mcpauth.ResourceOptions{Name: "Travel desk", Scopes: []string{demoScope}, Logger: quiet})
	if err != nil {
		return nil, err
	}
	if d.store, err = sqlite.Open(filepath.Join(dir, demoStoreFile)); err != nil {
		return nil, err
	}
	keys := connect.KeysFromFile(filepath.Join(dir, demoKeysFile))
	d.desk, err = connect.Open(ctx, &connect.Options{
		ServerName: "Travel desk", BaseURL: d.pages, Store: d.store, Keys: keys, Logger: quiet,
		Identity: connect.OIDC(people.Issuer(), own.ID, own.Secret, &connect.OIDCOptions{Resource: guard}),
	})
	if err != nil {
		return nil, err
	}
	d.mcp = mcp.NewServer("travel", "1.4.0", guard.Protect(&mcp.ServerOptions{
		Title: "Travel desk", Logger: quiet, Ask: &mcp.AskOptions{Store: connect.StateStore(d.store, keys)},
	}))
	newTravelDesk(d.desk, access).addTo(d.mcp)
	d.handler = mcphttp.NewHandler(d.mcp, guard.HTTP(&mcphttp.Options{Logger: quiet}))
	mux := http.NewServeMux()
	guard.Mount(mux, d.handler)
	mux.HandleFunc("/connect/", func(w http.ResponseWriter, r *http.Request) {
		defer func() { d.last.Store(time.Now().UnixNano()) }()
		d.desk.ServeHTTP(w, r)
	})
	d.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { d.done <- d.http.Serve(l) }() // Close waits for it
	return d, nil
}

// settle waits until the browser has what it was sent to: the tool is done at the very moment that the person approves.
func (d *demoServer) settle(ctx context.Context) {
	const calm, patience = 500 * time.Millisecond, 3 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for ctx.Err() == nil {
		left := calm - time.Since(time.Unix(0, d.last.Load()))
		if left <= 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(left):
		}
	}
}

// Close ends the server and waits until it has ended.
func (d *demoServer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := errors.Join(d.mcp.Shutdown(ctx), d.handler.Close(ctx), d.http.Shutdown(ctx))
	if served := <-d.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return errors.Join(err, d.closeDesk())
}

func (d *demoServer) closeDesk() error {
	var errs []error
	if d.desk != nil {
		errs = append(errs, d.desk.Close())
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	return errors.Join(errs...)
}

// stored returns how many secrets and grants the server keeps, of anybody.
func (d *demoServer) stored(ctx context.Context) (int, error) {
	rows, err := d.store.Find(ctx, &connect.Query{Kind: "credential", Limit: 100})
	return len(rows), err
}

// demoServerCmd is the server of the demo as a process of its own. Whoever starts a process is who it serves: it demands no login.
type demoServerCmd struct {
	Dir     string `hidden:"" env:"PARLEY_DEMO_DIR" help:"The folder of its files; a temporary one if empty."`
	Issuer  string `hidden:"" env:"PARLEY_DEMO_ISSUER" help:"Where people sign in at the railway company. If empty, the company is started, too."`
	API     string `hidden:"" name:"api" env:"PARLEY_DEMO_API" help:"The API of the railway company."`
	KeyPage string `hidden:"" env:"PARLEY_DEMO_KEY_PAGE" help:"Where people find their API key."`
}

// localRedirect is where a company sends people back to a server on standard input and output: any port, see connect.OpenLocal.
const localRedirect = "http://127.0.0.1/callback/rail"

// Run serves over standard input and output. The pages of the desk are served on the loopback interface.
func (c *demoServerCmd) Run(ctx context.Context) (err error) {
	access := &railAccess{Issuer: c.Issuer, API: c.API, KeyPage: c.KeyPage}
	if c.Issuer == "" {
		company, err := startRailAG()
		if err != nil {
			return err
		}
		defer company.Close()
		if access, err = company.register(localRedirect, ""); err != nil {
			return err
		}
	}
	if c.Dir == "" {
		if c.Dir, err = os.MkdirTemp("", "parley-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(c.Dir)) }()
	}
	store, err := sqlite.Open(filepath.Join(c.Dir, demoStoreFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	keys := connect.KeysFromFile(filepath.Join(c.Dir, demoKeysFile))
	desk, err := connect.OpenLocal(ctx, &connect.Options{ServerName: "Travel desk", Store: store, Keys: keys, Logger: quiet})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, desk.Close()) }()
	srv := mcp.NewServer("travel", "1.4.0", &mcp.ServerOptions{
		Title: "Travel desk", Logger: quiet, Ask: &mcp.AskOptions{Store: connect.StateStore(store, keys)},
	})
	newTravelDesk(desk, access).addTo(srv)
	return srv.ServeStdio(ctx)
}
