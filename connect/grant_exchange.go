package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// tokenAnswer is what the token endpoint gives.
type tokenAnswer struct {
	Access  string          `json:"access_token"`
	Type    string          `json:"token_type"`
	Refresh string          `json:"refresh_token"`
	Expires json.RawMessage `json:"expires_in"` // seconds; some send them as text
	Scope   string          `json:"scope"`
	ID      string          `json:"id_token"`
}

// A tokenError is a refusal of the token endpoint.
type tokenError struct {
	status int
	Code   string `json:"error"`
	After  time.Duration
}

func (e *tokenError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("the token endpoint answered with status %d", e.status)
	}
	return fmt.Sprintf("the token endpoint answered with %q (status %d)", clip(e.Code), e.status)
}

// final are the refusals that only the person can do something about: of the standards, and GitHub's.
var final = []string{"invalid_grant", "interaction_required", "login_required", "consent_required", "bad_refresh_token"}

// refused reports whether a provider has refused what it was given, for good. Everything else may pass.
func refused(err error) bool {
	var e *tokenError
	return errors.As(err, &e) && slices.Contains(final, e.Code)
}

// untouched reports whether the provider has certainly not acted on a request, so that it can be sent again.
func untouched(err error) (again bool, after time.Duration) {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true, 0
	}
	var e *tokenError
	if errors.As(err, &e) && (e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable) {
		return true, e.After
	}
	return false, 0
}

// redeem exchanges a code.
func (p *party) redeem(ctx context.Context, e *endpoints, code, verifier, redirectURI string) (*tokenAnswer, error) {
	return p.ask(ctx, e, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {redirectURI},
	})
}

// renew exchanges a refresh token.
func (p *party) renew(ctx context.Context, e *endpoints, refresh string) (*tokenAnswer, error) {
	return p.ask(ctx, e, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
}

// ask asks the token endpoint.
func (p *party) ask(ctx context.Context, e *endpoints, form url.Values) (*tokenAnswer, error) {
	if p.spec.Resource != "" {
		form.Set("resource", p.spec.Resource)
	}
	reply, err := p.post(ctx, e, e.Token, form)
	if err != nil {
		return nil, err
	}
	if reply.status != http.StatusOK {
		return nil, refusal(reply)
	}
	a := &tokenAnswer{}
	if err := jsonv2.Unmarshal(reply.body, a); err != nil {
		return nil, errors.New("the answer of the token endpoint cannot be read") // what it holds may be secret
	}
	switch {
	case a.Access == "":
		return nil, refusal(reply) // GitHub sends errors with status 200
	case !strings.EqualFold(a.Type, "bearer"):
		return nil, fmt.Errorf("the provider issued a token of type %q; only bearer tokens can be used", clip(a.Type))
	}
	return a, nil
}

func refusal(reply *providerReply) *tokenError {
	e := &tokenError{status: reply.status}
	if jsonv2.Unmarshal(reply.body, e) != nil || !plain(e.Code) {
		e.Code = ""
	}
	if n, err := strconv.Atoi(reply.header.Get("Retry-After")); err == nil && n > 0 {
		e.After = time.Duration(n) * time.Second
	}
	return e
}

// plain reports whether an error code is one.
func plain(code string) bool {
	return len(code) <= 100 && !strings.ContainsFunc(code, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
}

// post sends a form as the client that this server is.
func (p *party) post(ctx context.Context, e *endpoints, to string, form url.Values) (*providerReply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, nil)
	if err != nil {
		return nil, err
	}
	secret := p.spec.ClientSecret.Reveal()
	switch method, err := p.method(e); {
	case err != nil:
		return nil, err
	case method == authBasic:
		req.SetBasicAuth(url.QueryEscape(p.spec.ClientID), url.QueryEscape(secret))
	case method == authPost:
		form.Set("client_secret", secret)
		fallthrough
	default:
		form.Set("client_id", p.spec.ClientID)
	}
	body := form.Encode()
	req.Body = io.NopCloser(strings.NewReader(body))
	req.ContentLength = int64(len(body))
	req.GetBody = nil // sent once: what a code or a token was used for is not sent again behind our back
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	return p.send(ctx, req)
}

// method is how the client says who it is.
func (p *party) method(e *endpoints) (string, error) {
	switch {
	case p.spec.ClientSecret.Reveal() == "":
		return authNone, nil
	case p.spec.AuthMethod != "":
		return p.spec.AuthMethod, nil
	case len(e.AuthMethods) == 0 || slices.Contains(e.AuthMethods, authBasic):
		return authBasic, nil
	case slices.Contains(e.AuthMethods, authPost):
		return authPost, nil
	}
	return "", fmt.Errorf("the provider takes no client secret (token_endpoint_auth_methods_supported: %q)", e.AuthMethods)
}

// revoke has the provider forget tokens (RFC 7009).
func (p *party) revoke(ctx context.Context, v *grantValue) error {
	e, err := p.endpoints(ctx)
	if err != nil {
		return err
	}
	if e.Revoke == "" || p.spec.origin() != v.Origin {
		return nil
	}
	var errs []error
	for _, t := range []struct{ hint, token string }{{"refresh_token", v.Refresh}, {"access_token", v.Access}} {
		if t.token == "" {
			continue
		}
		reply, err := p.post(ctx, e, e.Revoke, url.Values{"token": {t.token}, "token_type_hint": {t.hint}})
		switch {
		case err != nil:
			errs = append(errs, err)
		case reply.status != http.StatusOK && reply.status != http.StatusNoContent:
			errs = append(errs, fmt.Errorf("the revocation endpoint answered with status %d", reply.status))
		}
	}
	return errors.Join(errs...)
}

// expiry is when a token that was just issued ends; zero when that is not said.
func (a *tokenAnswer) expiry(now time.Time) time.Time {
	n, err := strconv.ParseInt(strings.Trim(string(a.Expires), `"`), 10, 64)
	const most = 10 * 365 * 24 * 3600
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(min(n, most)) * time.Second)
}

