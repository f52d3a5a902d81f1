package connect_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/storetest"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// patience is how long anything may take that must happen.
const patience = 20 * time.Second

// A world is a server with its desk, on one replica or several, behind one address.
type world struct {
	t        *testing.T
	url      string
	store    connect.Store
	replicas []*replica
	next     atomic.Int64
	route    func(r *http.Request) int // which replica serves a request; nil: one after the other
	logs     *safeBuffer
	tokens   sync.Map // token → when it was first seen
}

// A replica is one process.
type replica struct {
	desk *connect.Desk
	http http.Handler
	key  *connect.SecretSource
	page *connect.PageSource
	pays *atomic.Int64 // how often the pay tool's action ran
}

// worldOptions change a world.
type worldOptions struct {
	replicas  int
	store     connect.Store                              // the default is in memory
	wrap      func(i int, s connect.Store) connect.Store // what replica i sees of the store
	desk      func(*connect.Options)
	secret    func(*connect.SecretSpec)
	page      func(*connect.PageSpec)
	tools     func(srv *mcp.Server, r *replica)
	ask       mcp.AskOptions
	stateless bool
	issuer    *idp.Server         // callers have its tokens, and people sign in there; the default is the identity of tests
	oidc      connect.OIDCOptions // with issuer
	noReading bool                // with issuer: the access tokens of browsers are not read
	expiry    time.Duration       // of the callers' tokens, from when they are first seen; zero for never
}

// newWorld starts one.
func newWorld(t *testing.T, o *worldOptions) *world {
	t.Helper()
	if o == nil {
		o = &worldOptions{}
	}
	w := &world{t: t, store: o.store, logs: &safeBuffer{}}
	if w.store == nil {
		w.store = storetest.NewMemory()
	}
	ts := httptest.NewServer(http.HandlerFunc(w.serve))
	w.url = ts.URL
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	if o.ask.Keys == nil {
		ring, err := mcp.KeyRingOf(mcp.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		o.ask.Keys = ring
	}
	keys := connect.KeysFromFile(filepath.Join(t.TempDir(), "keys"))
	for i := range max(1, o.replicas) {
		store := w.store
		if o.wrap != nil {
			store = o.wrap(i, store)
		}
		w.replicas = append(w.replicas, w.newReplica(o, store, keys))
	}
	return w
}

func (w *world) newReplica(o *worldOptions, store connect.Store, keys *connect.Keys) *replica {
	t := w.t
	log := slog.New(slog.NewTextHandler(io.MultiWriter(w.logs, t.Output()), &slog.HandlerOptions{Level: slog.LevelDebug}))
	opts := &connect.Options{
		ServerName: "Travel desk", BaseURL: w.url + "/connect/", Store: store, Keys: keys, Identity: connect.CookieIdentity{}, Logger: log,
	}
	if o.desk != nil {
		o.desk(opts)
	}
	authenticate := w.bearer(o.expiry)
	if o.issuer != nil {
		authenticate = w.signInAt(o, opts)
	}
	desk, err := connect.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := desk.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &replica{desk: desk, pays: &atomic.Int64{}}
	secret := &connect.SecretSpec{Name: "maps", Title: "Maps API key", Validate: tryKey}
	if o.secret != nil {
		o.secret(secret)
	}
	r.key = desk.Secret(secret)
	if o.page != nil {
		spec := &connect.PageSpec{Name: "payment", Title: "Payment"}
		o.page(spec)
		r.page = desk.Page(spec)
	}
	ask := o.ask
	srv := mcp.NewServer("travel", "1", &mcp.ServerOptions{Ask: &ask, Logger: log})
	addTools(srv, r)
	if o.tools != nil {
		o.tools(srv, r)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcphttp.NewHandler(srv, &mcphttp.Options{
		Authenticate: authenticate, Logger: log, Sessions: &mcphttp.SessionOptions{Stateless: o.stateless, Keys: ask.Keys},
	}))
	mux.Handle("/connect/", desk)
	r.http = mux
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return r
}

// signInAt makes an issuer's people those of the server and of the desk.
func (w *world) signInAt(o *worldOptions, opts *connect.Options) func(*http.Request) (*mcp.Principal, error) {
	w.t.Helper()
	resource, err := mcpauth.NewResource(w.url+"/mcp", mcpauth.JWT(o.issuer.Issuer(), nil), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	oidc := o.oidc
	if !o.noReading {
		oidc.Resource = resource
	}
	opts.Identity = connect.OIDC(o.issuer.Issuer(), "desk", "desk-secret", &oidc)
	client := &idp.Client{ID: "desk", Secret: "desk-secret", RedirectURIs: []string{opts.BaseURL + "signin/callback"}}
	if err := o.issuer.AddClient(client); err != nil {
		w.t.Fatal(err)
	}
	return resource.Authenticate
}

// serve hands each request to the next replica.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	n := w.next.Add(1)
	i := int(n) % len(w.replicas)
	if w.route != nil {
		i = w.route(r)
	}
	w.replicas[i].http.ServeHTTP(rw, r)
}

// tryKey accepts keys that begin with mk_.
func tryKey(_ context.Context, v connect.Value) error {
	if !strings.HasPrefix(v.Reveal(), "mk_") {
		return connect.Refuse("keys begin with mk_, and %q does not", v.Reveal())
	}
	return nil
}

// bearer takes the subject, a slash and the client for a token. Tokens last for some time from when they are first seen.
func (w *world) bearer(lasts time.Duration) func(r *http.Request) (*mcp.Principal, error) {
	return func(r *http.Request) (*mcp.Principal, error) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return nil, nil
		}
		subject, client, _ := strings.Cut(token, "/")
		p := &mcp.Principal{Issuer: connect.TestIssuer, Subject: subject, ClientID: client, Person: client != "robot"}
		if lasts > 0 {
			first, _ := w.tokens.LoadOrStore(token, time.Now())
			p.Expiry = first.(time.Time).Add(lasts)
		}
		return p, nil
	}
}

