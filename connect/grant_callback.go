package connect

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/oauth2"
)

// A grantAttempt is one way of a browser to the provider and back. Each is good for one answer. Digests of the state and of the cookie
// are kept: who reads the store cannot answer for a browser.
type grantAttempt struct {
	State    string    `json:"state"`
	Cookie   string    `json:"cookie"`
	Verifier string    `json:"verifier"` // of PKCE; it is used here alone
	Nonce    string    `json:"nonce"`
	Issuer   string    `json:"issuer"` // whose answer is expected
	Begun    time.Time `json:"begun"`
}

const (
	maxUnderWay     = 5 // of one interaction, under way at once: tabs, and the back button
	attemptLifetime = 10 * time.Minute
)

// A grant's state is the interaction's id, by which it is found, and then what only the browser's provider can know.
func newState(in *interaction) string {
	secret, _ := randomCookie()
	return in.ID + secret
}

func interactionOfState(state string) (id string, ok bool) {
	if len(state) <= idLength || len(state) > 3*idLength || !wellFormed(state[:idLength]) {
		return "", false
	}
	return state[:idLength], true
}

// attemptCookie names the cookie of an attempt: each has its own, so that two tabs do not disturb each other.
func (g *Grant) attemptCookie(state string) string {
	return g.desk.cookieName("grant-" + digest("cookie", state)[:12])
}

// redirectURI is what the server is registered with at the provider.
func (g *Grant) redirectURI() string {
	if g.desk.local {
		return g.desk.url(localCallback + g.spec.Name)
	}
	return g.desk.url(g.desk.base.Path + "callback/" + g.spec.Name)
}

// localCallback is where providers send people back to at a desk of OpenLocal, whose own path cannot be registered.
const localCallback = "/callback/"

// showLocalCallback sends a person who comes back on to the desk's own path. Only who knows an interaction learns that path.
func (d *Desk) showLocalCallback(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if id, ok := interactionOfState(r.URL.Query().Get("state")); ok {
		in, err := d.interaction(r.Context(), id)
		if err == nil && in.data.Kind == kindGrant && in.data.Name == name {
			to := url.URL{Path: d.base.Path + "callback/" + name, RawQuery: r.URL.RawQuery}
			http.Redirect(w, r, d.base.ResolveReference(&to).String(), http.StatusSeeOther)
			return
		}
	}
	http.NotFound(w, r)
}

// submit sends the person to the provider.
func (g *Grant) submit(ctx context.Context, v *visit, _ url.Values) (*answer, error) {
	e, err := g.party.endpoints(ctx)
	if err != nil {
		return nil, err
	}
	part, err := grantPartOf(v.in)
	if err != nil {
		return nil, err
	}
	state, nonce := newState(v.in), randomID()
	cookie, cookieDigest := randomCookie()
	attempt := grantAttempt{
		State: digest("state", state), Cookie: cookieDigest, Verifier: oauth2.GenerateVerifier(), Nonce: nonce, Issuer: e.Issuer, Begun: time.Now(),
	}
	to, err := g.authorizeURL(e, part.Scopes, state, &attempt)
	if err != nil {
		return nil, err
	}
	until := attempt.Begun.Add(attemptLifetime)
	return &answer{
		redirect: to,
		leaving:  func(w http.ResponseWriter) { g.desk.setCookie(w, g.attemptCookie(state), cookie, until) },
		opened: func(in *interaction) error {
			part, err := grantPartOf(in)
			if err != nil {
				return err
			}
			part.Attempts = append(part.Attempts, attempt)
			part.Attempts = part.Attempts[max(0, len(part.Attempts)-maxUnderWay):]
			part.Problem = ""
			return part.put(in)
		},
	}, nil
}

