package consent_test

import (
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/consent"
)

// reviewCase is a URL and what Review must say about it.
type reviewCase struct {
	name string
	url  string
	want string       // Result.URL; empty: refused
	code consent.Code // of a finding that must be there; empty: none but other-site may be
	sev  consent.Severity
}

var options = &consent.Options{
	Server:  "https://mcp.travel.example/mcp",
	Trusted: []string{"paypal.com", "https://accounts.google.com/o", "apple.com", "modern.example"},
}

func check(t *testing.T, cases []reviewCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := consent.Review(c.url, options)
			if r.URL != c.want || r.Refused != (c.want == "") {
				t.Errorf("URL %q, refused %v; want %q\nfindings %v", r.URL, r.Refused, c.want, r.Findings)
			}
			if c.code == "" {
				for _, f := range r.Findings {
					if f.Code != consent.CodeOtherSite {
						t.Errorf("unexpected finding %s %v", f.Code, f)
					}
				}
				return
			}
			for _, f := range r.Findings {
				if f.Code == c.code {
					if f.Severity != c.sev {
						t.Errorf("%s has severity %v, want %v", f.Code, f.Severity, c.sev)
					}
					return
				}
			}
			t.Errorf("no finding %s in %v", c.code, r.Findings)
		})
	}
}

func refused(name, url string, code consent.Code) reviewCase {
	return reviewCase{name, url, "", code, consent.Refusal}
}

func TestReviewHarmless(t *testing.T) {
	check(t, []reviewCase{
		{name: "own site", url: "https://connect.travel.example/i/1?x=y#z", want: "https://connect.travel.example/i/1?x=y#z"},
		{name: "trusted site", url: "https://accounts.google.com/o/oauth2?redirect_uri=https%3A%2F%2Fa.test%2F", want: "https://accounts.google.com/o/oauth2?redirect_uri=https%3A%2F%2Fa.test%2F"},
		{name: "other site", url: "https://other.example", want: "https://other.example"},
		{name: "case of scheme and host", url: "HTTPS://WWW.Travel.Example/A", want: "https://www.travel.example/A"},
		{name: "default port", url: "https://travel.example:443/", want: "https://travel.example/"},
		{name: "empty port", url: "https://travel.example:/", want: "https://travel.example/"},
		{name: "underscore and hyphens", url: "https://r3---a_b.other.example/", want: "https://r3---a_b.other.example/"},
		{name: "at sign in the path", url: "https://travel.example/@user", want: "https://travel.example/@user"},
		{name: "no path but a query", url: "https://travel.example?x", want: "https://travel.example/?x"},
		{name: "no path but a fragment", url: "https://travel.example#x", want: "https://travel.example/#x"},
		{name: "empty query is kept", url: "https://travel.example/?", want: "https://travel.example/?"},
		{name: "path outside ASCII", url: "https://travel.example/é?ü=1#ß", want: "https://travel.example/%C3%A9?%C3%BC=1#%C3%9F"},
		{name: "encoded control stays encoded", url: "https://travel.example/%0a%E2%80%AEx", want: "https://travel.example/%0a%E2%80%AEx"},
		{name: "site whose name sounds like a trusted one", url: "https://paypal.com.example.org.paypal.com/", want: "https://paypal.com.example.org.paypal.com/"},
	})
}

