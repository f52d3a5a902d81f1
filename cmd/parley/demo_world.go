package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/jsonrpc"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// A demoWorld is everything of the demo that is not the host, on this computer: a server, where its people sign in, and a company.
type demoWorld struct {
	dir     string // of the server's files
	keep    bool
	company *railAG
	people  *idp.Server // nil over standard input and output
	server  *demoServer // nil over standard input and output: the transport starts it
	child   *railAccess // what that one is told
}

// start starts the world.
func (c *demoCmd) start(ctx context.Context) (_ *demoWorld, err error) {
	w := &demoWorld{dir: c.Keep, keep: c.Keep != ""}
	if w.keep {
		err = os.MkdirAll(w.dir, 0o700)
	} else {
		w.dir, err = os.MkdirTemp("", "parley-demo-")
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close(), w.remove())
		}
	}()
	if w.company, err = startRailAG(); err != nil {
		return nil, err
	}
	if c.Stdio {
		w.child, err = w.company.register(localRedirect, "")
		return w, err
	}
	if w.people, err = demoProvider(); err != nil {
		return nil, err
	}
	w.server, err = startDemoServer(ctx, w.dir, w.people, w.company)
	return w, err
}

// dial is the way to the server, and what ends it.
func (w *demoWorld) dial(login mcpauth.LoginFunc) (mcp.Transport, func() error, error) {
	if w.server != nil {
		transport, auth, err := demoDial(w.server.url, login)
		if err != nil {
			return nil, nil, err
		}
		return transport, auth.Close, nil
	}
	self, err := os.Executable()
	env := append(os.Environ(), "PARLEY_DEMO_DIR="+w.dir, "PARLEY_DEMO_ISSUER="+w.child.Issuer, "PARLEY_DEMO_API="+w.child.API, "PARLEY_DEMO_KEY_PAGE="+w.child.KeyPage)
	return mcp.Command(self, []string{"demo-server"}, &mcp.CommandOptions{Env: env}), func() error { return nil }, err
}

// site says whose a page is, as far as that is known.
func (w *demoWorld) site(u *url.URL) string {
	name := "This computer"
	switch origin := "http://" + u.Host; {
	case w.server != nil && strings.HasPrefix(w.server.url, origin+"/"):
		name = "Travel desk"
	case w.server == nil && strings.Contains(u.Path, "/i/"):
		name = "Travel desk"
	case w.people != nil && origin == w.people.Issuer():
		name = "Demo sign-in"
	case origin == w.company.people.Issuer(), origin == w.company.site.URL():
		name = "Rail AG"
	}
	return fmt.Sprintf("%s (%s)", name, u.Host)
}

// Close ends everything but what a transport has started.
func (w *demoWorld) Close() error {
	var err error
	if w.server != nil {
		err = w.server.Close()
	}
	if w.people != nil {
		w.people.Close()
	}
	if w.company != nil {
		w.company.Close()
	}
	return err
}

// remove removes the files, unless they are to be kept.
func (w *demoWorld) remove() error {
	if w.keep {
		return nil
	}
	return os.RemoveAll(w.dir)
}

// outline says what is about to happen, in paragraphs.
func (w *demoWorld) outline() []string {
	what := "This program is the host, such as an app with an AI model has one. It calls the tool \"book\" of a server on this computer, the travel desk. " +
		"To buy a train ticket for you the tool needs four things: your API key of Rail AG and your yes to the purchase, on pages of the server; " +
		"the seat that you like, which the host asks you; and access to your account at Rail AG, which you give there."
	who := "Rail AG and its people are invented. It is another company as far as the server is concerned, at " + w.company.people.Issuer() +
		", and shows your API key at " + w.company.site.URL() + "/account/key. Nothing leaves this computer."
	if w.server == nil {
		return []string{what, who + " The server's pages want a code, which is shown here, to know that it is you."}
	}
	return []string{what, who + " The server is at " + w.server.url + ". It demands that you log in, at " + w.people.Issuer() +
		": be Alice or Bob, and be the same one on its pages."}
}

// A wireRecord keeps every message between the host and its server.
type wireRecord struct {
	mu       sync.Mutex
	text     bytes.Buffer
	messages int
	failed   error
}

// see keeps a message.
func (r *wireRecord) see(_ direction, m *jsonrpc.Message, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.text.WriteString(err.Error())
	}
	if m == nil {
		return
	}
	raw, err := jsonv2.Marshal(m)
	if err != nil {
		r.failed = errors.Join(r.failed, err)
	}
	r.messages++
	r.text.Write(raw)
}

// both shows a message to two.
func both(one, other func(direction, *jsonrpc.Message, error)) func(direction, *jsonrpc.Message, error) {
	return func(d direction, m *jsonrpc.Message, err error) {
		one(d, m, err)
		other(d, m, err)
	}
}

// secretKept makes sure that nobody has the API key who should not: neither the host, and so no model, nor the server's files.
func (w *demoWorld) secretKept(s *streams, wire *wireRecord) error {
	wire.mu.Lock()
	defer wire.mu.Unlock()
	if wire.failed != nil || wire.messages == 0 {
		return fmt.Errorf("the messages between host and server were not recorded: %w", wire.failed)
	}
	if strings.Contains(wire.text.String(), w.company.key) {
		return errors.New("the API key is in the messages between host and server")
	}
	size, err := w.search(w.company.key)
	if err != nil {
		return err
	}
	room := columns(s.out)
	text := fmt.Sprintf("The key never passed the client: the %d messages between host and server, %d bytes, were searched for it. Nor is it in the %d bytes that the server keeps, encrypted.",
		wire.messages, wire.text.Len(), size)
	fmt.Fprintf(s.out, "%s\n", wrapped(text, room))
	if w.keep {
		fmt.Fprintf(s.out, "See what the server keeps: parley vault list --store %s --keys %s\n", filepath.Join(w.dir, demoStoreFile), filepath.Join(w.dir, demoKeysFile))
	}
	return nil
}

// search looks for a secret in the server's files, and returns their size.
func (w *demoWorld) search(secret string) (size int, err error) {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "demo.") {
			continue // not ours
		}
		raw, err := os.ReadFile(filepath.Join(w.dir, e.Name()))
		if err != nil {
			return 0, err
		}
		if bytes.Contains(raw, []byte(secret)) {
			return 0, fmt.Errorf("the API key is in %s as it is", e.Name())
		}
		size += len(raw)
	}
	if size == 0 {
		return 0, errors.New("the server has kept nothing")
	}
	return size, nil
}