// authorizeURL is where the person goes.
func (g *Grant) authorizeURL(e *endpoints, scopes []string, state string, a *grantAttempt) (string, error) {
	u, err := url.Parse(e.Authorize)
	if err != nil {
		return "", err
	}
	q := u.Query()
	for name, values := range g.spec.AuthParams {
		q[name] = values
	}
	q.Set("response_type", "code")
	q.Set("client_id", g.spec.ClientID)
	q.Set("redirect_uri", g.redirectURI())
	q.Set("state", state)
	q.Set("code_challenge", oauth2.S256ChallengeFromVerifier(a.Verifier))
	q.Set("code_challenge_method", "S256")
	if len(scopes) > 0 {
		q.Set("scope", strings.Join(scopes, " "))
	}
	if slices.Contains(scopes, "openid") {
		q.Set("nonce", a.Nonce)
	}
	if g.spec.Resource != "" {
		q.Set("resource", g.spec.Resource)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// callback takes the provider's answer. Nothing is redeemed before it is certain that this browser was sent there, that the person at it is
// the one who is asked, and that the answer comes from the provider that was asked.
func (g *Grant) callback(w http.ResponseWriter, r *http.Request) {
	d := g.desk
	q, err := url.ParseQuery(r.URL.RawQuery)
	id, ok := interactionOfState(q.Get("state"))
	if err != nil || !ok {
		d.notFound(w, r)
		return
	}
	in, err := d.interaction(r.Context(), id)
	switch {
	case errors.Is(err, ErrNotFound):
		d.notFound(w, r)
		return
	case err != nil:
		d.failed(w, r, nil, err)
		return
	case in.data.Kind != kindGrant || in.data.Name != g.spec.Name: // another provider's answer
		d.refused(w, r, nil)
		return
	}
	if !g.ownBrowser(r, q.Get("state")) {
		d.refused(w, r, nil)
		return
	}
	v := d.admit(w, r, in)
	if v == nil {
		return
	}
	d.setCookie(w, g.attemptCookie(q.Get("state")), "", time.Time{})
	if !in.open(time.Now()) {
		d.back(w, r, v, nil)
		return
	}
	switch err := g.answered(r, v, q); {
	case errors.Is(err, errForged):
		d.refused(w, r, v.visitor)
	default:
		d.back(w, r, v, err)
	}
}

// ownBrowser reports whether a browser has the cookie of an attempt; which one is compared when the attempt is taken.
func (g *Grant) ownBrowser(r *http.Request, state string) bool {
	c, err := r.Cookie(g.attemptCookie(state))
	return err == nil && c.Value != ""
}

// errForged refuses an answer that was not asked for, or comes from somebody else.
var errForged = errors.New("connect: an answer that was not asked for")

// answered takes an answer for a person who may give it.
func (g *Grant) answered(r *http.Request, v *visit, q url.Values) error {
	attempt, scopes, err := g.take(r, v, q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 3*g.spec.Timeout) // a code is good once: the browser may go
	defer cancel()
	switch code := q.Get("error"); {
	case code == "access_denied":
		_, err := g.desk.advance(ctx, v, func(in *interaction) error {
			in.decline("")
			return nil
		})
		return err
	case code != "":
		return g.problem(ctx, v, &tokenError{status: http.StatusOK, Code: code})
	}
	payload, err := g.payload(ctx, q.Get("code"), attempt, scopes)
	if err != nil {
		return g.problem(ctx, v, err)
	}
	raw, err := jsonv2.Marshal(payload)
	if err != nil {
		return err
	}
	err = g.desk.finishAs(ctx, v, func(in *interaction) {
		in.finish(statusCompleted, raw)
		in.data.Account = payload.Label
	})
	if errors.Is(err, errOver) || errors.Is(err, ErrNotFound) {
		g.abandon(payload.Value) // it was declined in another window, or is over
	}
	return err
}

// take consumes the attempt that an answer belongs to: by one update, so that of two answers one counts.
func (g *Grant) take(r *http.Request, v *visit, q url.Values) (attempt grantAttempt, scopes []string, err error) {
	state := q.Get("state")
	cookie, err := r.Cookie(g.attemptCookie(state))
	if err != nil {
		return attempt, nil, errForged
	}
	e, err := g.party.endpoints(r.Context())
	if err != nil {
		return attempt, nil, err
	}
	_, err = g.desk.advance(r.Context(), v, func(in *interaction) error {
		part, err := grantPartOf(in)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(part.Attempts, func(a grantAttempt) bool { return same(a.State, digest("state", state)) })
		if at < 0 {
			return errForged
		}
		attempt, scopes = part.Attempts[at], part.Scopes
		if !same(attempt.Cookie, cookieID(cookie.Value)) || time.Since(attempt.Begun) > attemptLifetime || !g.fromIssuer(e, attempt.Issuer, q) {
			return errForged
		}
		part.Attempts = slices.Delete(part.Attempts, at, at+1)
		return part.put(in)
	})
	return attempt, scopes, err
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// fromIssuer compares who answers with who was asked (RFC 9207).
func (g *Grant) fromIssuer(e *endpoints, asked string, q url.Values) bool {
	iss := q["iss"]
	switch {
	case len(q["code"]) > 1 || len(q["state"]) != 1 || len(iss) > 1 || e.Issuer != asked:
		return false
	case len(iss) == 0:
		return !e.SendsIssuer
	}
	return asked == "" || iss[0] == asked
}

// problem notes that an attempt came to nothing. The person sees so, and can try again; the log has why.
func (g *Grant) problem(ctx context.Context, v *visit, cause error) error {
	g.desk.log.Warn("connect: a provider gave no access", "provider", g.spec.Name, "interaction", v.in.ID, "error", cause)
	_, err := g.desk.advance(ctx, v, func(in *interaction) error {
		part, err := grantPartOf(in)
		if err != nil {
			return err
		}
		part.Problem = "failed"
		return part.put(in)
	})
	return err
}

// payload redeems a code.
func (g *Grant) payload(ctx context.Context, code string, attempt grantAttempt, scopes []string) (*grantPayload, error) {
	if code == "" {
		return nil, errors.New("the provider sent neither a code nor an error")
	}
	e, err := g.party.endpoints(ctx)
	if err != nil {
		return nil, err
	}
	a, err := g.party.redeem(ctx, e, code, attempt.Verifier, g.redirectURI())
	if err != nil {
		return nil, err
	}
	claims, err := g.identified(ctx, e, a, &attempt, slices.Contains(scopes, "openid"))
	if err != nil {
		g.abandon(a.value(g.spec.origin(), nil))
		return nil, err
	}
	return &grantPayload{Value: a.value(g.spec.origin(), nil), Scopes: a.scopes(scopes), Label: g.label(ctx, e, a, claims)}, nil
}

// accountClaims are what names an account, to show.
type accountClaims struct {
	Subject  string `json:"sub"`
	Email    string `json:"email"`
	Username string `json:"preferred_username"`
	Login    string `json:"login"` // GitHub
	Name     string `json:"name"`
}

// identified reads the ID token, which must be there and be right where one was asked for.
func (g *Grant) identified(ctx context.Context, e *endpoints, a *tokenAnswer, attempt *grantAttempt, asked bool) (*accountClaims, error) {
	verifier := g.party.verifier(e)
	if !asked || verifier == nil {
		return &accountClaims{}, nil
	}
	if a.ID == "" {
		return nil, errors.New("the provider sent no ID token")
	}
	ctx, cancel := context.WithTimeout(ctx, g.spec.Timeout)
	defer cancel()
	token, err := verifier.Verify(ctx, a.ID)
	if err != nil {
		return nil, fmt.Errorf("the provider's ID token: %w", err)
	}
	if !same(token.Nonce, attempt.Nonce) {
		return nil, errors.New("the provider's ID token has another nonce: it is for somebody else")
	}
	c := &accountClaims{}
	if err := token.Claims(c); err != nil {
		return nil, errors.New("the claims of the provider's ID token cannot be read")
	}
	c.Subject = token.Subject
	return c, nil
}

// label names the account, to show: from the ID token, or else from what the provider tells about its user. It is never an identity.
func (g *Grant) label(ctx context.Context, e *endpoints, a *tokenAnswer, claims *accountClaims) string {
	if name := claims.shown(); name != "" || e.UserInfo == "" {
		return name
	}
	more, err := g.party.userInfo(ctx, e, a.Access)
	if err != nil {
		g.desk.log.Warn("connect: a provider does not tell whose account it is", "provider", g.spec.Name, "error", err)
		return clip(claims.Subject)
	}
	if claims.Subject != "" && more.Subject != claims.Subject {
		g.desk.log.Warn("connect: a provider's user info is about another subject than its ID token", "provider", g.spec.Name)
		return clip(claims.Subject)
	}
	if name := more.shown(); name != "" {
		return name
	}
	return clip(more.Subject)
}

func (c *accountClaims) shown() string {
	for _, name := range []string{c.Email, c.Username, c.Login, c.Name} {
		if name != "" {
			return clip(name)
		}
	}
	return ""
}

// userInfo asks whose account a token is for.
func (p *party) userInfo(ctx context.Context, e *endpoints, token string) (*accountClaims, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.UserInfo, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	reply, err := p.send(ctx, req)
	if err != nil {
		return nil, err
	}
	c := &accountClaims{}
	if reply.status != http.StatusOK || jsonv2.Unmarshal(reply.body, c) != nil {
		return nil, fmt.Errorf("the userinfo endpoint answered with status %d, or with what cannot be read", reply.status)
	}
	return c, nil
}

var (
	_ kindHandler = (*Grant)(nil)
	_ callbacker  = (*Grant)(nil)
	_ revoker     = (*Grant)(nil)
	_ Credential  = (*Grant)(nil)
)