type where struct {
	Text string `json:"text"`
}

type pay struct {
	Amount int `json:"amount"`
}

// addTools adds a tool for each kind.
func addTools(srv *mcp.Server, r *replica) {
	mcp.AddTool(srv, &mcp.Tool{Name: "geocode", Asks: r.desk.Asks("maps")}, func(ctx context.Context, call *mcp.Call, in where) (where, error) {
		v, err := r.key.Get(ctx, call)
		if err != nil {
			return where{}, err
		}
		return where{Text: in.Text + " with a key of " + strings.Repeat("x", len(v.Reveal()))}, nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "pay"}, func(ctx context.Context, call *mcp.Call, in pay) (where, error) {
		return connect.Do(ctx, r.desk, call, payment(in.Amount), func(a connect.Approved) (where, error) {
			r.pays.Add(1)
			return where{Text: a.Action.Details[0].Value + " paid, " + a.By.Subject + ", " + a.IdempotencyKey}, nil
		})
	})
}

func payment(amount int) connect.Action {
	return connect.Action{Title: "Pay Rail AG", Details: []connect.Detail{{Label: "Amount", Value: strings.Repeat("I", amount) + " EUR"}}}
}

// paid is how often the action of the pay tool ran, on all replicas.
func (w *world) paid() int64 {
	var n int64
	for _, r := range w.replicas {
		n += r.pays.Load()
	}
	return n
}

// client connects a client of somebody.
func (w *world) client(token string, rev mcp.Revision, person *mcp.Interactor) *mcp.Client {
	w.t.Helper()
	return w.clientCalled("Desk Assistant", token, rev, person)
}

