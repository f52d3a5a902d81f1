package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/interactor/web"
	"github.com/seed38e7925c/parley/mcp"
)

var about = mcp.Asked{Server: mcp.Implementation{Name: "travel", Title: "Travel desk", Version: "1.4.0"}, Origin: "https://travel.example/mcp",
	Method: mcp.MethodToolsCall, Name: "book", Round: 1}

// A browser plays the person's browser: steps run against the page of a question once it is shown.
type browser struct {
	t    *testing.T
	page string
}

func (b *browser) do(method, page, body string, header ...string) (int, http.Header, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, page, strings.NewReader(body))
	if err != nil {
		b.t.Error(err)
		return 0, nil, ""
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		b.t.Error(err)
		return 0, nil, ""
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(text)
}

func (b *browser) get() string {
	b.t.Helper()
	status, _, text := b.do("GET", b.page, "")
	if status != 200 {
		b.t.Errorf("GET: %d %s", status, text)
	}
	return text
}

func (b *browser) post(status int, values url.Values) string {
	b.t.Helper()
	got, _, text := b.do("POST", b.page, values.Encode())
	if got != status {
		b.t.Errorf("POST %v: %d, want %d\n%s", values, got, status, text)
	}
	return text
}

// show returns options under which each question's page is visited by steps.
func show(t *testing.T, steps func(b *browser)) *web.Options {
	var done sync.WaitGroup
	t.Cleanup(done.Wait)
	return &web.Options{Show: func(_ context.Context, page string) error {
		done.Go(func() { steps(&browser{t, page}) })
		return nil
	}}
}

func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

func n(i int) *int { return &i }

func testForm(t *testing.T) *form.Form {
	t.Helper()
	many := form.Field{Name: "town", Kind: form.Choice}
	for _, s := range strings.Fields("a b c d e f g h") {
		many.Options = append(many.Options, form.Option{Value: s, Title: "Town " + s})
	}
	f, err := form.New(
		form.Field{Name: "class", Title: "Class", Description: "of the carriage", Kind: form.Choice, Required: true, Default: []byte(`"second"`),
			Options: []form.Option{{Value: "first", Title: "First class"}, {Value: "second"}}},
		form.Field{Name: "name/~", Title: "Name", Required: true, MinLength: n(2), Default: []byte(`"Bob"`)},
		form.Field{Name: "quiet", Kind: form.Boolean},
		form.Field{Name: "age", Kind: form.Integer, Minimum: "0", Maximum: "120"},
		form.Field{Name: "weight", Kind: form.Number},
		form.Field{Name: "extras", Kind: form.MultiChoice, MaxItems: n(1), Default: []byte(`["meal"]`), Options: []form.Option{{Value: "bike"}, {Value: "meal"}}},
		many,
		form.Field{Name: "mail", Format: "email"}, form.Field{Name: "day", Format: "date"}, form.Field{Name: "site", Format: "uri", Pattern: "^h"},
	)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestForm(t *testing.T) {
	in := web.New(show(t, func(b *browser) {
		has(t, b.get(), "<span>https://travel.example/mcp</span> asks you something", "Travel desk (travel) 1.4.0", "tools/call book", "Where would",
			"of the carriage", `value="1" checked> <span>second</span>`, `value="Bob"`, "No answer", `inputmode="numeric"`, `inputmode="decimal"`, `<option value="0">Town a`,
			`type="date"`, `inputmode="email"`, "A whole number, 0 to 120", "At least 2 characters", `value="1" checked> <span>meal</span>`, "Any of these, at most 1 of them", "Of the form ^h")
		has(t, b.post(422, url.Values{"choice": {"accept"}, "f0": {"7"}, "f1": {"x"}, "f3": {"many"}, "f5": {"0", "1"}, "f6": {"x"}}),
			"Some answers do not fit", "please choose one of the options", "must be a whole number", `value="x"`, `value="many"`, `class="bad"`)
		has(t, b.post(422, url.Values{"choice": {"accept"}, "f0": {"0"}, "f1": {"Ann"}, "f5": {"0", "1"}}), "Some answers do not fit", `class="bad"`)
		has(t, b.post(400, url.Values{"f1": {"Ann"}}), "one of the buttons", `value="Ann"`)
		has(t, b.post(200, url.Values{"choice": {"accept"}, "f0": {"0"}, "f1": {"Ann"}, "f2": {"true"}, "f3": {"42"}, "f4": {""}, "f5": {"0"}, "f6": {"7"}, "f7": {"a@b.example"}}), "Thank you")
	}))
	res, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: about, Message: "Where would\nyou sit?", Form: testForm(t)})
	want := `{"class":"first","name/~":"Ann","quiet":true,"age":42,"extras":["bike"],"town":"h","mail":"a@b.example"}`
	if err != nil || res.Action != mcp.ActionAccept || len(res.Content) != len(want) {
		t.Fatalf("%v %s %v", res, res.Content, err)
	}
}

