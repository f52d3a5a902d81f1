package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// journey is what the demo's tool is called with.
type journey struct {
	From string `json:"from" jsonschema:"station of departure"`
	To   string `json:"to" jsonschema:"station of arrival"`
}

// seat is the form that the demo's tool asks for.
type seat struct {
	Class string `json:"class" title:"Class" enum:"first=First class,second=Second class" default:"second"`
	Place string `json:"place" title:"Window or aisle" enum:"window=At the window,aisle=On the aisle"`
	Quiet bool   `json:"quiet,omitempty" title:"Quiet coach" jsonschema:"No calls, no loudspeakers."`
}

// ticket is what the demo's tool returns.
type ticket struct {
	Number string `json:"number"`
	// Passenger is who logged in, as the server knows it; empty where it demands no login.
	Passenger string `json:"passenger,omitempty"`
	From      string `json:"from"`
	To        string `json:"to"`
	Class     string `json:"class"`
	Place     string `json:"place"`
	Quiet     bool   `json:"quiet"`
	Fare      string `json:"fare"`
	// ConfirmedAt is when the person confirmed the purchase at the page, as the server has it.
	ConfirmedAt time.Time `json:"confirmedAt"`
}

// offer is what stays the same however often the handler runs.
type offer struct {
	ID   string `json:"id"`
	Fare string `json:"fare"`
}

// A desk sells tickets. It keeps the purchases that are being confirmed at its page.
type desk struct {
	base string // of the page, with a slash at its end

	mu     sync.Mutex
	orders map[string]*order
}

// An order is a purchase that a person confirms or refuses, once.
type order struct {
	Journey journey
	Seat    seat
	Fare    string

	settled   chan struct{} // closed once it was confirmed or refused
	confirmed time.Time     // zero when refused; guarded by desk.mu
}

var errRefused = errors.New("refused at the page")

// book is the demo's tool: a form, a page, a ticket. It is written once for every revision.
func (d *desk) book(ctx context.Context, call *mcp.Call, in journey) (ticket, error) {
	s, err := ask.Form[seat](ctx, call, "seat", "Where would you like to sit between "+in.From+" and "+in.To+"?")
	if err != nil {
		return ticket{}, err
	}
	o, err := mcp.Once(ctx, call, "offer", func() (offer, error) { return d.offer(in, s), nil })
	if err != nil {
		return ticket{}, err
	}
	if err := ask.Open(ctx, call, "confirm", "Please confirm the purchase for "+o.Fare+" at our page.", d.base+"confirm/"+o.ID); err != nil {
		return ticket{}, err
	}
	// That the client's person agreed to open the page means nothing yet. What counts is what was done there.
	if err := call.Await(ctx, "confirmed", "waiting for the confirmation at the page", func(ctx context.Context) error { return d.wait(ctx, o.ID) }); err != nil {
		if errors.Is(err, errRefused) {
			return ticket{}, mcp.ToolErrorf("The purchase was refused at the page. Nothing was bought.")
		}
		return ticket{}, err
	}
	at := d.confirmedAt(o.ID)
	return ticket{Number: "T-" + o.ID[:8], Passenger: passenger(call), From: in.From, To: in.To, Class: s.Class, Place: s.Place, Quiet: s.Quiet, Fare: o.Fare, ConfirmedAt: at}, nil
}

func passenger(call *mcp.Call) string {
	if p := call.Principal(); p != nil {
		return p.Subject
	}
	return ""
}

func (d *desk) offer(in journey, s seat) offer {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	o := offer{ID: hex.EncodeToString(id[:]), Fare: "€ 79.00"}
	if s.Class == "first" {
		o.Fare = "€ 129.00"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.orders[o.ID] = &order{Journey: in, Seat: s, Fare: o.Fare, settled: make(chan struct{})}
	return o
}

func (d *desk) order(id string) *order {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.orders[id]
}

// settle confirms or refuses an order. It reports false if that was done before.
func (d *desk) settle(o *order, yes bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-o.settled:
		return false
	default:
	}
	if yes {
		o.confirmed = time.Now().UTC().Truncate(time.Second)
	}
	close(o.settled)
	return true
}

