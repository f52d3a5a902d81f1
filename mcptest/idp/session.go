package idp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Authentication context classes.
const (
	acrClick    = "0" // a click on a name
	acrPassword = "1"
)

// A session is a browser. Its cookie changes when somebody signs in.
type session struct {
	cookie   string
	public   string // sid: its name in ID tokens
	csrf     string // in its forms; changes with the cookie
	subject  string // who signed in; empty: nobody
	authTime time.Time
	acr      string
}

const sessionTTL = 12 * time.Hour

// cookieName differs by provider: cookies do not know ports, and several providers may run on one computer.
func (p *Provider) cookieName() string {
	sum := sha256.Sum256([]byte(p.opts.Issuer))
	name := "idp-" + hex.EncodeToString(sum[:6])
	if p.base.Scheme == "https" {
		return "__Host-" + name
	}
	return name
}

func (p *Provider) sessionOf(r *http.Request) *session {
	c, err := r.Cookie(p.cookieName())
	if err != nil {
		return nil
	}
	s, ok := p.sessions.get(p.opts.Now(), c.Value)
	if !ok {
		return nil
	}
	return s
}

func (p *Provider) newSession(w http.ResponseWriter) *session {
	s := &session{public: newID()}
	p.renew(s)
	http.SetCookie(w, p.cookie(s))
	return s
}

// renew gives a session a new cookie; the old one is void.
func (p *Provider) renew(s *session) {
	delete(p.sessions.rows, s.cookie)
	s.cookie, s.csrf = newID(), newID()
	p.sessions.put(s.cookie, s, p.opts.Now().Add(sessionTTL))
}

func (p *Provider) cookie(s *session) *http.Cookie {
	return &http.Cookie{Name: p.cookieName(), Value: s.cookie, Path: "/", HttpOnly: true, Secure: p.base.Scheme == "https", SameSite: http.SameSiteLaxMode, MaxAge: int(sessionTTL / time.Second)}
}

// signIn makes a person the one of the request's session.
func (p *Provider) signIn(w http.ResponseWriter, req *request, u *User, acr string) {
	s := req.session
	if s == nil {
		s = &session{public: newID()}
		req.session = s
	}
	if s.subject != "" && s.subject != u.Subject {
		s.public = newID()
	}
	s.subject, s.authTime, s.acr = u.Subject, p.opts.Now(), acr
	req.signedIn = true
	p.renew(s)
	http.SetCookie(w, p.cookie(s))
}

// SignIn puts a session of a person into a cookie jar, as if they had signed in with it.
func (p *Provider) SignIn(jar http.CookieJar, subject string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.user(subject) == nil {
		return fmt.Errorf("idp: there is no user %q", subject)
	}
	s := &session{public: newID(), subject: subject, authTime: p.opts.Now(), acr: acrClick}
	p.renew(s)
	jar.SetCookies(&url.URL{Scheme: p.base.Scheme, Host: p.base.Host, Path: "/"}, []*http.Cookie{p.cookie(s)})
	return nil
}

// subjectFor is who a user is for a client (OpenID Connect Core section 8). Clients of one host share a sector.
func (p *Provider) subjectFor(subject string, c *Client, redirectURI string) string {
	if !p.opts.Pairwise {
		return subject
	}
	sector := c.ID
	if u, err := url.Parse(redirectURI); err == nil && u.Scheme == "https" {
		sector = u.Hostname()
	}
	mac := hmac.New(sha256.New, p.pairwise)
	mac.Write([]byte(sector + "\x00" + subject))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