// clientCalled is client for one that calls itself something.
func (w *world) clientCalled(name, token string, rev mcp.Revision, person *mcp.Interactor) *mcp.Client {
	w.t.Helper()
	c, err := mcp.Connect(w.t.Context(), mcphttp.Dial(w.url+"/mcp", &mcphttp.DialOptions{
		Header: http.Header{"Authorization": {"Bearer " + token}}, CloseTimeout: patience,
	}), &mcp.ClientOptions{Info: &mcp.Implementation{Name: name, Version: "1"}, Revisions: []mcp.Revision{rev}, Interactor: person})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// revisionsWithPages are those that can send a person to a page, as far as this build serves them.
func revisionsWithPages() []mcp.Revision {
	return slices.DeleteFunc([]mcp.Revision{mcp.Revision20251125, mcp.Revision20260728}, func(rev mcp.Revision) bool { return !has(rev) })
}

// eras plays a test at each of them.
func eras(t *testing.T, test func(t *testing.T, rev mcp.Revision)) {
	for _, rev := range revisionsWithPages() {
		t.Run(rev.String(), func(t *testing.T) { test(t, rev) })
	}
}

// accept returns an interactor that says yes to every page, and hands its address on.
func accept(visit func(url string)) *mcp.Interactor {
	return &mcp.Interactor{Open: func(_ context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
		visit(q.URL)
		return &mcp.ElicitResult{Action: mcp.ActionAccept}, nil
	}}
}

// links returns an interactor that says yes, and a channel of the addresses.
func links() (*mcp.Interactor, chan string) {
	ch := make(chan string, 100)
	return accept(func(url string) { ch <- url }), ch
}

// outcome is how a call has ended.
type outcome struct {
	res where
	err error
}

// call makes a call in the background.
func call(t *testing.T, c *mcp.Client, tool string, args any) chan outcome {
	done := make(chan outcome, 1)
	ctx := t.Context()
	var wg sync.WaitGroup
	wg.Go(func() {
		res, err := mcp.CallTool[where](ctx, c, tool, args)
		done <- outcome{res, err}
	})
	t.Cleanup(wg.Wait)
	return done
}

// get waits for what a channel has.
func get[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("nothing has happened")
	}
	panic("unreachable")
}

// safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// rows returns the rows of a kind.
func (w *world) rows(kind string) []*connect.Row {
	w.t.Helper()
	rows, err := w.store.Find(w.t.Context(), &connect.Query{Kind: kind, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}

// has reports whether this build serves a revision.
func has(rev mcp.Revision) bool { return slices.Contains(revisions(), rev) }

// actionIn returns the action of the first form of a page whose action ends so.
func actionIn(t *testing.T, body, suffix string) string {
	t.Helper()
	for _, m := range regexp.MustCompile(`action="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if strings.HasSuffix(m[1], suffix) {
			return m[1]
		}
	}
	t.Fatalf("no form leads to %s: %s", suffix, body)
	return ""
}

// states is an mcp.StateStore in memory.
type states struct {
	mu  sync.Mutex
	all map[string][]byte
}

func newStates() *states { return &states{all: make(map[string][]byte)} }

func (s *states) Create(_ context.Context, key string, value []byte, _ time.Time) (existing []byte, created bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.all[key]; ok {
		return v, false, nil
	}
	s.all[key] = bytes.Clone(value)
	return nil, true, nil
}

func (s *states) Set(_ context.Context, key string, value []byte, _ time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[key] = bytes.Clone(value)
	return nil
}

func (s *states) Get(_ context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.all[key]
	return v, ok, nil
}

func (s *states) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
	return nil
}

// rounds waits until so many more requests have come: calls that were held, and are made again.
func (w *world) rounds(n int64) {
	w.t.Helper()
	until := w.next.Load() + n
	eventually(w.t, "another round", func() bool { return w.next.Load() >= until })
}

// eventually waits for something to become true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Errorf("it never happened: %s", what)
			return
		}
		<-time.After(2 * time.Millisecond)
	}
}

// addPageTool adds a tool that sends people to the page.
func addPageTool(srv *mcp.Server, r *replica) {
	mcp.AddTool(srv, &mcp.Tool{Name: "buy"}, func(ctx context.Context, call *mcp.Call, in pay) (where, error) {
		raw, err := r.page.Wait(ctx, call, in)
		if err != nil {
			return where{}, err
		}
		return where{Text: "the page says " + string(raw)}, nil
	})
}

// apart has calls served by one replica and pages by another.
func apart(r *http.Request) int {
	if r.URL.Path == "/mcp" {
		return 0
	}
	return 1
}