// wait waits until the order was confirmed.
func (d *desk) wait(ctx context.Context, id string) error {
	o := d.order(id)
	if o == nil {
		return mcp.ToolErrorf("The offer is gone. Please book again.")
	}
	select {
	case <-o.settled:
	case <-ctx.Done():
		return ctx.Err()
	}
	if d.confirmedAt(id).IsZero() {
		return errRefused
	}
	return nil
}

func (d *desk) confirmedAt(id string) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o := d.orders[id]; o != nil {
		return o.confirmed
	}
	return time.Time{}
}

// A demoServer is the server of the demo: an MCP server, and the page of its desk. Over HTTP it demands a login.
type demoServer struct {
	desk     *desk
	provider *idp.Server // nil over standard input and output
	mcp      *mcp.Server
	url      string // of the MCP endpoint

	listener net.Listener
	http     *http.Server
	handler  *mcphttp.Handler
	done     chan error
}

// startDemoServer serves on a free port of the loopback interface, to those who log in at a provider; nil demands no login. Close closes
// the provider too.
func startDemoServer(ctx context.Context, provider *idp.Server) (*demoServer, error) {
	l, err := mcphttp.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	base := "http://" + l.Addr().String() + "/"
	d := &demoServer{desk: &desk{base: base, orders: map[string]*order{}}, provider: provider, url: base + "mcp", listener: l, done: make(chan error, 1)}
	quiet := slog.New(slog.DiscardHandler)
	serverOptions := &mcp.ServerOptions{Title: "Travel desk", Logger: quiet, Ask: &mcp.AskOptions{Store: mcp.NewMemoryStore(0)}}
	httpOptions := &mcphttp.Options{Logger: quiet}
	mux := http.NewServeMux()
	mount := func(h *mcphttp.Handler) { mcphttp.Mount(mux, "/mcp", h) }
	if provider != nil {
		guard, err := mcpauth.NewResource(d.url, mcpauth.JWT(provider.Issuer(), nil), &mcpauth.ResourceOptions{Name: "Travel desk", Scopes: []string{demoScope}, Logger: quiet})
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		serverOptions, httpOptions = guard.Protect(serverOptions), guard.HTTP(httpOptions)
		mount = func(h *mcphttp.Handler) { guard.Mount(mux, h) }
	}
	d.mcp = mcp.NewServer("travel", "1.4.0", serverOptions)
	mcp.AddTool(d.mcp, &mcp.Tool{
		Name: "book", Description: "Book a seat on a train.",
		Asks: append(ask.Declare(ask.FormItem[seat]("seat", "")), &mcp.Question{Key: "confirm", Kind: mcp.AskURL}),
	}, d.desk.book)
	d.handler = mcphttp.NewHandler(d.mcp, httpOptions)
	mount(d.handler)
	mux.Handle("/", d.desk.pages(l.Addr().String()))
	d.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { d.done <- d.http.Serve(l) }() // Close waits for it
	return d, nil
}

// Close ends the server and waits until it has ended.
func (d *demoServer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := errors.Join(d.mcp.Shutdown(ctx), d.handler.Close(ctx), d.http.Shutdown(ctx))
	if served := <-d.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if d.provider != nil {
		d.provider.Close()
	}
	return err
}

// demoServerCmd is the server of the demo as a process of its own.
type demoServerCmd struct{}

// Run serves over standard input and output. The page of the desk is served on the loopback interface.
func (demoServerCmd) Run(ctx context.Context) error {
	d, err := startDemoServer(ctx, nil) // whoever starts a process is who it serves
	if err != nil {
		return err
	}
	return errors.Join(d.mcp.ServeStdio(ctx), d.Close())
}
