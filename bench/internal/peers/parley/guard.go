package parley

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

const (
	guardIssuer   = "https://login.example"
	guardResource = "https://travel.example/mcp"
)

// issuer answers what is fetched from the provider without a network, and counts the fetches of keys.
type issuer struct {
	p       *idp.Provider
	fetches atomic.Int64
}

// RoundTrip implements [http.RoundTripper].
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/jwks") || strings.Contains(r.URL.Path, "keys") {
		i.fetches.Add(1)
		select { // so that all who wait for it come in the meantime
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	w := httptest.NewRecorder()
	i.p.ServeHTTP(w, r)
	return w.Result(), nil
}

// resource is a protected resource that remembers tokens for some time.
func (i *issuer) resource(keep time.Duration) (*mcpauth.Resource, error) {
	quiet := slog.New(slog.DiscardHandler)
	v := mcpauth.JWT(guardIssuer, &mcpauth.JWTOptions{
		KeepVerified: keep, KeyFetchPause: -1, Logger: quiet, Fetch: &mcpauth.FetchOptions{RoundTripper: i},
	})
	return mcpauth.NewResource(guardResource, v, &mcpauth.ResourceOptions{Logger: quiet})
}

func (i *issuer) token() (string, error) {
	return i.p.Mint(&idp.Ticket{Subject: "alice", ClientID: "app", Resource: guardResource, Scopes: []string{"trips.read", "trips.book"}})
}

// authenticating authenticates a request.
func authenticating(r *mcpauth.Resource, token string) func() error {
	req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, guardResource, nil)
	req.Header.Set("Authorization", "Bearer "+token)
	return func() error {
		p, err := r.Authenticate(req)
		if err == nil && p.Subject != "alice" {
			err = fmt.Errorf("authenticated %q", p.Subject)
		}
		return err
	}
}

// Guard implements [peer.Guarded].
func (Peer) Guard(algorithm string) (*peer.Guard, error) {
	p, err := idp.New(&idp.Options{Issuer: guardIssuer, Algorithm: algorithm, AccessTokenTTL: time.Hour})
	if err != nil {
		return nil, err
	}
	i := &issuer{p: p}
	token, err := i.token()
	if err != nil {
		return nil, err
	}
	fresh, err := i.resource(-1)
	if err != nil {
		return nil, err
	}
	known, err := i.resource(0)
	if err != nil {
		return nil, err
	}
	g := &peer.Guard{Fresh: authenticating(fresh, token), Known: authenticating(known, token), Rotate: i.rotate(known)}
	if g.Bare, err = i.bare(token); err != nil {
		return nil, err
	}
	return g, errors.Join(g.Bare(), g.Fresh(), g.Known())
}

// rotate authenticates many callers at once with a token of a new key.
func (i *issuer) rotate(r *mcpauth.Resource) func(callers int) (int, error) {
	return func(callers int) (int, error) {
		i.p.Rotate()
		token, err := i.token()
		if err != nil {
			return 0, err
		}
		before := i.fetches.Load()
		errs := make([]error, callers)
		var all sync.WaitGroup
		for n := range callers {
			do := authenticating(r, token)
			all.Go(func() { errs[n] = do() })
		}
		all.Wait()
		return int(i.fetches.Load() - before), errors.Join(errs...)
	}
}

// bare checks a token's signature with nothing but package crypto.
func (i *issuer) bare(token string) (func() error, error) {
	keys, err := i.p.Keys(context.Background())
	if err != nil {
		return nil, err
	}
	at := strings.LastIndexByte(token, '.')
	sig, err := base64.RawURLEncoding.DecodeString(token[at+1:])
	if err != nil {
		return nil, err
	}
	signed := []byte(token[:at])
	wrong := errors.New("the signature is wrong")
	switch key := keys.Keys[0].Key.(type) {
	case *ecdsa.PublicKey:
		r, s := new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])
		return func() error {
			sum := sha256.Sum256(signed)
			if !ecdsa.Verify(key, sum[:], r, s) {
				return wrong
			}
			return nil
		}, nil
	case *rsa.PublicKey:
		return func() error {
			sum := sha256.Sum256(signed)
			return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], sig)
		}, nil
	}
	return nil, fmt.Errorf("the key is a %T", keys.Keys[0].Key)
}