// What the person cleared is not filled in again behind their back: an optional choice can be "No answer", a list "none", and of a default
// that counts when a field is left empty the page says so.
func TestClearedAnswers(t *testing.T) {
	options := func(n int) (all []form.Option) {
		for i := range n {
			all = append(all, form.Option{Value: "v" + string(rune('a'+i))})
		}
		return all
	}
	f, err := form.New(
		form.Field{Name: "few", Kind: form.Choice, Options: options(3)}, form.Field{Name: "many", Kind: form.Choice, Options: options(9)},
		form.Field{Name: "list", Kind: form.MultiChoice, Options: options(3), Default: []byte(`["va"]`)},
		form.Field{Name: "text", Default: []byte(`"hello"`)}, form.Field{Name: "must", Kind: form.Choice, Required: true, Options: options(9)},
		form.Field{Name: "name", Required: true, Default: []byte(`"Bob"`)},
	)
	if err != nil {
		t.Fatal(err)
	}
	in := web.New(show(t, func(b *browser) {
		page := b.get()
		has(t, page, `name="f0" value="" checked> <span>No answer`, `<option value="" selected>No answer`, `<option value="" selected>Please choose`, "If left empty: hello")
		if n := strings.Count(page, "Please choose"); n != 1 {
			t.Errorf("%d times Please choose", n)
		}
		has(t, b.post(422, url.Values{"choice": {"accept"}, "f3": {""}, "f4": {"8"}, "f5": {" "}}), "name needs an answer")
		b.post(200, url.Values{"choice": {"accept"}, "f0": {""}, "f1": {""}, "f3": {""}, "f4": {"8"}, "f5": {"Ann"}})
	}))
	res, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: about, Message: "Which?", Form: f})
	if want := `{"list":[],"must":"vi","name":"Ann","text":"hello"}`; err != nil || string(res.Content) != want {
		t.Errorf("%s, want %s, %v", res.Content, want, err)
	}
}

func TestOtherAnswers(t *testing.T) {
	empty, _ := form.New()
	secret, _ := form.New(form.Field{Name: "password", Required: true})
	for choice, want := range map[string]mcp.Action{"decline": mcp.ActionDecline, "cancel": mcp.ActionCancel, "accept": mcp.ActionAccept} {
		in := web.New(show(t, func(b *browser) {
			has(t, b.get(), ">Yes</button>", ">No</button>")
			b.post(200, url.Values{"choice": {choice}})
		}))
		if res, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: about, Message: "Sure?", Form: empty}); err != nil || res.Action != want {
			t.Errorf("%v %v", res, err)
		}
	}
	in := web.New(show(t, func(b *browser) {
		has(t, b.get(), "looks like a secret", "The last answer was not accepted: too short", "A server</span> asks")
		b.post(200, url.Values{"choice": {"decline"}})
	}))
	if _, err := in.Form(t.Context(), &mcp.FormQuestion{Form: secret, Problem: errors.New("too short")}); err != nil {
		t.Error(err)
	}
}

