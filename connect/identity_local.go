package connect

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/user"
	"strings"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/connect/internal/pages"
	"github.com/seed38e7925c/parley/mcp"
)

// LocalUser is the identity of the one person at this computer, for servers on standard input and output: whoever started the server is
// who is asked. Over HTTP, on loopback too, it asks nobody ([mcp.ErrUnavailable]): anybody on the computer could be calling there.
//
// The link to a page proves nothing. The message of the elicitation shows a code with it, of 50 bits, which the person types on the page;
// five wrong ones end the interaction. The code appears nowhere else: not in the URL, in no log, in no result of a tool. A client that
// cannot open pages gets ErrUnavailable, so that a model that reads results and runs programs cannot answer for its person. A program
// that can act as the person's user of the operating system, and sees the elicitation, is beyond what this can keep out.
//
// [OpenLocal] opens a desk for it, with a listener of its own.
func LocalUser() Identity { return localUser{} }

type localUser struct{}

func (localUser) open(_ context.Context, d *Desk) (identity, error) {
	if !loopback(d.base.Hostname()) {
		return nil, fmt.Errorf("LocalUser is for pages on this computer alone; BaseURL is on %q", d.base.Hostname())
	}
	u, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("finding out whose process this is: %w", err)
	}
	return &localIdentity{d: d, person: Person{Issuer: localIssuer, Subject: u.Uid}, name: u.Username}, nil
}

// localIssuer stands for the operating system. No authorization server can have it: issuers are URLs.
const localIssuer = "local"

// Attempts at the code of an interaction.
const maxAttempts = 5

type localIdentity struct {
	d      *Desk
	person Person
	name   string
}

// localPart is what the identity keeps in an interaction.
type localPart struct {
	Code    string `json:"code"`
	Wrong   int    `json:"wrong,omitzero"`   // attempts that were wrong
	Cookie  string `json:"cookie"`           // the name of the cookie
	Claimed string `json:"claimed,omitzero"` // the digest of its value, once somebody has typed the code
}

func (in *interaction) local() (*localPart, error) {
	var p localPart
	if err := jsonv2.Unmarshal(in.data.Identity, &p); err != nil {
		return nil, fmt.Errorf("connect: what the identity keeps in interaction %s: %w", in.ID, err)
	}
	return &p, nil
}

func (in *interaction) setLocal(p *localPart) error {
	raw, err := jsonv2.Marshal(p)
	in.data.Identity = json.RawMessage(raw)
	return err
}

func (l *localIdentity) caller(call *mcp.Call) (Person, string, error) {
	if call.Local() {
		return l.person, "", nil
	}
	const advice = "LocalUser serves standard input and output only; a server over HTTP needs callers that are verified, and OIDC or Session as its identity"
	return Person{}, "", told(fmt.Errorf("%w: connect: %s", mcp.ErrUnavailable, advice),
		"this needs a person who can be asked, and this server cannot know who is calling over HTTP")
}

func (l *localIdentity) prepare(in *interaction) error {
	return in.setLocal(&localPart{Code: newCode(), Cookie: "parley-" + randomID()[:12]})
}

// codeLetters are the letters of codes, without those that are taken for others.
const codeLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newCode makes a code of ten letters: 50 bits.
func newCode() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // it never fails: it ends the program rather than return weak bytes
	for i := range b {
		b[i] = codeLetters[b[i]%byte(len(codeLetters))] // 32 letters: no remainder
	}
	return string(b[:5]) + "-" + string(b[5:])
}

// sameCode compares what was typed, in the time that it takes whatever it is. Letters that look alike are the same.
func sameCode(typed, code string) bool {
	var b strings.Builder
	for _, c := range strings.ToUpper(typed) {
		switch c {
		case '-', ' ':
			continue
		case 'O':
			c = '0'
		case 'I', 'L':
			c = '1'
		}
		b.WriteRune(c)
	}
	return subtle.ConstantTimeCompare([]byte(b.String()), []byte(strings.ReplaceAll(code, "-", ""))) == 1
}

func (l *localIdentity) message(in *interaction, text string) string {
	p, err := in.local()
	if err != nil {
		l.d.log.Error("connect: the code of an interaction cannot be read", "error", err)
		return text
	}
	return text + "\nThe page asks for this code: " + p.Code
}

func (*localIdentity) hosted() bool { return false }

func (l *localIdentity) who(r *http.Request, in *interaction) (*visitor, error) {
	if in == nil {
		return nil, nil
	}
	p, err := in.local()
	if err != nil || p.Claimed == "" {
		return nil, err
	}
	c, err := r.Cookie(p.Cookie)
	if err != nil || subtle.ConstantTimeCompare([]byte(cookieID(c.Value)), []byte(p.Claimed)) != 1 {
		return nil, nil //nolint:nilerr // no cookie, or another: nobody
	}
	return &visitor{Person: l.person, name: l.name}, nil
}

// signIn asks for the code. Pages that are not about an interaction do not exist for local people: the command has them.
func (l *localIdentity) signIn(w http.ResponseWriter, r *http.Request, in *interaction, _ string) {
	switch {
	case in == nil:
		l.d.notFound(w, r)
	case in.open(time.Now()):
		l.askCode(w, r, in, 0)
	default:
		l.closed(w, r, in)
	}
}

