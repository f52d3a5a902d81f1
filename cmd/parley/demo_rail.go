package main

import (
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"

	"github.com/seed38e7925c/parley/internal/loopback"
	"github.com/seed38e7925c/parley/mcptest/idp"
	"github.com/seed38e7925c/parley/mcptest/railway"
)

// railAccess is what the demo's server knows about the railway company.
type railAccess struct {
	Issuer  string // where people sign in there
	API     string
	KeyPage string // where people find their API key
	Secret  string // the server's own registration there; empty for a public client
}

// railClient is the server's registration at the railway company.
const railClient = "travel-desk"

// A railAG is another company: people have accounts there, and API keys, which are no business of the demo's host.
type railAG struct {
	people *idp.Server
	site   *loopback.Server
	key    string // of Alice
}

// startRailAG starts the company on free ports of the loopback interface. redirect is where it sends people back to the demo's server.
func startRailAG() (*railAG, error) {
	site, err := loopback.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	people, err := idp.Listen("127.0.0.1:0", &idp.Options{
		Name:      "Rail AG",
		Users:     []idp.User{{Subject: "r-4711", Name: "Alice", Email: "alice@rail-ag.example"}, {Subject: "r-4712", Name: "Bob", Email: "bob@rail-ag.example"}},
		Resources: []idp.Resource{{URI: site.URL(), Scopes: []string{railway.ScopeRead, railway.ScopeBook}}},
	})
	if err != nil {
		site.Close()
		return nil, err
	}
	r := &railAG{people: people, site: site, key: "rk_demo_" + rand.Text()}
	api := railway.New(&railway.Options{URL: site.URL(), Check: people.Check, Keys: map[string]string{r.key: "alice"}})
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.HandleFunc("GET /account/key", r.showKey)
	site.Serve(mux)
	return r, nil
}

// register makes the demo's server known to the company, and returns what it is told in turn. secret is empty for a server on somebody's
// own computer, which can keep none.
func (r *railAG) register(redirect, secret string) (*railAccess, error) {
	c := &idp.Client{ID: railClient, Name: "Travel desk", Secret: secret, RedirectURIs: []string{redirect}}
	if err := r.people.AddClient(c); err != nil {
		return nil, err
	}
	return &railAccess{Issuer: r.people.Issuer(), API: r.site.URL(), KeyPage: r.site.URL() + "/account/key", Secret: secret}, nil
}

// Close ends the company and waits until it has ended.
func (r *railAG) Close() {
	r.people.Close()
	r.site.Close()
}

//go:embed demo_key.html
var keyPageSource string

//go:embed demo_key.css
var keyPageStyle string

// The style is part of the page; the policy names its digest.
var (
	keyPage = template.Must(template.New("demo_key.html").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(keyPageStyle) },
	}).Parse(keyPageSource))
	keyPageSum    = sha256.Sum256([]byte(keyPageStyle))
	keyPagePolicy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(keyPageSum[:]) + "'; frame-ancestors 'none'; base-uri 'none'"
)

// showKey shows the API key to its owner, who need not prove that here.
func (r *railAG) showKey(w http.ResponseWriter, req *http.Request) {
	if "http://"+req.Host != r.site.URL() { // a name that somebody else made to lead here
		http.Error(w, "this page is not here", http.StatusMisdirectedRequest)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", keyPagePolicy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	_ = keyPage.Execute(w, r.key) // fails only when the browser is gone
}