func TestThreat15Homograph(t *testing.T) {
	check(t, []reviewCase{
		{"Cyrillic letter among Latin", "https://аpple.com/", "https://xn--pple-43d.com/", consent.CodeMixedScripts, consent.Danger},
		{"the same, found as a look-alike", "https://аpple.com/", "https://xn--pple-43d.com/", consent.CodeLookalike, consent.Danger},
		{"all Cyrillic", "https://аррӏе.com/", "https://xn--80ak6aa92e.com/", consent.CodeImitation, consent.Danger},
		{"Punycode", "https://xn--80ak6aa92e.com/", "https://xn--80ak6aa92e.com/", consent.CodeLookalike, consent.Danger},
		{"digit for letter", "https://www.paypa1.com/", "https://www.paypa1.com/", consent.CodeLookalike, consent.Danger},
		{"digits for letters", "https://g00gle.com/", "https://g00gle.com/", consent.CodeLookalike, consent.Danger},
		{"rn for m", "https://rnodern.example/", "https://rnodern.example/", consent.CodeLookalike, consent.Danger},
		{"under another suffix", "https://paypa1.net/", "https://paypa1.net/", consent.CodeLookalike, consent.Danger},
		{"of the server's own domain", "https://trave1.example/", "https://trave1.example/", consent.CodeLookalike, consent.Danger},
		{"umlaut is only marked", "https://bücher.example/", "https://xn--bcher-kva.example/", consent.CodePunycode, consent.Warning},
		{"Japanese is only marked", "https://日本ひらカナ.example/", "https://xn--y9j3b8e6e154zcvb.example/", consent.CodePunycode, consent.Warning},
		{"fullwidth letters", "https://ｇoogle.com/", "https://google.com/", consent.CodeMappedHost, consent.Danger},
		{"fullwidth dot", "https://google。com/", "https://google.com/", consent.CodeMappedHost, consent.Danger},
		{"trusted name as subdomain", "https://paypal.com.evil.example/", "https://paypal.com.evil.example/", consent.CodeTrustedPrefix, consent.Danger},
		{"trusted name with a hyphen", "https://paypal.com-login.evil.example/", "https://paypal.com-login.evil.example/", consent.CodeTrustedPrefix, consent.Danger},
		refused("userinfo", "https://github.com@evil.example/", consent.CodeUserinfo),
		refused("userinfo with password", "https://github.com:443@evil.example/", consent.CodeUserinfo),
		refused("empty userinfo", "https://@evil.example/", consent.CodeUserinfo),
		refused("two at signs", "https://a@b@evil.example/", consent.CodeUserinfo),
		refused("broken Punycode", "https://xn--a.example/", consent.CodeHost),
		refused("trailing dot", "https://travel.example./", consent.CodeTrailingDot),
		refused("trailing fullwidth dot", "https://travel.example。/", consent.CodeTrailingDot),
		refused("encoded host", "https://%67oogle.com/", consent.CodeEncodedHost),
		refused("empty label", "https://a..example/", consent.CodeHost),
		refused("label too long", "https://"+strings.Repeat("a", 64)+".example/", consent.CodeHost),
		refused("slash that is none", "https://travel.example\u2044.evil.example/", consent.CodeHost),
	})
}

func TestThreat15ShowsTheDomain(t *testing.T) {
	for _, c := range []struct{ url, before, domain, after string }{
		{"https://accounts.google.com:8443/o?x", "https://accounts.", "google.com", ":8443/o?x"},
		{"https://paypal.com.evil.co.uk/", "https://paypal.com.", "evil.co.uk", "/"},
		{"https://me.github.io/x", "https://", "me.github.io", "/x"},
		{"https://8.8.8.8/", "https://", "8.8.8.8", "/"},
		{"https://[2620:fe::9]:8443/", "https://", "[2620:fe::9]", ":8443/"},
		{"http://localhost:3000/a", "http://", "localhost", ":3000/a"},
		{"https://a@evil.example/x", "https://", "evil.example", "/x"},
		{"\x1b]0;x\aweird", "", "", "weird"},
	} {
		d := consent.Review(c.url, nil).Display
		if d.Before != c.before || d.Domain != c.domain || d.After != c.after {
			t.Errorf("%s: %q %q %q, want %q %q %q", c.url, d.Before, d.Domain, d.After, c.before, c.domain, c.after)
		}
	}
}

func TestThreat16InvisibleCharacters(t *testing.T) {
	for name, c := range map[string]string{
		"RTL override": "\u202e", "isolate": "\u2066", "zero width space": "\u200b", "soft hyphen": "\u00ad", "BOM": "\ufeff",
		"tab": "\t", "newline": "\n", "space": " ", "no-break space": "\u00a0", "line separator": "\u2028",
		"variation selector": "\ufe0f", "Hangul filler": "\u3164", "tag": "\U000e0041", "NUL": "\x00", "C1": "\u009b", "DEL": "\x7f",
	} {
		for _, url := range []string{"https://tra" + c + "vel.example/", "https://travel.example/a" + c + "b", c + "https://travel.example/", "https://travel.example/" + c} {
			if r := consent.Review(url, nil); !r.Refused || !r.Has(consent.CodeCharacters) {
				t.Errorf("%s: %q: %v", name, url, r.Findings)
			}
		}
	}
	check(t, []reviewCase{refused("invalid UTF-8", "https://travel.example/\xff", consent.CodeCharacters)})
}

