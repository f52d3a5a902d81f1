package idp_test

import (
	"crypto"
	"encoding/base64"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcptest/idp"
)

func thumbprint(t *testing.T, k jwk) string {
	t.Helper()
	sum, err := k.Thumbprint(crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// A proof of possession binds the tokens of its request; a proof that is wrong in any way is refused.
func TestDPoP(t *testing.T) {
	p := idp.Start(t, &idp.Options{Auto: auto, Clients: []idp.Client{app}, RequireDPoP: true})
	keys, foreign := newSigner(t), newSigner(t)
	endpoint := p.Issuer() + idp.Token
	good := doc{"jti": "0", "htm": "POST", "htu": endpoint, "iat": unix(0)}
	for name, c := range map[string]struct {
		typ     string
		embed   bool
		changes doc
	}{
		"another type":     {"JWT", true, nil},
		"no key":           {"dpop+jwt", false, nil},
		"another method":   {"dpop+jwt", true, doc{"htm": "GET"}},
		"another endpoint": {"dpop+jwt", true, doc{"htu": p.Issuer() + idp.UserInfo}},
		"another host":     {"dpop+jwt", true, doc{"htu": "https://else.example" + idp.Token}},
		"with a query":     {"dpop+jwt", true, doc{"htu": endpoint + "?x"}},
		"no jti":           {"dpop+jwt", true, doc{"jti": nil}},
		"no iat":           {"dpop+jwt", true, doc{"iat": nil}},
		"old":              {"dpop+jwt", true, doc{"iat": unix(-10 * time.Minute)}},
		"of tomorrow":      {"dpop+jwt", true, doc{"iat": unix(10 * time.Minute)}},
	} {
		status, d := post(t, endpoint, codeFor(t, p), "DPoP", keys.sign(c.typ, c.embed, with(with(good, doc{"jti": name}), c.changes)))
		refused(t, name, "invalid_dpop_proof", status, d)
	}
	status, d := post(t, endpoint, codeFor(t, p))
	refused(t, "none at all", "invalid_dpop_proof", status, d)
	proof := keys.sign("dpop+jwt", true, good)
	status, d = post(t, endpoint, codeFor(t, p, "resource", resource), "DPoP", proof)
	if status != 200 || d["token_type"] != "DPoP" {
		t.Fatalf("status %d, %v", status, d)
	}
	jkt := thumbprint(t, keys.public())
	if cnf, _ := claims(t, d["access_token"])["cnf"].(map[string]any); cnf["jkt"] != jkt {
		t.Errorf("cnf %v", cnf)
	}
	if _, _, err := p.Check(d["access_token"].(string), resource); err == nil {
		t.Error("a bound token is taken as a bearer token")
	}
	status, again := post(t, endpoint, codeFor(t, p), "DPoP", proof)
	refused(t, "the same proof again", "invalid_dpop_proof", status, again)
	form := url.Values{"grant_type": {idp.GrantRefresh}, "client_id": {"app"}, "refresh_token": {d["refresh_token"].(string)}}
	status, again = post(t, endpoint, form, "DPoP", foreign.sign("dpop+jwt", true, with(good, doc{"jti": "r1"})))
	refused(t, "a renewal with another key", "invalid_grant", status, again)
	if status, again = post(t, endpoint, form, "DPoP", keys.sign("dpop+jwt", true, with(good, doc{"jti": "r2"}))); status != 200 {
		t.Errorf("a renewal: status %d, %v", status, again)
	}
	status, again = post(t, endpoint, codeFor(t, p, "dpop_jkt", jkt), "DPoP", foreign.sign("dpop+jwt", true, with(good, doc{"jti": "j1"})))
	refused(t, "a code for another key", "invalid_grant", status, again)
	if status, _ = post(t, endpoint, codeFor(t, p, "dpop_jkt", jkt), "DPoP", keys.sign("dpop+jwt", true, with(good, doc{"jti": "j2"}))); status != 200 {
		t.Errorf("a code for this key: status %d", status)
	}
}

// With nonces, a proof needs the one that the provider gave.
func TestDPoPNonces(t *testing.T) {
	now := time.Now()
	p := idp.Start(t, &idp.Options{Auto: auto, Clients: []idp.Client{app}, DPoPNonces: true, Now: func() time.Time { return now }})
	keys := newSigner(t)
	nonce := ""
	try := func(id, with string) string {
		t.Helper()
		claims := doc{"jti": id, "htm": "POST", "htu": p.Issuer() + idp.Token, "iat": now.Unix()}
		if with != "" {
			claims["nonce"] = with
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Issuer()+idp.Token, reader(codeFor(t, p)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("DPoP", keys.sign("dpop+jwt", true, claims))
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		nonce = resp.Header.Get("DPoP-Nonce")
		if resp.StatusCode == 200 {
			return ""
		}
		return decode(t, resp.Body)["error"].(string)
	}
	if got := try("1", ""); got != "use_dpop_nonce" || nonce == "" {
		t.Errorf("without: %q, nonce %q", got, nonce)
	}
	first := nonce
	if got := try("2", "guess"); got != "use_dpop_nonce" {
		t.Errorf("a guess: %q", got)
	}
	if got := try("3", first); got != "" {
		t.Errorf("the right one: %q", got)
	}
	now = now.Add(6 * time.Minute)
	if got := try("4", first); got != "" || nonce == first {
		t.Errorf("the one before: %q", got)
	}
	now = now.Add(6 * time.Minute)
	if got := try("5", first); got != "use_dpop_nonce" {
		t.Errorf("one of long ago: %q", got)
	}
}
