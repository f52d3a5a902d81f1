package browser_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/browser/internal/tab"
)

// A show is a run of the demo, whose questions come as pages.
type show struct {
	t     *testing.T
	pages chan string // that the host asks to open
	ended chan error
}

// hostPage is how the demo tells where its next question is.
var hostPage = regexp.MustCompile(`^http://[^\s]+$`)

// newShow runs the demo. What it prints goes to the log of the test.
func newShow(t *testing.T, args ...string) *show {
	t.Helper()
	program := filepath.Join(t.TempDir(), "parley")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/parley")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := &show{t: t, pages: make(chan string, 10), ended: make(chan error, 1)}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"demo", "--interact", "web"}, args...)...)
	cmd.Env = append(os.Environ(), "BROWSER=none")
	cmd.Stdout = t.Output()
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			t.Log(lines.Text())
			if hostPage.MatchString(lines.Text()) {
				s.pages <- lines.Text()
			}
		}
		s.ended <- cmd.Wait()
	}()
	t.Cleanup(func() { <-done })
	return s
}

// next opens the host's next question.
func (s *show) next(w *walk) {
	s.t.Helper()
	select {
	case page := <-s.pages:
		w.Open(page)
	case err := <-s.ended:
		s.t.Fatalf("the demo ended: %v", err)
	case <-time.After(time.Minute):
		s.t.Fatal("the demo asks nothing more")
	}
}

// visit agrees to open a page, and goes there.
func (s *show) visit(w *walk) {
	s.t.Helper()
	s.next(w)
	w.Press("Open the page")
}

// TestDemo plays the demo by hand, in each look, while somebody else gets each link.
func TestDemo(t *testing.T) {
	axe := rules(t)
	b := tab.Start(t)
	for look, options := range map[string]*tab.Options{"light": {}, "dark": {Dark: true}, "narrow": {Width: 320, Height: 640}} {
		t.Run(look, func(t *testing.T) {
			s := newShow(t, "--intruder")
			w := &walk{Tab: b.Tab(t, options), t: t, axe: axe, pictures: os.Getenv("PARLEY_PICTURES"), look: look}
			s.visit(w)
			w.Press("Continue as Alice")
			w.Press("Allow")

			s.next(w)
			w.seen("demo-consent")
			w.Press("Open the page")
			w.Press("Continue to 127.0.0.1")
			w.WaitFor("Travel desk needs your Rail AG API key")
			w.seen("demo-secret")
			desk := w.Address()
			w.Open(regexp.MustCompile(`http://[^"]+/account/key`).FindString(w.Source()))
			w.WaitFor("Your API key")
			w.seen("demo-key")
			key := strings.TrimSpace(w.Text("#key"))
			w.Open(desk)
			w.Fill("#f-value", key)
			w.Press("Save")
			w.WaitFor("Saved")

			s.next(w)
			w.WaitVisible("form")
			w.seen("demo-form")
			w.TabTo("At the window")
			w.Type(" ")
			w.Press("Send")

			s.visit(w)
			w.WaitFor("Connect Rail AG to Travel desk")
			w.seen("demo-grant")
			w.Press("Continue to 127.0.0.1")
			w.WaitFor("Sign in")
			w.seen("demo-rail-sign-in")
			w.Press("Continue as Alice")
			w.WaitFor("Allow access?")
			w.seen("demo-rail-consent")
			w.Press("Allow")
			w.WaitFor("Connected")
			w.seen("demo-connected")

			s.visit(w)
			w.WaitFor("Travel desk asks for your approval")
			w.seen("demo-approval")
			w.Press("Approve")
			w.WaitFor("Approved")
			select {
			case err := <-s.ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Error("the demo does not end")
			}
		})
	}
}

// TestDemoOnThisComputer: a server on standard input and output wants the code that the host shows.
func TestDemoOnThisComputer(t *testing.T) {
	axe := rules(t)
	b := tab.Start(t)
	for look, options := range map[string]*tab.Options{"light": {}, "dark": {Dark: true}, "narrow": {Width: 320, Height: 640}} {
		t.Run(look, func(t *testing.T) {
			s := newShow(t, "--stdio")
			w := &walk{Tab: b.Tab(t, options), t: t, axe: axe, pictures: os.Getenv("PARLEY_PICTURES"), look: look}
			s.next(w)
			code := regexp.MustCompile(`[0-9A-Z]{5}-[0-9A-Z]{5}`).FindString(w.Source())
			w.Press("Open the page")
			w.WaitFor("Enter the code from your app")
			w.Fill("#code", "00000-00000")
			w.Press("Continue")
			w.WaitVisible("[role=alert]")
			w.seen("code-wrong")
			w.Fill("#code", code)
			w.Press("Continue")
			w.WaitFor("Travel desk needs your Rail AG API key")
			w.Press("Decline")
			w.WaitFor("Declined")
			if err := <-s.ended; err == nil {
				t.Error("the demo ends well without a key")
			}
		})
	}
}