func TestURL(t *testing.T) {
	in := web.New(show(t, func(b *browser) {
		has(t, b.get(), "asks you to open a page", "https://pay.<strong>example.com</strong>/a?b=%22", "The site is <strong>example.com</strong>")
		b.post(400, url.Values{})
		has(t, b.post(200, url.Values{"choice": {"accept"}}), `http-equiv="refresh" content="0; url=https://pay.example.com/a?b=%22&amp;c"`, `href="https://pay.example.com/a?b=%22&amp;c"`)
	}))
	if res, err := in.Open(t.Context(), &mcp.OpenQuestion{Asked: about, Message: "Pay", URL: `https://pay.example.com/a?b=%22&c`}); err != nil || res.Action != mcp.ActionAccept || res.Content != nil {
		t.Errorf("%v %v", res, err)
	}
	// Threat 15: a look-alike is not a click away.
	in = web.New(show(t, func(b *browser) {
		has(t, b.get(), "xn--", `name="sure"`, `class="danger"`)
		has(t, b.post(400, url.Values{"choice": {"accept"}}), "tick the box")
		b.post(200, url.Values{"choice": {"accept"}, "sure": {"yes"}})
	}))
	if res, err := in.Open(t.Context(), &mcp.OpenQuestion{Asked: about, URL: "https://tr\u0430vel.example/"}); err != nil || res.Action != mcp.ActionAccept {
		t.Errorf("%v %v", res, err)
	}
	// Threat 19: what must not be opened cannot be.
	in = web.New(show(t, func(b *browser) {
		text := b.get()
		has(t, text, "must not be opened")
		if strings.Contains(text, "href=\"javascript") || strings.Contains(text, `value="accept"`) {
			t.Error(text)
		}
		b.post(403, url.Values{"choice": {"accept"}, "sure": {"yes"}})
		b.post(200, url.Values{"choice": {"cancel"}})
	}))
	if res, err := in.Open(t.Context(), &mcp.OpenQuestion{Asked: about, URL: "javascript:alert(1)"}); err != nil || res.Action != mcp.ActionCancel {
		t.Errorf("%v %v", res, err)
	}
}

func TestWaitingForAPage(t *testing.T) {
	q := &mcp.OpenQuestion{Asked: about, Message: "Please pay.", URL: "https://pay.example.com/x"}
	for choice, want := range map[string]error{"accept": nil, "cancel": mcp.ErrCanceled} {
		in := web.New(show(t, func(b *browser) {
			has(t, b.get(), "done at <strong>example.com</strong>", "Please pay.")
			has(t, b.post(400, url.Values{}), "one of the buttons")
			b.post(200, url.Values{"choice": {choice}})
		}))
		if err := in.Wait(t.Context(), q); !errors.Is(err, want) {
			t.Errorf("%s: %v", choice, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	noticed := errors.New("the server noticed")
	in := web.New(&web.Options{Show: func(context.Context, string) error { cancel(noticed); return nil }})
	if err := in.Wait(ctx, q); !errors.Is(err, noticed) {
		t.Error(err)
	}
}

func TestThePageIsForOneBrowserAndOneAnswer(t *testing.T) {
	f, _ := form.New(form.Field{Name: "a"})
	over := make(chan string, 1)
	in := web.New(show(t, func(b *browser) {
		u, _ := url.Parse(b.page)
		if len(u.Path) < 22 || u.Hostname() != "127.0.0.1" {
			t.Error(b.page)
		}
		base := "http://" + u.Host
		for _, tt := range []struct {
			method, page, body string
			header             []string
			status             int
		}{
			{"GET", base + "/", "", nil, 404},
			{"GET", base + "/guess", "", nil, 404},
			{"GET", b.page, "", []string{"Host", "evil.example"}, 421},
			{"GET", b.page, "", []string{"Host", "localhost:" + u.Port()}, 421},
			{"POST", b.page, "choice=accept", []string{"Sec-Fetch-Site", "cross-site"}, 403},
			{"POST", b.page, "choice=accept", []string{"Origin", "https://evil.example"}, 403},
			{"POST", b.page, "choice=%zz", nil, 400},
			{"PUT", b.page, "choice=accept", nil, 405},
			{"GET", base + "/style.css", "", nil, 404},
		} {
			if status, _, text := b.do(tt.method, tt.page, tt.body, tt.header...); status != tt.status {
				t.Errorf("%s %s %v: %d, want %d: %s", tt.method, tt.page, tt.header, status, tt.status, text)
			}
		}
		_, h, text := b.do("GET", b.page, "")
		_, inner, ok := strings.Cut(text, "<style>")
		inner, _, closed := strings.Cut(inner, "</style>")
		if !ok || !closed || !strings.Contains(inner, "color-scheme") {
			t.Error("the page does not bring its style")
		}
		sum := sha256.Sum256([]byte(inner))
		for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"} {
			if h.Get(name) != want {
				t.Errorf("%s: %q", name, h.Get(name))
			}
		}
		if strings.Contains(text, "<script") || strings.Contains(text, "style=") {
			t.Error("script or inline style")
		}
		over <- b.page
		b.post(200, url.Values{"choice": {"accept"}, "f0": {"x"}})
	}))
	res, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: about, Form: f})
	if err != nil || string(res.Content) != `{"a":"x"}` {
		t.Errorf("%v %v", res, err)
	}
	if _, err := http.Get(<-over); err == nil {
		t.Error("the page is still there after the answer")
	}
}