// TestCaseU07 covers the dangerous schemes of the case bank; TestThreat19 is the same attack.
func TestCaseU07DangerousSchemes(t *testing.T) {
	check(t, []reviewCase{
		refused("file", "file:///C:/x.hta", consent.CodeScheme),
		refused("javascript", "javascript:alert(1)", consent.CodeScheme),
		refused("javascript that looks like a host", "javascript://travel.example/%0aalert(1)", consent.CodeScheme),
		refused("data", "data:text/html,x", consent.CodeScheme),
		refused("smb", "smb://h/s", consent.CodeScheme),
		refused("search-ms", "search-ms:q", consent.CodeScheme),
		refused("vscode", "vscode://x", consent.CodeScheme),
		refused("view-source", "view-source:https://travel.example/", consent.CodeScheme),
		refused("HTTP", "HTTP://a.test", consent.CodeScheme),
		refused("leading space", " https://a.test", consent.CodeCharacters),
		refused("opaque", "https:a.test", consent.CodeNoHost),
		refused("no slashes", "https:/a.test", consent.CodeNoHost),
		refused("scheme-relative", "//a.test", consent.CodeScheme),
		refused("relative", "/a", consent.CodeScheme),
		refused("empty", "", consent.CodeMalformed),
		refused("scheme only", "https://", consent.CodeNoHost),
		refused("port only", "https://:443/", consent.CodeNoHost),
		refused("http in a private network", "http://10.0.0.1/", consent.CodeScheme),
		refused("http to a name that resolves anywhere", "http://localhost.example/", consent.CodeScheme),
		{"http to this computer", "http://localhost:1/", "http://localhost:1/", consent.CodeLoopback, consent.Danger},
	})
	local := consent.Review("http://127.0.0.1:8080/x", nil)
	if local.Refused || local.Worst() != consent.Info || local.URL != "http://127.0.0.1:8080/x" {
		t.Errorf("loopback from a local server: %+v", local)
	}
}

func TestThreat19CommandLines(t *testing.T) {
	check(t, []reviewCase{
		refused("option", "--app=https://a.test/", consent.CodeDash),
		refused("dash", "-https://a.test/", consent.CodeDash),
		refused("backslash", `https:\\a.test\x`, consent.CodeBackslash),
		refused("backslash before the host ends", `https://travel.example\@evil.example/`, consent.CodeBackslash),
		refused("command substitution in the host", "https://$(reboot).a.test/", consent.CodeHost),
		refused("bare percent in the path", "https://a.test/%PATH%", consent.CodeMalformed),
	})
	r := consent.Review("https://a.test/?q=1&calc.exe&x=%PATH%^|whoami`id`\"'<>{}", nil)
	if want := "https://a.test/?q=1&calc.exe&x=%25PATH%25%5E%7Cwhoami%60id%60%22%27%3C%3E%7B%7D"; r.URL != want {
		t.Errorf("got %s, want %s", r.URL, want)
	}
}