// scopes are those of an answer; those that were asked for where it does not say.
func (a *tokenAnswer) scopes(asked []string) []string {
	if a.Scope == "" {
		return asked
	}
	granted := strings.FieldsFunc(a.Scope, func(r rune) bool { return r == ' ' || r == ',' }) // GitHub separates by commas
	return union(nil, granted)
}

// grantValue is the sealed value of a grant: one set of tokens.
type grantValue struct {
	Generation string    `json:"generation"` // names the set
	Origin     string    `json:"origin"`     // of the provider: they are sent nowhere else
	Access     string    `json:"access,omitzero"`
	Refresh    string    `json:"refresh,omitzero"`
	Obtained   time.Time `json:"obtained"`
	Expiry     time.Time `json:"expiry,omitzero"`
	Renewed    bool      `json:"renewed,omitzero"` // by a refresh token
}

// value makes a set of tokens of an answer; what it leaves out of a renewal stays.
func (a *tokenAnswer) value(origin string, before *grantValue) *grantValue {
	now := time.Now()
	v := &grantValue{Generation: randomID(), Origin: origin, Access: a.Access, Refresh: a.Refresh, Obtained: now, Expiry: a.expiry(now)}
	if before != nil {
		v.Renewed = true
		if v.Refresh == "" {
			v.Refresh = before.Refresh
		}
	}
	return v
}

// valid reports whether the access token still counts.
func (v *grantValue) valid(now time.Time) bool {
	return v.Access != "" && (v.Expiry.IsZero() || now.Before(v.Expiry))
}

// stale reports whether it is time to renew: a fifth of the lifetime before the end, at most a minute.
func (v *grantValue) stale(now time.Time) bool {
	if v.Expiry.IsZero() {
		return v.Access == ""
	}
	return now.After(v.Expiry.Add(-min(time.Minute, v.Expiry.Sub(v.Obtained)/5)))
}

// readGrantValue reads the tokens of a credential.
func readGrantValue(c *credential) (*grantValue, error) {
	v := &grantValue{}
	if len(c.Value) == 0 {
		return v, nil
	}
	if err := jsonv2.Unmarshal(c.Value, v); err != nil {
		return nil, fmt.Errorf("connect: the tokens in credential %s cannot be read", c.ID)
	}
	return v, nil
}
