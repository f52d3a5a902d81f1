package web

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

// Options adjust an interactor. Nil and the zero value mean the defaults.
type Options struct {
	// Show opens a question's page in the person's browser. Default: [consent.Open].
	Show func(ctx context.Context, page string) error
	// Tell is told the address of each question's page, before Show is called, so that the person can find it when no browser opens. When
	// it is nil and Show fails, nobody can be asked.
	Tell func(page string)
	// Address is where to listen: a loopback address and a port. Default "127.0.0.1:0", a free port.
	Address string
	// Trusted lists URLs or hosts that the person knows; names made to look like them are pointed out. See [consent.Options].
	Trusted []string
	// Roots are the directories to tell servers about; nil declares no roots.
	Roots []mcp.Root
}

// New returns an interactor that asks on pages. A question fails with [mcp.ErrUnavailable] when its page cannot be served or shown; a
// person who closes the page without an answer leaves the question open until the server, or the host, gives it up.
func New(o *Options) *mcp.Interactor {
	p := &pages{}
	if o != nil {
		p.opts = *o
	}
	if p.opts.Show == nil {
		p.opts.Show = func(ctx context.Context, page string) error { return consent.Open(ctx, consent.Review(page, nil)) }
	}
	if p.opts.Address == "" {
		p.opts.Address = "127.0.0.1:0"
	}
	in := &mcp.Interactor{Form: p.form, Open: p.open, Wait: p.wait}
	if p.opts.Roots != nil {
		roots := slices.Clone(p.opts.Roots)
		in.Roots = func(context.Context) ([]mcp.Root, error) { return slices.Clone(roots), nil }
	}
	return in
}

// pages puts questions on pages.
type pages struct{ opts Options }

func (p *pages) form(ctx context.Context, q *mcp.FormQuestion) (*mcp.ElicitResult, error) {
	return p.ask(ctx, &formPage{q: q, asker: askerOf(q.Asked, q.Message)})
}

func (p *pages) open(ctx context.Context, q *mcp.OpenQuestion) (*mcp.ElicitResult, error) {
	r := consent.Review(q.URL, &consent.Options{Server: q.Origin, Trusted: p.opts.Trusted})
	return p.ask(ctx, &openPage{review: r, asker: askerOf(q.Asked, q.Message)})
}

// wait shows a page with a button for who is done, until the server notices by itself.
func (p *pages) wait(ctx context.Context, q *mcp.OpenQuestion) error {
	r := consent.Review(q.URL, &consent.Options{Server: q.Origin, Trusted: p.opts.Trusted})
	res, err := p.ask(ctx, &waitPage{asker: askerOf(q.Asked, q.Message), site: r.Domain})
	switch {
	case err != nil:
		return err
	case res.Action != mcp.ActionAccept:
		return mcp.ErrCanceled
	}
	return nil
}

// A page is one question as HTML.
type page interface {
	// show writes the question.
	show(w http.ResponseWriter)
	// take reads the person's answer and writes what they see next. Without an answer (nil) the question stays open.
	take(w http.ResponseWriter, r *http.Request) *mcp.ElicitResult
}

// ask serves a page until it was answered.
func (p *pages) ask(ctx context.Context, q page) (*mcp.ElicitResult, error) {
	l, err := p.listen(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: no page for the question: %w", mcp.ErrUnavailable, err)
	}
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	d := &desk{page: q, host: l.Addr().String(), path: "/" + base64.RawURLEncoding.EncodeToString(secret[:]), answered: make(chan *mcp.ElicitResult, 1)}
	server := &http.Server{Handler: d.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	served := make(chan struct{})
	var ended error
	go func() { // stop waits for it
		defer close(served)
		ended = server.Serve(l)
	}()
	defer stop(server, served)

	address := "http://" + d.host + d.path
	if p.opts.Tell != nil {
		p.opts.Tell(address)
	}
	if err := p.opts.Show(ctx, address); err != nil && p.opts.Tell == nil {
		return nil, fmt.Errorf("%w: the page of the question could not be shown: %w", mcp.ErrUnavailable, err)
	}
	select {
	case res := <-d.answered:
		return res, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-served:
		return nil, fmt.Errorf("%w: the page of the question ended: %w", mcp.ErrUnavailable, ended)
	}
}

func (p *pages) listen(ctx context.Context) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", p.opts.Address)
	if err != nil {
		return nil, err
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("web.Options.Address %q is not on the loopback interface", p.opts.Address), l.Close())
	}
	return l, nil
}

// stop lets the last answer be read and ends the server.
func stop(server *http.Server, served <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // a browser that does not let go
	}
	<-served
}

// A desk serves one page and takes one answer.
type desk struct {
	page       page
	host, path string
	answered   chan *mcp.ElicitResult

	mu   sync.Mutex
	done bool
}

func (d *desk) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+d.path, func(w http.ResponseWriter, _ *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.done {
			note(w, http.StatusGone, "Answered", "This question has been answered. You can close this page.")
			return
		}
		d.page.show(w)
	})
	mux.HandleFunc("POST "+d.path, d.post)
	guarded := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != d.host {
			http.Error(w, "there is no such page here", http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		r.Body = http.MaxBytesReader(w, r.Body, 2<<20)
		guarded.ServeHTTP(w, r)
	})
}

// post takes the answer, once.
func (d *desk) post(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done {
		note(w, http.StatusConflict, "Answered", "This question was answered before. You can close this page.")
		return
	}
	if err := r.ParseForm(); err != nil {
		note(w, http.StatusBadRequest, "Not understood", "The answer could not be read. Please go back and try again.")
		return
	}
	if res := d.page.take(w, r); res != nil {
		d.done = true
		d.answered <- res
	}
}
