package mcpauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// A Verifier finds out who stands behind an access token, and whether the authorization server vouches for it: [JWT], [Introspection],
// [AnyOf], or one of your own ([VerifierFunc]). It need not look at audience and expiry, which [Resource] checks, but must tell them.
type Verifier interface {
	// Verify returns what a token says. A *[TokenError] means that the token is not valid; any other error that this cannot be told at
	// the moment. Verify may be called concurrently. What it returns is shared and not modified afterwards.
	Verify(ctx context.Context, token string) (*Token, error)
}

// VerifierFunc makes a [Verifier] of a function. A [Resource] with one needs [ResourceOptions.AuthorizationServers].
type VerifierFunc func(ctx context.Context, token string) (*Token, error)

// Verify calls f.
func (f VerifierFunc) Verify(ctx context.Context, token string) (*Token, error) { return f(ctx, token) }

// A Token is what a verified access token says.
type Token struct {
	Issuer   string   // of the authorization server, exactly as in its metadata; never empty
	Subject  string   // whom the token is about; empty if it names nobody
	ClientID string   // whom it was issued to
	Audience []string // the resources that it is for; a [Resource] takes it only if its own URL is among them
	Scopes   []string // what it allows
	// Expiry is when it ends. The zero value means that the verifier does not know, and verifies again when KeepFor is over.
	Expiry time.Time
	// Person reports that a person stands behind the token, and not the client itself; see [JWTOptions.Person].
	Person bool
	// KeyThumbprint (cnf.jkt, RFC 9449) and CertificateThumbprint (cnf.x5t#S256, RFC 8705), if not empty, bind the token to a key: it
	// counts only with a proof that the sender has it.
	KeyThumbprint, CertificateThumbprint string
	// Claims is the JSON object that all of this was read from, nil if there is none.
	Claims json.RawMessage
	// KeepFor is for how long, until Expiry at most, the token is good without being verified again. Zero: each use verifies it.
	KeepFor time.Duration

	audienceImplied bool // the verifier vouches for that, and Audience is empty
}

// A TokenError says that a token is not valid. The answer is a status of 401 with error="invalid_token".
type TokenError struct {
	// Reason is told to the sender, as error_description. It may say what the token itself says, and nothing else.
	Reason string
	Err    error // the cause, for the log; may be nil
}

// Error returns the reason, and the cause if there is one.
func (e *TokenError) Error() string {
	if e.Err != nil {
		return "mcpauth: " + e.Reason + ": " + e.Err.Error()
	}
	return "mcpauth: " + e.Reason
}

// Unwrap returns the cause.
func (e *TokenError) Unwrap() error { return e.Err }

// invalid makes a TokenError.
func invalid(format string, args ...any) *TokenError {
	return &TokenError{Reason: fmt.Sprintf(format, args...)}
}

// A knownVerifier is one of this package.
type knownVerifier interface {
	Verifier
	// issuers are whose tokens it takes.
	issuers() []string
	// takesOpaque reports whether it takes tokens that do not name their issuer.
	takesOpaque() bool
	// check returns what is wrong with its options.
	check() error
}

// anyOf is AnyOf.
type anyOf struct{ list []Verifier }

// AnyOf returns a verifier for a resource with several authorization servers. Tokens that are JWTs go to the verifier for their iss, and
// to no other. Tokens that do not say where they are from go to the one verifier that takes such tokens, an [Introspection] or one of
// your own: there can be only one, since a token is not shown to a server that has not issued it.
func AnyOf(verifiers ...Verifier) Verifier { return &anyOf{verifiers} }

func (a *anyOf) Verify(ctx context.Context, token string) (*Token, error) {
	issuer := issuerOf(token)
	for _, v := range a.list {
		known, ok := v.(knownVerifier)
		switch {
		case !ok:
			if issuer == "" || !a.knows(issuer) {
				return v.Verify(ctx, token)
			}
		case issuer == "" && known.takesOpaque(), issuer != "" && slices.Contains(known.issuers(), issuer):
			return v.Verify(ctx, token)
		}
	}
	if issuer == "" {
		return nil, invalid("the token does not say who issued it")
	}
	return nil, invalid("the token is of another issuer: expected one of %q, got %q", a.issuers(), clip(issuer))
}

func (a *anyOf) knows(issuer string) bool { return slices.Contains(a.issuers(), issuer) }

func (a *anyOf) issuers() []string {
	var all []string
	for _, v := range a.list {
		if known, ok := v.(knownVerifier); ok {
			all = append(all, known.issuers()...)
		}
	}
	return all
}

func (a *anyOf) takesOpaque() bool { return a.opaque() > 0 }

// opaque counts those that take tokens without an issuer.
func (a *anyOf) opaque() int {
	n := 0
	for _, v := range a.list {
		if known, ok := v.(knownVerifier); !ok || known.takesOpaque() {
			n++
		}
	}
	return n
}

func (a *anyOf) check() error {
	var errs []error
	for _, v := range a.list {
		if known, ok := v.(knownVerifier); ok {
			errs = append(errs, known.check())
		} else if v == nil {
			errs = append(errs, errors.New("mcpauth: AnyOf: a verifier is nil"))
		}
	}
	all := a.issuers()
	for i, issuer := range all {
		if slices.Contains(all[:i], issuer) {
			errs = append(errs, fmt.Errorf("mcpauth: AnyOf: two verifiers are for the issuer %q; only one would be asked", issuer))
		}
	}
	if a.opaque() > 1 {
		errs = append(errs, errors.New("mcpauth: AnyOf: more than one verifier takes tokens that do not name their issuer; a token is shown to one alone"))
	}
	if len(a.list) == 0 {
		errs = append(errs, errors.New("mcpauth: AnyOf: no verifier"))
	}
	return errors.Join(errs...)
}

// issuerOf returns the iss that a JWT claims, without having verified anything; empty if the token is none.
func issuerOf(token string) string {
	_, rest, ok := strings.Cut(token, ".")
	payload, _, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return ""
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if jsonv2.Unmarshal(raw, &claims) != nil {
		return ""
	}
	return claims.Issuer
}
