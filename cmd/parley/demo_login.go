package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// demoScope is what the demo's server wants.
const demoScope = "trips"

// demoProvider starts the authorization server of the demo, where Alice and Bob have accounts.
func demoProvider() (*idp.Server, error) {
	return idp.Listen("127.0.0.1:0", &idp.Options{Name: "Demo sign-in", Scopes: []string{demoScope}})
}

// demoDial is the way to the demo's server, over HTTP, for somebody who can log in.
func demoDial(url string, login mcpauth.LoginFunc) (mcp.Transport, *mcpauth.Transport, error) {
	auth, err := mcpauth.NewTransport(url, mcphttp.DefaultTransport(), &mcpauth.ClientOptions{ClientName: "Parley demo", Login: login})
	if err != nil {
		return nil, nil, err
	}
	return mcphttp.Dial(url, &mcphttp.DialOptions{Client: &http.Client{Transport: auth}}), auth, nil
}

// login is how the person of the demo logs in: the one at the terminal or the browser, or the one who is played.
func (c *demoCmd) login(s *streams, in *mcp.Interactor, keys *keyboard, alice *actor) mcpauth.LoginFunc {
	if alice != nil {
		return mcpauth.Loopback(&mcpauth.LoopbackOptions{Open: alice.signIn})
	}
	p := &person{in: in, keys: keys, w: s.err, ui: newUI(s.err), dialog: new(sync.Mutex)}
	return p.login("", 5*time.Minute)
}

// signIn does what a person with a browser does: follows the link, signs in and agrees. The browser brings the answer back.
func (a *actor) signIn(ctx context.Context, r *mcpauth.LoginRequest) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	review := consent.Review(r.URL, &consent.Options{Server: r.Server})
	a.say("server → host", "401: log in first, at %s", r.Issuer)
	a.say("host → alice", "%s asks you to log in at %s, for the scopes %s", r.Server, r.Issuer, strings.Join(r.Scopes, ", "))
	if review.Refused {
		return fmt.Errorf("the address of the login must not be opened: %v", review.Findings)
	}
	if err := a.visitor.walk(ctx, review.URL, "The answer was received"); err != nil {
		return err
	}
	a.say("page → host", "a code, at %s; it is exchanged for a token", r.RedirectURI)
	a.count(&a.logins)
	return nil
}