// TestReviewAddresses covers addresses that lead into a network of the person, and their disguises.
func TestReviewAddresses(t *testing.T) {
	var cases []reviewCase
	for _, h := range []string{"127.1", "0x7f.1", "0177.0.0.1", "2130706433", "0x7f000001", "127.0.0.01", "1.2.3.4.5", "256.1.1.1", "a.1",
		"a.0x10", "0", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "[::10.0.0.1]", "[2001::1]",
		"１27.0.0.1", "127。0。0。1"} {
		cases = append(cases, refused("disguised "+h, "https://"+h+"/", consent.CodeDisguisedIP))
	}
	for _, h := range []string{"169.254.169.254", "[fe80::1]", "0.0.0.0", "[::]", "224.0.0.1", "255.255.255.255", "[ff02::1]", "100.100.100.200",
		"[fd00:ec2::254]", "168.63.129.16"} {
		cases = append(cases, refused("forbidden "+h, "https://"+h+"/", consent.CodeForbiddenIP))
	}
	cases = append(cases,
		refused("zone", "https://[fe80::1%25eth0]/", consent.CodeZone),
		refused("metadata name", "https://metadata.google.internal/", consent.CodeMetadataHost),
		refused("IPv6 without brackets", "https://2001:db8::1/", consent.CodeMalformed),
		refused("port 0", "https://a.test:0/", consent.CodePort),
		refused("port too large", "https://a.test:65536/", consent.CodePort),
		reviewCase{"private v4", "https://192.168.1.1/", "https://192.168.1.1/", consent.CodePrivate, consent.Warning},
		reviewCase{"private v6", "https://[fd12::1]/", "https://[fd12::1]/", consent.CodePrivate, consent.Warning},
		reviewCase{"public v4", "https://9.9.9.9/", "https://9.9.9.9/", consent.CodeIP, consent.Warning},
		reviewCase{"v6 made canonical", "https://[2620:00FE:0::9]/", "https://[2620:fe::9]/", consent.CodeIP, consent.Warning},
		reviewCase{"intranet name", "https://wiki/", "https://wiki/", consent.CodePrivate, consent.Warning},
		reviewCase{"mDNS name", "https://printer.local/", "https://printer.local/", consent.CodePrivate, consent.Warning},
		reviewCase{"loopback v6", "https://[::1]:8443/", "https://[::1]:8443/", consent.CodeLoopback, consent.Danger},
		reviewCase{"odd port", "https://travel.example:8443/", "https://travel.example:8443/", consent.CodeOddPort, consent.Warning},
		reviewCase{"public suffix", "https://co.uk/", "https://co.uk/", consent.CodeSuffix, consent.Warning},
	)
	check(t, cases)
}

func TestReviewLength(t *testing.T) {
	long := "https://travel.example/" + strings.Repeat("a", 3000)
	check(t, []reviewCase{
		{"long", long, long, consent.CodeLong, consent.Warning},
		refused("too long", "https://travel.example/"+strings.Repeat("a", 9000), consent.CodeTooLong),
	})
	if r := consent.Review("https://travel.example/abc", &consent.Options{MaxLength: 20}); !r.Has(consent.CodeTooLong) {
		t.Errorf("MaxLength is not kept: %v", r.Findings)
	}
}

func TestReviewOrdersFindings(t *testing.T) {
	r := consent.Review("https://аpple.com:8443/", options)
	for i := 1; i < len(r.Findings); i++ {
		if r.Findings[i-1].Severity < r.Findings[i].Severity {
			t.Errorf("findings out of order: %v", r.Findings)
		}
	}
	if r.Worst() != consent.Danger || (&consent.Result{}).Worst() != 0 {
		t.Errorf("worst is %v", r.Worst())
	}
	if s := r.Findings[0].String(); !strings.HasPrefix(s, "danger: ") {
		t.Errorf("finding reads %q", s)
	}
}

func TestReviewOptionsTakeWhatTheyGet(t *testing.T) {
	o := &consent.Options{Server: "localhost:8080", Trusted: []string{"", "::", "http://", "not a host", "ex ample", "[::1]", "bücher.example."}}
	if r := consent.Review("http://localhost:1/", o); r.Worst() != consent.Info {
		t.Errorf("loopback link of a loopback server: %v", r.Findings)
	}
	for _, command := range []string{"travel", "bin/travel", "./travel", "/usr/bin/travel", "bin/travel.py", "go run ./travel", `C:\bin\travel.exe`, "localhost"} {
		if r := consent.Review("http://127.0.0.1:1/", &consent.Options{Server: command}); r.Worst() != consent.Info {
			t.Errorf("loopback link of the command %q: %v", command, r.Findings)
		}
	}
	for _, host := range []string{"travel.example", "travel:8080", "https://travel/", "192.0.2.1", "[2001:db8::1]"} {
		if r := consent.Review("http://127.0.0.1:1/", &consent.Options{Server: host}); r.Worst() != consent.Danger {
			t.Errorf("loopback link of the host %q: %v", host, r.Findings)
		}
	}
	if r := consent.Review("https://bùcher.example/", o); r.Has(consent.CodeLookalike) {
		t.Errorf("another accent is no look-alike by skeleton: %v", r.Findings)
	}
}
