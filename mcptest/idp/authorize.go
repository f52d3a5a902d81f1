package idp

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A request is an authorization request that passed its checks and waits for its person.
type request struct {
	id          string
	client      *Client
	redirectURI string
	state       string
	nonce       string
	challenge   string
	jkt         string // the key that the code is for (dpop_jkt)
	scopes      []string
	resources   []string
	prompt      []string
	loginHint   string
	maxAge      int // seconds; -1: any
	session     *session
	signedIn    bool // the person signed in for this request
}

const requestTTL = 15 * time.Minute

var challengeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// serveAuthorize is the authorization endpoint.
func (p *Provider) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		http.Error(w, "GET or POST", http.StatusMethodNotAllowed)
		return
	}
	if err := r.ParseForm(); err != nil {
		p.showError(w, http.StatusBadRequest, "The request cannot be read.")
		return
	}
	form := r.Form
	if problem := single(form, "resource"); problem != nil {
		p.showError(w, http.StatusBadRequest, problem.text)
		return
	}
	// Nobody is sent to a place that the client did not register.
	c, problem := p.client(r.Context(), form.Get("client_id"))
	if problem != nil {
		p.showError(w, http.StatusBadRequest, problem.text)
		return
	}
	if uri := form.Get("redirect_uri"); !c.redirects(uri) {
		p.showError(w, http.StatusBadRequest, "The client "+c.Name+" did not register the redirect URI "+uri)
		return
	}
	req := &request{id: newID(), client: c, redirectURI: form.Get("redirect_uri"), state: form.Get("state"), nonce: form.Get("nonce"), challenge: form.Get("code_challenge"),
		jkt: form.Get("dpop_jkt"), scopes: fields(form.Get("scope")), resources: form["resource"], prompt: fields(form.Get("prompt")), loginHint: form.Get("login_hint")}
	p.mu.Lock()
	defer p.mu.Unlock()
	if problem := p.checkRequest(req, form); problem != nil {
		p.answer(w, r, req, url.Values{"error": {problem.code}, "error_description": {problem.text}})
		return
	}
	req.session = p.sessionOf(r)
	p.proceed(w, r, req)
}

func fields(s string) []string {
	out := strings.Fields(s)
	slices.Sort(out)
	return slices.Compact(out)
}

// checkRequest checks what is reported to the client by a redirect. Callers hold the lock.
func (p *Provider) checkRequest(req *request, form url.Values) *oauthError {
	req.maxAge = -1
	if s := form.Get("max_age"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return refuse("invalid_request", "max_age must be a number of seconds")
		}
		req.maxAge = n
	}
	if problem := checkShape(form); problem != nil {
		return problem
	}
	switch {
	case !slices.Contains(req.client.Grants, GrantCode):
		return refuse("unauthorized_client", "the client is not registered for the authorization code grant")
	case form.Get("code_challenge_method") != "S256" || !challengeForm.MatchString(req.challenge):
		return refuse("invalid_request", "PKCE is needed: code_challenge_method S256 and a code_challenge of 43 characters")
	case len(req.prompt) > 1 && slices.Contains(req.prompt, "none"):
		return refuse("invalid_request", "prompt none goes with no other")
	case req.jkt != "" && !challengeForm.MatchString(req.jkt):
		return refuse("invalid_request", "dpop_jkt must be the SHA-256 thumbprint of a key")
	}
	if problem := p.checkResources(req.resources); problem != nil {
		return problem
	}
	return p.known(req.scopes)
}

// checkShape refuses the kinds of request that are not served.
func checkShape(form url.Values) *oauthError {
	switch {
	case form.Has("request"):
		return refuse("request_not_supported", "request objects are not supported")
	case form.Has("request_uri"):
		return refuse("request_uri_not_supported", "request_uri is not supported")
	case form.Get("response_type") != "code":
		return refuse("unsupported_response_type", "expected response_type code")
	case form.Get("response_mode") != "" && form.Get("response_mode") != "query":
		return refuse("invalid_request", "expected response_mode query")
	}
	return nil
}

// checkResources checks resource indicators (RFC 8707). Callers hold the lock.
func (p *Provider) checkResources(uris []string) *oauthError {
	for _, uri := range uris {
		u, err := url.Parse(uri)
		ok := err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && !strings.Contains(uri, "#")
		if len(p.resources) > 0 && uri != p.opts.Issuer {
			ok = slices.ContainsFunc(p.resources, func(r Resource) bool { return r.URI == uri })
		}
		if !ok {
			return refuse("invalid_target", "no tokens are issued for the resource %s", uri)
		}
	}
	return nil
}

