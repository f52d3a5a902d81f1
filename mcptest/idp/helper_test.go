package idp_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-json-experiment/json"
	"github.com/seed38e7925c/parley/mcptest/idp"
	"golang.org/x/net/html"
)

type (
	doc = map[string]any
	jwk = jose.JSONWebKey
)

// post sends a form and returns the status and the JSON object of the answer.
func post(t *testing.T, endpoint string, form url.Values, header ...string) (int, doc) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return send(t, req)
}

func send(t *testing.T, req *http.Request) (int, doc) {
	t.Helper()
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out := doc{}
	if err := json.UnmarshalRead(resp.Body, &out); err != nil && resp.StatusCode != 200 {
		t.Fatalf("status %d, no JSON: %v", resp.StatusCode, err)
	}
	return resp.StatusCode, out
}

// refused demands an OAuth error.
func refused(t *testing.T, what, code string, status int, d doc) {
	t.Helper()
	if status < 400 || d["error"] != code {
		t.Errorf("%s: expected %s, got status %d, %v", what, code, status, d)
	}
}

// claims reads a JWT without checking it.
func claims(t *testing.T, token any) doc {
	t.Helper()
	s, _ := token.(string)
	tok, err := jwt.ParseSigned(s, []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.EdDSA})
	if err != nil {
		t.Fatalf("%v: %v", token, err)
	}
	out := doc{}
	if err := tok.UnsafeClaimsWithoutVerification(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// A signer makes JWTs of others.
type signer struct {
	t   *testing.T
	key *ecdsa.PrivateKey
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{t, key}
}

func (s *signer) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: s.key.Public(), KeyID: "k", Algorithm: "ES256"}
}

func (s *signer) sign(typ string, embed bool, claims doc) string {
	s.t.Helper()
	o := (&jose.SignerOptions{EmbedJWK: embed}).WithType(jose.ContentType(typ))
	sig, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: s.key}, o)
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := jwt.Signed(sig).Claims(claims).Serialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// with is a copy of claims with changes; nil removes one.
func with(c doc, changes doc) doc {
	out := doc{}
	for k, v := range c {
		out[k] = v
	}
	for k, v := range changes {
		if out[k] = v; v == nil {
			delete(out, k)
		}
	}
	return out
}

func unix(d time.Duration) int64 { return time.Now().Add(d).Unix() }

// A browser shows pages and sends their forms, for a person.
type browser struct {
	t      *testing.T
	client *http.Client
	jar    *cookiejar.Jar
	at     *url.URL // where the page is from
	page   *html.Node
	resp   *http.Response
	text   string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, jar: jar}
	b.client = &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return b
}

// do follows redirects until a page, or until one that leads to the callback of a client, which it returns.
func (b *browser) do(req *http.Request) url.Values {
	b.t.Helper()
	for range 10 {
		resp, err := b.client.Do(req)
		if err != nil {
			b.t.Fatal(err)
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(resp.Body); err != nil {
			b.t.Fatal(err)
		}
		resp.Body.Close()
		b.resp, b.at, b.text = resp, req.URL, body.String()
		if b.page, err = html.Parse(&body); err != nil {
			b.t.Fatal(err)
		}
		to := resp.Header.Get("Location")
		if to == "" {
			return nil
		}
		u, err := req.URL.Parse(to)
		if err != nil {
			b.t.Fatal(err)
		}
		if u.Host != req.URL.Host {
			return u.Query()
		}
		if req, err = http.NewRequestWithContext(b.t.Context(), http.MethodGet, u.String(), nil); err != nil {
			b.t.Fatal(err)
		}
	}
	b.t.Fatal("redirects without an end")
	return nil
}

func (b *browser) open(u string) url.Values {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, u, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(req)
}

// submit sends a form as from a page of an origin.
func (b *browser) submit(action string, form url.Values, origin string) url.Values {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, action, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", origin)
	return b.do(req)
}

// press finds the button with a text and sends its form; fill overrides fields.
func (b *browser) press(label string, fill url.Values) url.Values {
	b.t.Helper()
	action, form := b.form(label)
	for k, v := range fill {
		form[k] = v
	}
	return b.submit(action, form, b.at.Scheme+"://"+b.at.Host)
}

// form finds the form with a button.
func (b *browser) form(label string) (action string, form url.Values) {
	b.t.Helper()
	for n := range b.page.Descendants() {
		if n.Data != "button" || !strings.HasPrefix(content(n), label) {
			continue
		}
		f := n
		for f.Data != "form" {
			f = f.Parent
		}
		form = url.Values{}
		for in := range f.Descendants() {
			if in.Data == "input" {
				form.Add(attr(in, "name"), attr(in, "value"))
			}
		}
		if name := attr(n, "name"); name != "" {
			form.Set(name, attr(n, "value"))
		}
		return attr(f, "action"), form
	}
	b.t.Fatalf("no button %q on the page\n%s", label, b.text)
	return "", nil
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func content(n *html.Node) string {
	var s strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			s.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(s.String())
}

// shows demands words of the page.
func (b *browser) shows(words ...string) {
	b.t.Helper()
	text := content(b.page)
	for _, w := range words {
		if !strings.Contains(text, w) {
			b.t.Errorf("the page does not say %q:\n%s", w, text)
		}
	}
}

const (
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // RFC 7636, appendix B
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

// asking is an authorization request for a client.
func asking(p *idp.Server, client, redirect string, changes ...string) string {
	q := url.Values{"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "state": {"st"}, "code_challenge": {challenge}, "code_challenge_method": {"S256"}}
	for i := 0; i < len(changes); i += 2 {
		if changes[i+1] == "" {
			q.Del(changes[i])
			continue
		}
		q.Set(changes[i], changes[i+1])
	}
	return p.Issuer() + idp.Authorize + "?" + q.Encode()
}

func postJSON(t *testing.T, endpoint, body string) (int, doc) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return send(t, req)
}

func reader(form url.Values) io.Reader { return strings.NewReader(form.Encode()) }

func decode(t *testing.T, r io.Reader) doc {
	t.Helper()
	out := doc{}
	if err := json.UnmarshalRead(r, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
