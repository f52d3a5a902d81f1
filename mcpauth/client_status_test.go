package mcpauth_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcpauth"
)

func unsigned(claims string) string {
	return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".x"
}

func TestStatus(t *testing.T) {
	w := newWorld(t)
	w.accept = func(token string, _ *http.Request) int {
		if token != "" {
			return 200
		}
		return 401
	}
	idToken := ""
	access := "opaque"
	w.answer = func(url.Values) (int, string) {
		return 200, `{"access_token":"` + access + `","token_type":"Bearer","expires_in":3600,"refresh_token":"r","scope":"b a","id_token":"` + idToken + `"}`
	}
	for name, c := range map[string]struct{ id, access, want string }{
		"nothing said":     {"", "opaque", ""},
		"ID token":         {unsigned(`{"iss":"` + w.as.URL + `","aud":"dcr-client","sub":"ada"}`), "opaque", "ada"},
		"two audiences":    {unsigned(`{"iss":"` + w.as.URL + `","aud":["x","dcr-client"],"sub":"ada"}`), "opaque", "ada"},
		"another audience": {unsigned(`{"iss":"` + w.as.URL + `","aud":"x","sub":"ada"}`), "opaque", ""},
		"another issuer":   {unsigned(`{"iss":"https://evil.test","aud":"dcr-client","sub":"ada"}`), "opaque", ""},
		"access token":     {"", unsigned(`{"sub":"bob"}`), "bob"},
		"no JSON":          {"a.b.c", "a.b.c", ""},
	} {
		t.Run(name, func(t *testing.T) {
			idToken, access = c.id, c.access
			store := mcpauth.NewMemoryStore()
			tr := w.transport(&mcpauth.ClientOptions{Store: store})
			if s, err := tr.Status(t.Context()); s != nil || err != nil {
				t.Errorf("%+v, %v", s, err)
			}
			w.mustPost(tr)
			s := must(w.transport(&mcpauth.ClientOptions{Store: store}).Status(t.Context()))
			if s.Subject != c.want || s.Issuer != w.as.URL || s.Resource != w.url() || s.Server != w.url() || s.ClientID != "dcr-client" || !s.Renewable ||
				!slices.Equal(s.Scopes, []string{"a", "b"}) || time.Until(s.Expiry) < 50*time.Minute {
				t.Errorf("%+v", s)
			}
			all := must(mcpauth.Logins(t.Context(), store))
			if len(all) != 1 || all[0].Server != w.url() || all[0].Subject != c.want {
				t.Errorf("%+v", all)
			}
		})
	}
}

func TestDiscover(t *testing.T) {
	w := newWorld(t)
	w.prm = func() (int, any) {
		return 200, map[string]any{"resource": w.url(), "authorization_servers": []string{w.as.URL}, "scopes_supported": []string{"a"}}
	}
	d, err := w.transport(nil).Discover(t.Context(), nil)
	if err != nil || d.Resource != w.url() || d.Legacy || !slices.Equal(d.Servers, []string{w.as.URL}) || !slices.Equal(d.Scopes, []string{"a"}) || d.Metadata.Issuer != w.as.URL {
		t.Errorf("%+v, %v", d, err)
	}
	if w.asked("AS /authorize")+w.asked("AS /register") != 0 {
		t.Error("somebody was asked, or the client registered")
	}
}

func TestLogout(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		words  string
	}{{200, "", ""}, {400, `{"error":"unsupported_token_type"}`, ""}, {503, "", "503"}, {400, `{"error":"invalid_client"}`, "invalid_client"}} {
		w := newWorld(t)
		var revoked []url.Values
		as := w.as.Config.Handler
		w.as.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/revoke" {
				as.ServeHTTP(rw, r)
				return
			}
			_ = r.ParseForm()
			revoked = append(revoked, r.PostForm)
			rw.WriteHeader(c.status)
			_, _ = rw.Write([]byte(c.body))
		})
		w.meta = func() map[string]any {
			m := w.usualMeta()
			m["revocation_endpoint"] = w.as.URL + "/revoke"
			return m
		}
		store := must(mcpauth.NewFileStore(filepath.Join(t.TempDir(), "s")))
		w.mustPost(w.transport(&mcpauth.ClientOptions{Store: store}))
		err := w.transport(&mcpauth.ClientOptions{Store: store}).Logout(t.Context())
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%+v: error %v", c, err)
		}
		if len(revoked) == 0 || revoked[0].Get("token") != "refresh-1" || revoked[0].Get("token_type_hint") != "refresh_token" || revoked[0].Get("client_id") != "dcr-client" {
			t.Errorf("%+v: revoked %v", c, revoked)
		}
		if c.words == "" && (len(revoked) != 2 || revoked[1].Get("token") != "token-1") {
			t.Errorf("%+v: revoked %v", c, revoked)
		}
		if all, err := mcpauth.Logins(t.Context(), store); len(all) > 0 || err != nil {
			t.Errorf("%+v, %v", all, err)
		}
		if left := must(store.(mcpauth.Lister).Keys(t.Context())); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
	w := newWorld(t)
	if err := w.transport(nil).Logout(t.Context()); err != nil {
		t.Error(err)
	}
}

// A revocation endpoint that appears elsewhere together with another token endpoint gets nothing.
func TestCaseA14RevocationMoves(t *testing.T) {
	w := newWorld(t)
	tr := w.transport(nil)
	w.mustPost(tr)
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the thief was asked") }))
	defer thief.Close()
	w.change(func() {
		w.meta = func() map[string]any {
			m := w.usualMeta()
			m["token_endpoint"], m["revocation_endpoint"] = thief.URL+"/t", thief.URL+"/r"
			return m
		}
	})
	if err := tr.Logout(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClientDocument(t *testing.T) {
	o := &mcpauth.ClientOptions{ClientMetadataURL: "https://host.test/client.json", ClientName: "Host"}
	var doc map[string]any
	if err := json.Unmarshal(must(mcpauth.ClientDocument(o, "http://127.0.0.1/callback")), &doc); err != nil {
		t.Fatal(err)
	}
	if doc["client_id"] != o.ClientMetadataURL || doc["application_type"] != "native" || doc["token_endpoint_auth_method"] != "none" || doc["client_name"] != "Host" {
		t.Errorf("%v", doc)
	}
	for _, o := range []*mcpauth.ClientOptions{nil, {}, {ClientMetadataURL: "https://h/x", FetchTimeout: -1}} {
		if _, err := mcpauth.ClientDocument(o, "http://127.0.0.1/"); err == nil {
			t.Error("no error")
		}
	}
	if _, err := mcpauth.ClientDocument(o); err == nil {
		t.Error("no error")
	}
}