func TestWithdrawnAndUnshown(t *testing.T) {
	f, _ := form.New(form.Field{Name: "a"})
	q := &mcp.FormQuestion{Asked: about, Form: f}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the server gave up")
	in := web.New(&web.Options{Show: func(context.Context, string) error { cancel(gone); return nil }})
	if _, err := in.Form(ctx, q); !errors.Is(err, gone) {
		t.Error(err)
	}
	in = web.New(&web.Options{Show: func(context.Context, string) error { return errors.New("no browser") }})
	if _, err := in.Form(t.Context(), q); !errors.Is(err, mcp.ErrUnavailable) || errors.Is(err, mcp.ErrDeclined) {
		t.Error(err)
	}
	for _, address := range []string{"0.0.0.0:0", "nonsense", "127.0.0.1:99999"} {
		if _, err := web.New(&web.Options{Address: address}).Form(t.Context(), q); !errors.Is(err, mcp.ErrUnavailable) {
			t.Errorf("%s: %v", address, err)
		}
	}
	t.Setenv("BROWSER", "none")
	told := make(chan string, 1)
	var done sync.WaitGroup
	defer done.Wait()
	in = web.New(&web.Options{Roots: []mcp.Root{{URI: "file:///a"}}, Tell: func(page string) {
		told <- page
		done.Go(func() { (&browser{t, page}).post(200, url.Values{"choice": {"cancel"}}) })
	}})
	if res, err := in.Form(t.Context(), q); err != nil || res.Action != mcp.ActionCancel || len(told) != 1 {
		t.Error(res, err)
	}
	if roots, err := in.Roots(t.Context()); err != nil || len(roots) != 1 {
		t.Error(roots, err)
	}
}

// Threats 16 to 18: text of a server is text.
func TestThreat18TextOfServersIsPlain(t *testing.T) {
	nasty := "<script>alert(1)</script>\x1b[2J\u202eevil\u200b <a href=https://evil.example>x</a> [x](https://evil.example) \"'>"
	f, err := form.New(form.Field{Name: nasty, Title: nasty, Description: nasty, Kind: form.Choice, Options: []form.Option{{Value: nasty, Title: nasty}}},
		form.Field{Name: "d", Default: []byte(`"\"><script>alert(1)</script>"`)})
	if err != nil {
		t.Fatal(err)
	}
	in := web.New(show(t, func(b *browser) {
		text := b.get()
		for _, bad := range []string{"<script", "\x1b", "\u202e", "\u200b", "<a "} {
			if strings.Contains(text, bad) {
				t.Errorf("%q in\n%s", bad, text)
			}
		}
		b.post(200, url.Values{"choice": {"accept"}, "f0": {"0"}})
	}))
	evil := mcp.Asked{Server: mcp.Implementation{Name: nasty, Title: nasty, Version: nasty}, Origin: nasty, Method: nasty, Name: nasty}
	if res, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: evil, Message: nasty, Form: f, Problem: errors.New(nasty)}); err != nil || res.Action != mcp.ActionAccept {
		t.Error(res, err)
	}
}
