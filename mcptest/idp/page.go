package idp

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

//go:embed pages
var pageFiles embed.FS

var pages = template.Must(template.ParseFS(pageFiles, "pages/*.html"))

// hidden are characters that a page does not show, or that change how others are shown.
func hidden(r rune) bool {
	return unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.IsSpace(r)
}

// A page is what the templates show.
type page struct {
	Title    string
	Provider string
	Style    string
	Action   string
	Request  string
	CSRF     string
	Error    string

	Client   string
	ClientID string // shown if it is a URL
	Redirect string // where the answer goes
	Local    bool   // that is a program on this computer
	User     *User
	Users    []User
	Hint     string
	Scopes   []string
	Targets  []string // resource servers
}

// Display is the name that the pages show.
func (u User) Display() string { return u.name() }

// show writes a page. target is where its form may lead besides the provider.
func (p *Provider) show(w http.ResponseWriter, status int, name, target string, data *page) {
	data.Provider, data.Style = p.opts.Name, p.base.Path+"/style.css"
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		p.opts.Logger.Error("idp: page", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	noStore(w)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"+formTarget(target))
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // nobody is left to be told
}

// formTarget lets the answer to a form be a redirect to the client: browsers hold that against form-action.
func formTarget(uri string) string {
	u, err := url.Parse(uri)
	switch {
	case err != nil || u.Scheme == "":
		return ""
	case u.Scheme == "http" || u.Scheme == "https":
		return " " + u.Scheme + "://" + u.Host
	}
	return " " + u.Scheme + ":"
}

func serveStyle(w http.ResponseWriter, _ *http.Request) {
	css, err := pageFiles.ReadFile("pages/style.css")
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "max-age=3600")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(css) // nobody is left to be told
}

// showError is for what must not be reported to the client by a redirect.
func (p *Provider) showError(w http.ResponseWriter, status int, text string) {
	p.show(w, status, "error.html", "", &page{Title: "This does not work", Error: displayableText(text)})
}

// displayableText keeps a text with words of strangers in it fit for a page.
func displayableText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r != ' ' && hidden(r) {
			return '\uFFFD'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 400 {
		s = string(r[:400]) + "…"
	}
	return s
}

// pageOf is what every page of a request shows.
func (p *Provider) pageOf(req *request, title, endpoint string) *page {
	d := &page{Title: title, Action: p.url(endpoint), Request: req.id, CSRF: req.session.csrf, Client: req.client.Name, Redirect: req.redirectURI, User: p.user(req.session.subject)}
	if u, err := url.Parse(req.redirectURI); err == nil {
		d.Redirect, d.Local = u.Host, onThisComputer(u)
		if u.Host == "" {
			d.Redirect = u.Scheme + ":"
		}
	}
	if req.client.document {
		d.ClientID = req.client.ID
	}
	for _, s := range req.scopes {
		d.Scopes = append(d.Scopes, displayableText(s))
	}
	for _, uri := range req.resources {
		name := uri
		if i := slices.IndexFunc(p.resources, func(r Resource) bool { return r.URI == uri && r.Name != "" }); i >= 0 {
			name = p.resources[i].Name + " (" + uri + ")"
		}
		d.Targets = append(d.Targets, displayableText(name))
	}
	return d
}

// waiting finds the request of a page or a form: it must be this browser's. Callers hold the lock.
func (p *Provider) waiting(w http.ResponseWriter, r *http.Request) *request {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		http.Error(w, "GET or POST", http.StatusMethodNotAllowed)
		return nil
	}
	if err := r.ParseForm(); err != nil {
		p.showError(w, http.StatusBadRequest, "The form cannot be read.")
		return nil
	}
	id := r.URL.Query().Get("request")
	if r.Method == http.MethodPost {
		id = r.PostForm.Get("request")
	}
	req, ok := p.requests.get(p.opts.Now(), id)
	if s := p.sessionOf(r); !ok || s == nil || s != req.session {
		p.showError(w, http.StatusNotFound, "There is no such request, it has expired, or it is another browser's. Go back to the application and start again.")
		return nil
	}
	if r.Method == http.MethodPost && (p.csrf.Check(r) != nil || !same(r.PostForm.Get("csrf"), req.session.csrf)) {
		p.showError(w, http.StatusForbidden, "The form is out of date or came from somewhere else. Go back to the application and start again.")
		return nil
	}
	return req
}

