package connect

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// CookieIdentity is an identity for tests: whoever a cookie says that they are. It plays a hosted one, or with Local set one without links.
type CookieIdentity struct {
	Unlinked bool
	Tenant   string // of everybody at a browser
}

func (c CookieIdentity) open(_ context.Context, d *Desk) (identity, error) {
	return &cookieIdentity{d, c}, nil
}

type cookieIdentity struct {
	desk *Desk
	o    CookieIdentity
}

// TestCookie holds the subject, the name of the session and, where there is one, the tenant, with colons between them.
const TestCookie = "who"

// TestIssuer is the issuer of everybody.
const TestIssuer = "https://login.test"

func (c *cookieIdentity) caller(call *mcp.Call) (Person, string, error) { return c.desk.verified(call) }
func (c *cookieIdentity) prepare(*interaction) error                    { return nil }
func (c *cookieIdentity) message(_ *interaction, text string) string    { return text }
func (c *cookieIdentity) hosted() bool                                  { return !c.o.Unlinked }

func (c *cookieIdentity) who(r *http.Request, _ *interaction) (*visitor, error) {
	cookie, err := r.Cookie(TestCookie)
	if err != nil {
		return nil, nil
	}
	subject, session, _ := strings.Cut(cookie.Value, ":")
	session, tenant, named := strings.Cut(session, ":")
	if !named {
		tenant = c.o.Tenant
	}
	return &visitor{Person: Person{Tenant: tenant, Issuer: TestIssuer, Subject: subject}, session: session}, nil
}

func (c *cookieIdentity) signIn(w http.ResponseWriter, _ *http.Request, _ *interaction, back string) {
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write([]byte("sign in, then back to " + back))
}

func (c *cookieIdentity) signOut(w http.ResponseWriter, _ *http.Request) error {
	http.SetCookie(w, &http.Cookie{Name: TestCookie, MaxAge: -1, Path: "/"})
	return nil
}

func (c *cookieIdentity) routes(*http.ServeMux, string) {}

// Waiting returns how many calls are held by a desk.
func (d *Desk) Waiting() int {
	d.hub.mu.Lock()
	defer d.hub.mu.Unlock()
	n := 0
	for _, all := range d.hub.byID {
		for _, w := range all {
			if w.woke != nil {
				n++
			}
		}
	}
	return n
}

// Statuses of interactions, for tests that look into the store.
const (
	StatusDeclined = statusDeclined
	StatusUnknown  = statusUnknown
	StatusRunning  = statusRunning
)

// Kinds of rows, for tests that look into the store.
const (
	RowInteraction = rowInteraction
	RowCredential  = rowCredential
	RowAudit       = rowAudit
)

// SetLease shortens the time after which a silent run is taken for dead. It is called before the desk is used.
func (d *Desk) SetLease(lease time.Duration) { d.lease = lease }

// SetGrace shortens the time for steps that must not be given up. It is called before the desk is used.
func (d *Desk) SetGrace(grace time.Duration) { d.grace = grace }

// SettleAll is what a desk does by itself from time to time.
func (d *Desk) SettleAll(ctx context.Context) error { return d.settleAll(ctx) }