// askCode shows the form for the code; wrong is how many were wrong, if one was just now.
func (l *localIdentity) askCode(w http.ResponseWriter, r *http.Request, in *interaction, wrong int) {
	status := http.StatusOK
	if wrong > 0 {
		status = http.StatusForbidden
	}
	l.d.render(w, r, &reply{status: status, page: &pages.Code{
		Action: l.d.base.Path + "i/" + in.ID + "/code", Wrong: wrong > 0, Left: maxAttempts - wrong,
	}})
}

// closed says that there is nothing to answer any more.
func (l *localIdentity) closed(w http.ResponseWriter, r *http.Request, in *interaction) {
	name := pages.Expired
	if p, err := in.local(); err == nil && p.Wrong >= maxAttempts {
		name = pages.Attempts
	}
	l.d.message(w, r, http.StatusGone, nil, &pages.Message{Name: name})
}

func (*localIdentity) signOut(http.ResponseWriter, *http.Request) error { return nil }

func (l *localIdentity) routes(mux *http.ServeMux, prefix string) {
	mux.HandleFunc("POST "+prefix+"i/{id}/code", l.submitCode)
}

// submitCode takes a code. The right one gives the browser a cookie for this interaction.
func (l *localIdentity) submitCode(w http.ResponseWriter, r *http.Request) {
	in := l.d.find(w, r)
	if in == nil {
		return
	}
	if err := readForm(w, r); err != nil {
		l.d.refused(w, r, nil)
		return
	}
	value, id := randomCookie()
	ctx, cancel := l.d.commit(r.Context())
	defer cancel()
	in, err := l.d.step(ctx, in.ID, func(in *interaction) error { return claim(in, r.PostFormValue("code"), id) })
	if err != nil {
		l.d.failed(w, r, nil, err)
		return
	}
	p, err := in.local()
	switch {
	case err != nil:
		l.d.failed(w, r, nil, err)
	case !in.open(time.Now()):
		l.closed(w, r, in)
	case p.Claimed != id:
		l.askCode(w, r, in, p.Wrong)
	default:
		l.d.setCookie(w, p.Cookie, value, in.data.Deadline) // for the whole desk: people come back to it from elsewhere
		l.d.seeOther(w, r, "i/"+in.ID)
	}
}

// claim changes an interaction by what was typed for its code.
func claim(in *interaction, typed, cookie string) error {
	p, err := in.local()
	if err != nil {
		return err
	}
	switch {
	case !in.open(time.Now()):
		return errAsIs
	case sameCode(typed, p.Code):
		p.Claimed = cookie
	default:
		p.Wrong++
	}
	if err := in.setLocal(p); err != nil {
		return err
	}
	if p.Wrong >= maxAttempts {
		in.end(statusFailed, "the code was wrong five times")
	}
	return nil
}

// OpenLocal makes a desk for a server on standard input and output: with [LocalUser] as its identity, on a listener of its own on the
// loopback interface, under a path that nobody can guess. Providers of OAuth send people back to http://127.0.0.1/callback/NAME, with
// the port of that listener: register that, as an application on the person's own computer (RFC 8252: any port). Identity and BaseURL of
// o must be empty. Close ends the listener, too, once a browser that has just
// been answered has had half a second to load what follows: call it before the program ends.
func OpenLocal(ctx context.Context, o *Options) (*Desk, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.BaseURL != "" || opts.Identity != nil {
		return nil, errors.New("connect: OpenLocal chooses BaseURL and Identity itself; use Open to choose them")
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("connect: listening on loopback for the pages: %w", err)
	}
	opts.BaseURL = "http://" + l.Addr().String() + "/" + randomID() + "/"
	opts.Identity = LocalUser()
	d, err := open(ctx, &opts, true)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	d.serve(l)
	return d, nil
}

// How long Close lets a browser load what it was just sent to: a server on standard input and output often ends the moment that the
// person has answered.
const (
	linger    = 500 * time.Millisecond // without a request
	maxLinger = 3 * time.Second
)

// A localServer serves the pages of a desk on a listener of its own.
type localServer struct {
	http.Server
	next http.Handler
	busy atomic.Int64 // requests under way: what they change may end the program before they are answered
	last atomic.Int64 // when a request was last answered, in nanoseconds of Unix time
}

// serve serves the pages on a listener until the desk is closed.
func (d *Desk) serve(l net.Listener) {
	const patience = 30 * time.Second
	s := &localServer{next: d, Server: http.Server{
		ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: 2 * patience, MaxHeaderBytes: 64 << 10,
	}}
	s.Handler = s
	d.closing = append(d.closing, s.finish)
	d.running.Go(func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			d.log.Error("connect: the pages are no longer served", "error", err)
		}
	})
}

// ServeHTTP implements [http.Handler].
func (s *localServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.busy.Add(1)
	defer func() {
		s.last.Store(time.Now().UnixNano())
		s.busy.Add(-1)
	}()
	s.next.ServeHTTP(w, r)
}

// finish ends the server once browsers have had the time to load what they were sent to.
func (s *localServer) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), maxLinger)
	defer cancel()
	for ctx.Err() == nil {
		quiet := time.Since(time.Unix(0, s.last.Load()))
		switch {
		case s.busy.Load() > 0:
			pause(ctx, linger/10)
		case quiet < linger:
			pause(ctx, linger-quiet)
		default:
			return s.shut()
		}
	}
	return s.shut()
}

// shut ends the server, with what is under way.
func (s *localServer) shut() error {
	closing, stop := context.WithTimeout(context.Background(), maxLinger)
	defer stop()
	if err := s.Shutdown(closing); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}