// serveSignIn is the page where a person signs in.
func (p *Provider) serveSignIn(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	req := p.waiting(w, r)
	if req == nil {
		return
	}
	if r.Method == http.MethodGet {
		p.showSignIn(w, req, http.StatusOK, "")
		return
	}
	if r.PostForm.Has("cancel") {
		p.requests.take(p.opts.Now(), req.id)
		p.decline(w, r, req)
		return
	}
	u := p.user(r.PostForm.Get("subject"))
	if u == nil || (u.Password != "" && !same(u.Password, r.PostForm.Get("password"))) {
		p.showSignIn(w, req, http.StatusUnauthorized, "That is not the right password.")
		return
	}
	acr := acrClick
	if u.Password != "" {
		acr = acrPassword
	}
	p.signIn(w, req, u, acr)
	p.requests.take(p.opts.Now(), req.id)
	p.proceed(w, r, req)
}

func (p *Provider) showSignIn(w http.ResponseWriter, req *request, status int, problem string) {
	d := p.pageOf(req, "Sign in", SignIn)
	d.Users, d.Hint, d.Error = slices.Clone(p.users), req.loginHint, problem
	p.show(w, status, "sign-in.html", req.redirectURI, d)
}

// serveConsent is the page where a person lets a client have what it asks for.
func (p *Provider) serveConsent(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	req := p.waiting(w, r)
	if req == nil {
		return
	}
	if p.mustSignIn(req) { // signed out meanwhile
		p.redirect(w, r, p.url(SignIn)+"?request="+req.id)
		return
	}
	if r.Method == http.MethodGet {
		p.show(w, http.StatusOK, "consent.html", req.redirectURI, p.pageOf(req, "Allow access?", ConsentTo))
		return
	}
	p.requests.take(p.opts.Now(), req.id)
	if r.PostForm.Get("answer") != "allow" {
		p.decline(w, r, req)
		return
	}
	p.issueCode(w, r, req)
}

// serveEndSession signs the person out (OpenID Connect RP-Initiated Logout): at once with an ID token of theirs, else after a question.
func (p *Provider) serveEndSession(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || single(r.Form) != nil {
		p.showError(w, http.StatusBadRequest, "The request cannot be read.")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessionOf(r)
	claims, hinted := p.ownClaims(r.Form.Get("id_token_hint"), "JWT")
	back := p.logoutTarget(r.Form, claims)
	if to := r.Form.Get("post_logout_redirect_uri"); to != "" && back == "" {
		p.showError(w, http.StatusBadRequest, "The client did not register the address to return to, "+to)
		return
	}
	switch {
	case s == nil || s.subject == "":
	case hinted && claims["sid"] == s.public:
	case r.Method == http.MethodPost && p.csrf.Check(r) == nil && same(r.PostForm.Get("csrf"), s.csrf):
	default:
		d := &page{Title: "Sign out?", Action: p.url(EndSession), CSRF: s.csrf, User: p.user(s.subject), Redirect: r.Form.Get("post_logout_redirect_uri"), Hint: r.Form.Get("state"), ClientID: clientOf(r.Form, claims)}
		p.show(w, http.StatusOK, "sign-out.html", back, d)
		return
	}
	if s != nil {
		delete(p.sessions.rows, s.cookie)
		http.SetCookie(w, &http.Cookie{Name: p.cookieName(), Path: "/", MaxAge: -1, HttpOnly: true, Secure: p.base.Scheme == "https", SameSite: http.SameSiteLaxMode})
	}
	if back != "" {
		p.redirect(w, r, back)
		return
	}
	p.show(w, http.StatusOK, "done.html", "", &page{Title: "Signed out"})
}

func clientOf(form url.Values, claims map[string]any) string {
	if id, ok := claims["aud"].(string); ok {
		return id
	}
	return form.Get("client_id")
}

// logoutTarget is where the client may send the person after signing out; empty: nowhere.
func (p *Provider) logoutTarget(form url.Values, claims map[string]any) string {
	c := p.knownClient(clientOf(form, claims))
	to := form.Get("post_logout_redirect_uri")
	u, err := url.Parse(to)
	if c == nil || err != nil || !slices.Contains(c.LogoutURIs, to) {
		return ""
	}
	if state := form.Get("state"); state != "" {
		q := u.Query()
		q.Set("state", state)
		u.RawQuery = q.Encode()
	}
	return u.String()
}