// proceed does the next step of a request: signing in, consent, or the answer. Callers hold the lock.
func (p *Provider) proceed(w http.ResponseWriter, r *http.Request, req *request) {
	silent := slices.Contains(req.prompt, "none")
	if p.mustSignIn(req) {
		switch {
		case silent:
			p.answer(w, r, req, url.Values{"error": {"login_required"}})
			return
		case p.auto.SignIn != "" && p.user(p.auto.SignIn) != nil:
			p.signIn(w, req, p.user(p.auto.SignIn), acrClick)
		default:
			p.keep(w, req)
			p.redirect(w, r, p.url(SignIn)+"?request="+req.id)
			return
		}
	}
	switch {
	case !p.mustConsent(req), p.auto.Consent == Approve && !silent:
		p.issueCode(w, r, req)
	case silent:
		p.answer(w, r, req, url.Values{"error": {"consent_required"}})
	case p.auto.Consent == Decline:
		p.decline(w, r, req)
	default:
		p.keep(w, req)
		p.redirect(w, r, p.url(ConsentTo)+"?request="+req.id)
	}
}

func (p *Provider) mustSignIn(req *request) bool {
	s := req.session
	if s == nil || s.subject == "" || p.user(s.subject) == nil {
		return true
	}
	if req.signedIn {
		return false
	}
	again := slices.Contains(req.prompt, "login") || slices.Contains(req.prompt, "select_account")
	return again || (req.maxAge >= 0 && p.opts.Now().Sub(s.authTime) >= time.Duration(req.maxAge)*time.Second)
}

// consentKey names what a person agrees to: this client, this way back, these resources.
func (req *request) consentKey() string {
	return strings.Join(append([]string{req.session.subject, req.client.ID, req.redirectURI}, req.resources...), "\x00")
}

func (p *Provider) mustConsent(req *request) bool {
	if req.client.Trusted {
		return false
	}
	if slices.Contains(req.prompt, "consent") {
		return true
	}
	if req.anybody() {
		return true
	}
	agreed, ok := p.consents.get(p.opts.Now(), req.consentKey())
	return !ok || slices.ContainsFunc(req.scopes, func(s string) bool { return !slices.Contains(agreed, s) })
}

// anybody reports whether any program on the person's computer could be the client: it has no secret, and the answer goes to that
// computer. Such a request is never answered without the person (RFC 8252 section 8.6).
func (req *request) anybody() bool {
	u, err := url.Parse(req.redirectURI)
	return req.client.public() && (err != nil || u.Scheme != "https")
}

const consentTTL = 30 * 24 * time.Hour

func (p *Provider) agree(req *request) {
	now := p.opts.Now()
	agreed, _ := p.consents.get(now, req.consentKey())
	all := append(slices.Clone(agreed), req.scopes...)
	slices.Sort(all)
	p.consents.put(req.consentKey(), slices.Compact(all), now.Add(consentTTL))
}

func (p *Provider) decline(w http.ResponseWriter, r *http.Request, req *request) {
	p.answer(w, r, req, url.Values{"error": {"access_denied"}, "error_description": {"the person declined"}})
}

// keep stores the request for the pages; the browser gets a session if it has none.
func (p *Provider) keep(w http.ResponseWriter, req *request) {
	if req.session == nil {
		req.session = p.newSession(w)
	}
	p.requests.put(req.id, req, p.opts.Now().Add(requestTTL))
}

// answer sends the person back to the client (RFC 6749 section 4.1.2, RFC 9207). Callers hold the lock.
func (p *Provider) answer(w http.ResponseWriter, r *http.Request, req *request, q url.Values) {
	if req.state != "" {
		q.Set("state", req.state)
	}
	q.Set("iss", p.opts.Issuer)
	if p.lies.Callback != nil {
		p.lies.Callback(q)
	}
	u, err := url.Parse(req.redirectURI)
	if err != nil {
		p.showError(w, http.StatusBadRequest, "The redirect URI cannot be read.")
		return
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += q.Encode()
	p.redirect(w, r, u.String())
}

// redirect sends the browser on; after a form by GET.
func (p *Provider) redirect(w http.ResponseWriter, r *http.Request, to string) {
	noStore(w)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", to)
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	w.WriteHeader(http.StatusFound)
}

// issueCode answers a request with a code.
func (p *Provider) issueCode(w http.ResponseWriter, r *http.Request, req *request) {
	p.agree(req)
	s := req.session
	g := &grant{clientID: req.client.ID, subject: s.subject, scopes: req.scopes, resources: req.resources, nonce: req.nonce, authTime: s.authTime, acr: s.acr, sid: s.public,
		sub: p.subjectFor(s.subject, req.client, req.redirectURI)}
	id := newID()
	p.codes.put(id, &code{grant: g, redirectURI: req.redirectURI, challenge: req.challenge, jkt: req.jkt, expires: p.opts.Now().Add(p.opts.CodeTTL)}, p.opts.Now().Add(codeMemory))
	p.answer(w, r, req, url.Values{"code": {id}})
}

// codeMemory is how long a redeemed code is remembered, to tell when it is presented again.
const codeMemory = time.Hour
