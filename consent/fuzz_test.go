package consent_test

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/seed38e7925c/parley/consent"
)

// FuzzReview: never panics; what is not refused is https or http to this computer, printable ASCII without user
// information, reads the same to net/url, is shown as it is opened, and is reviewed to itself.
func FuzzReview(f *testing.F) {
	for _, s := range []string{
		"https://www.example.co.uk:8443/a/../b?q=%41&x=%#frag", "http://localhost:1/", "http://[::1]/", "https://аpple.com/é",
		"https://github.com@evil.example", "https:host", "//h", "https://127.1/", "https://0x7f.1/", "https://[fe80::1%25x]/",
		"https://ｇoogle.com/", "https://a.test./", "javascript:alert(1)", "https://xn--80ak6aa92e.com", "https://a.test/?q=1&x=%PATH%^|",
		"-x", "https://a\\b", "https://１27.0.0.1/", "https://[::ffff:1.2.3.4]/", "https://a.test/\u202e", "https://a.test:0/", "https://a_b--c.d/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r := consent.Review(raw, options)
		if strings.ContainsFunc(r.Display.String(), unicode.IsControl) {
			t.Fatalf("display has control characters: %q", r.Display)
		}
		if r.Refused {
			if r.URL != "" || r.Worst() != consent.Refusal {
				t.Fatalf("refused, yet URL %q, worst %v", r.URL, r.Worst())
			}
			return
		}
		opened(t, raw, r)
	})
}

func opened(t *testing.T, raw string, r *consent.Result) {
	t.Helper()
	for i := range len(r.URL) {
		if c := r.URL[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}'", c) >= 0 {
			t.Fatalf("%q: %q stands in %q", raw, c, r.URL)
		}
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		t.Fatalf("%q: %q: %v", raw, r.URL, err)
	}
	if u.User != nil || u.Opaque != "" || u.Hostname() != r.Host || strings.HasSuffix(r.Host, ".") {
		t.Fatalf("%q: %q has host %q, result says %q", raw, r.URL, u.Hostname(), r.Host)
	}
	ip, err := netip.ParseAddr(r.Host)
	loopback := r.Host == "localhost" || strings.HasSuffix(r.Host, ".localhost") || err == nil && ip.IsLoopback()
	if u.Scheme != "https" && !(u.Scheme == "http" && loopback) {
		t.Fatalf("%q: %q may be opened", raw, r.URL)
	}
	if err == nil && ip.IsLinkLocalUnicast() {
		t.Fatalf("%q: link-local %q may be opened", raw, r.URL)
	}
	if r.Display.String() != r.URL || r.Display.Domain == "" || !strings.HasSuffix(r.Host, r.Domain) {
		t.Fatalf("%q: shown %q, opened %q, domain %q", raw, r.Display, r.URL, r.Domain)
	}
	if again := consent.Review(r.URL, options); again.URL != r.URL {
		t.Fatalf("%q: %q is reviewed to %q: %v", raw, r.URL, again.URL, again.Findings)
	}
}

// FuzzText: the result is valid UTF-8 within the limit, has no control, format or separator characters but newlines in
// Text, no white space at its ends, and cleans to itself.
func FuzzText(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]8;;x\x1b\\y\a", "\u009b1m\u202e\u200b", "a\r\nb\u2028\u2029c", "\x1b\x1b]\u009c", "a\u0301\u0301\u0301\u0301\u0301 \u0301",
		"\xff\xc2\x9b", "  \n a \t\n\n\n b"} {
		f.Add(s, 10)
		f.Add(s, 0)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit %= 10000
		text, line := consent.Text(s, limit), consent.Line(s, limit)
		displayable(t, strings.ReplaceAll(text, "\n", ""))
		displayable(t, line)
		if strings.Contains(text, "\n\n\n") || strings.Trim(text, " \n") != text || strings.Trim(line, " ") != line {
			t.Fatalf("white space: %q, %q", text, line)
		}
		if again := consent.Text(text, limit); again != text {
			t.Fatalf("Text of %q is %q", text, again)
		}
		if again := consent.Line(line, limit); again != line {
			t.Fatalf("Line of %q is %q", line, again)
		}
		if limit > 0 && (utf8.RuneCountInString(text) > limit || utf8.RuneCountInString(line) > limit) {
			t.Fatalf("over the limit %d: %q, %q", limit, text, line)
		}
	})
}

func displayable(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("not UTF-8: %q", s)
	}
	for _, c := range s {
		if unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs, unicode.Co) {
			t.Fatalf("%U stands in %q", c, s)
		}
	}
}
