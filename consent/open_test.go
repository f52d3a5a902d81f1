package consent

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestMain lets the test binary play the browser: it writes down its arguments, and fails or hangs when told to.
func TestMain(m *testing.M) {
	out := os.Getenv("CONSENT_TEST_BROWSER")
	if out == "" {
		os.Exit(m.Run())
	}
	if addr, ok := strings.CutPrefix(out, "hang:"); ok {
		if c, err := net.Dial("tcp", addr); err == nil {
			_, _ = io.Copy(io.Discard, c)
		}
		os.Exit(0)
	}
	if out == "fail" {
		os.Exit(3)
	}
	if err := os.WriteFile(out, []byte(strings.Join(os.Args[1:], "\n")), 0o600); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// browser makes the test binary the browser and says what it is to do.
func browser(t *testing.T, do string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("BROWSER is not read on windows")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", self)
	t.Setenv("CONSENT_TEST_BROWSER", do)
}

// TestCaseU08NoShell opens a URL full of what a shell would act on and looks at the arguments that arrive.
func TestCaseU08NoShell(t *testing.T) {
	out := filepath.Join(t.TempDir(), "argv")
	browser(t, out)
	r := Review("https://a.test/$(touch%20x);x?q=1&calc.exe&x=%PATH%^|whoami`id`'\"", nil)
	if err := Open(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != r.URL || strings.Count(r.URL, "\n") != 0 {
		t.Errorf("arguments %q, want one: %q", got, r.URL)
	}
}

func TestCaseU05OpeningFails(t *testing.T) {
	r := Review("https://a.test/x", nil)
	browser(t, "fail")
	err := Open(t.Context(), r)
	var open *OpenError
	if !errors.As(err, &open) || open.URL != r.URL || !strings.Contains(err.Error(), r.URL) {
		t.Errorf("got %v; want an *OpenError with the URL", err)
	}
	t.Setenv("BROWSER", "none")
	if err := Open(t.Context(), r); !errors.Is(err, ErrNoBrowser) {
		t.Errorf("got %v, want ErrNoBrowser", err)
	}
}

func TestCaseU05OpenerHangs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	browser(t, "hang:"+l.Addr().String())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Open(ctx, Review("https://a.test/", nil)) }()
	c, err := l.Accept() // the opener is running
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	if err := c.Close(); err != nil { // the opener ends
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "argv")
	browser(t, out)
	for name, r := range map[string]*Result{
		"nil":      nil,
		"zero":     {},
		"refused":  Review("javascript:alert(1)", nil),
		"altered":  {URL: "file:///etc/passwd"},
		"option":   {URL: "--app=https://a.test/"},
		"repaired": {URL: "HTTPS://A.test"},
	} {
		var open *OpenError
		if err := Open(t.Context(), r); !errors.Is(err, ErrRefused) || !errors.As(err, &open) || open.URL != "" {
			t.Errorf("%s: got %v, want ErrRefused", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Open(ctx, Review("https://a.test/", nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a browser was started")
	}
}

func TestOpener(t *testing.T) {
	for _, c := range []struct {
		name, goos string
		env        string // NAME=value pairs, comma between
		installed  string
		want       string // arguments, or the error after "!"
	}{
		{"windows", "windows", `SystemRoot=C:\Windows,BROWSER=evil`, "", `C:\Windows\System32\rundll32.exe url.dll,FileProtocolHandler`},
		{"windows without a root", "windows", "", "", "!SystemRoot"},
		{"mac", "darwin", "", "", "/usr/bin/open"},
		{"mac with BROWSER", "darwin", "BROWSER=firefox", "firefox", "/bin/firefox"},
		{"linux", "linux", "DISPLAY=:0", "xdg-open gio", "/bin/xdg-open"},
		{"wayland", "linux", "WAYLAND_DISPLAY=w", "gio", "/bin/gio open"},
		{"bsd", "freebsd", "DISPLAY=:0", "x-www-browser", "/bin/x-www-browser"},
		{"no screen", "linux", "", "xdg-open", "!no screen"},
		{"nothing installed", "linux", "DISPLAY=:0", "", "!neither"},
		{"BROWSER without a screen", "linux", "BROWSER=code-helper", "code-helper", "/bin/code-helper"},
		{"first of BROWSER that is there", "linux", "BROWSER=a:b:c", "b c", "/bin/b"},
		{"BROWSER with arguments", "linux", "BROWSER=sh -c %s:b", "sh b", "/bin/b"},
		{"BROWSER with an option", "linux", "BROWSER=-x,DISPLAY=:0", "-x xdg-open", "/bin/xdg-open"},
		{"BROWSER not there", "linux", "BROWSER=a,DISPLAY=:0", "xdg-open", "/bin/xdg-open"},
		{"BROWSER none", "linux", "BROWSER=none,DISPLAY=:0", "xdg-open", "!none"},
		{"BROWSER none on a mac", "darwin", "BROWSER=none", "", "!none"},
		{"wsl", "linux", "WSL_DISTRO_NAME=Debian", "wslview", "/bin/wslview"},
		{"wsl without wslview", "linux", "WSL_DISTRO_NAME=Debian", "", "!no screen"},
		{"plan9", "plan9", "", "", "!not supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := func(name string) string {
				for pair := range strings.SplitSeq(c.env, ",") {
					if value, ok := strings.CutPrefix(pair, name+"="); ok {
						return value
					}
				}
				return ""
			}
			look := func(name string) (string, error) {
				for have := range strings.FieldsSeq(c.installed) {
					if have == name {
						return "/bin/" + name, nil
					}
				}
				return "", exec.ErrNotFound
			}
			argv, err := opener(c.goos, env, look)
			if reason, ok := strings.CutPrefix(c.want, "!"); ok {
				if !errors.Is(err, ErrNoBrowser) || !strings.Contains(err.Error(), reason) {
					t.Errorf("got %v, %v; want an error with %q", argv, err, reason)
				}
				return
			}
			if got := strings.Join(argv, " "); err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
