// Package tab drives a headless Chromium: isolated tabs that look and type as people do.
package tab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience bounds one step of a tab. It is long because machines that run tests are busy.
const patience = 30 * time.Second

// names are what distributions call the browser.
var names = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}

// find returns the path of the browser: PARLEY_CHROMIUM, or what is installed.
func find() (string, error) {
	if path := os.Getenv("PARLEY_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium found")
}

// A Browser is one running Chromium. Its tabs may be used by parallel tests.
type Browser struct{ ctx context.Context } //nolint:containedctx // chromedp keeps a browser in a context

// Start starts a Chromium that ends with the test. A machine without one skips the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	path, err := find()
	if err != nil {
		t.Skip("no Chromium: run make setup, or set PARLEY_CHROMIUM")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to sandbox for root
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	return &Browser{ctx: ctx}
}

// Options are how a tab looks. The zero value is a desktop with a light page and scripts.
type Options struct {
	Width, Height int64 // of the window, in CSS pixels; 0 means 1024 by 900
	Dark          bool
	NoScript      bool
}

// A Tab is a browser of its own as far as pages can tell: it shares no cookie with others.
type Tab struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // chromedp keeps a tab in a context
}

// Tab opens a tab. It is closed with the test.
func (b *Browser) Tab(t testing.TB, o *Options) *Tab {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	width, height := o.Width, o.Height
	if width == 0 {
		width, height = 1024, 900
	}
	scheme := "light"
	if o.Dark {
		scheme = "dark"
	}
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height)); err != nil { // the first step, without a limit: it makes the tab
		t.Fatalf("opening a tab: %v", err)
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatalf("choosing colours: %v", err)
	}
	script := emulation.SetScriptExecutionDisabledParams{Value: o.NoScript}
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, script); err != nil {
		t.Fatalf("switching scripts: %v", err)
	}
	return &Tab{t: t, ctx: ctx}
}

// try runs one action within the patience of a step.
func try[T any](tab *Tab, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// run is try for what must work.
func run[T any](tab *Tab, what string, action chromedp.Action[T]) T {
	tab.t.Helper()
	value, err := try(tab, action)
	if err != nil {
		tab.t.Fatalf("%s: %v\nat %s", what, err, tab.where())
	}
	return value
}

// where describes the page, for failures.
func (tab *Tab) where() string {
	address, err := try(tab, chromedp.Location())
	if err != nil {
		return fmt.Sprintf("a page that cannot be read (%v)", err)
	}
	text, err := try(tab, chromedp.TextContent(chromedp.CSS("body")))
	if err != nil {
		text = err.Error()
	}
	return address + "\n" + text
}

// Open goes to a page and waits for it.
func (tab *Tab) Open(url string) { tab.t.Helper(); run(tab, "opening "+url, chromedp.Navigate(url)) }

// Back is the browser's button of that name.
func (tab *Tab) Back() { tab.t.Helper(); run(tab, "going back", chromedp.NavigateBack()) }

// Address returns the URL of the page.
func (tab *Tab) Address() string {
	tab.t.Helper()
	return run(tab, "reading the address", chromedp.Location())
}

// Source returns the page's HTML as it stands.
func (tab *Tab) Source() string {
	tab.t.Helper()
	return run(tab, "reading the page", chromedp.OuterHTML(chromedp.CSS("html")))
}

// Text returns what a reader sees of the first element that selector finds; it waits for one.
func (tab *Tab) Text(selector string) string {
	tab.t.Helper()
	return strings.TrimSpace(run(tab, "reading "+selector, chromedp.TextContent(chromedp.CSS(selector))))
}

// WaitFor waits until the page's main heading is heading.
func (tab *Tab) WaitFor(heading string) {
	tab.t.Helper()
	run(tab, "waiting for the heading "+heading, chromedp.WaitVisible(fmt.Sprintf(`//h1[normalize-space(.)=%q]`, heading)))
}

// WaitVisible waits until selector finds something that can be seen.
func (tab *Tab) WaitVisible(selector string) {
	tab.t.Helper()
	run(tab, "waiting for "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// WaitGone waits until selector finds nothing.
func (tab *Tab) WaitGone(selector string) {
	tab.t.Helper()
	run(tab, "waiting for the end of "+selector, chromedp.WaitNotPresent(chromedp.CSS(selector)))
}

// Has reports whether selector finds something, without waiting.
func (tab *Tab) Has(selector string) bool {
	tab.t.Helper()
	return len(run(tab, "looking for "+selector, chromedp.Nodes(chromedp.CSSAll(selector), chromedp.AtLeast(0)))) > 0
}

// Press presses the button that begins with these words.
func (tab *Tab) Press(words string) {
	tab.t.Helper()
	run(tab, "pressing "+words, chromedp.Click(fmt.Sprintf(`//button[starts-with(normalize-space(.),%q)]`, words), chromedp.NodeVisible))
}

// Follow clicks the link with these words.
func (tab *Tab) Follow(words string) {
	tab.t.Helper()
	run(tab, "following "+words, chromedp.Click(fmt.Sprintf(`//a[normalize-space(.)=%q]`, words), chromedp.NodeVisible))
}

// Type types into whatever has the focus. Keys of package kb, such as Tab and Enter, are typed like letters.
func (tab *Tab) Type(keys string) { tab.t.Helper(); run(tab, "typing", chromedp.KeyEvent(keys)) }

// Fill types text into the field that selector finds.
func (tab *Tab) Fill(selector, text string) {
	tab.t.Helper()
	run(tab, "filling "+selector, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Focused says what has the focus: the words of a button or link, the label of a field.
func (tab *Tab) Focused() string {
	tab.t.Helper()
	const expression = `(e => e === document.body ? "BODY" : (e.labels && e.labels.length ? e.labels[0].innerText : e.innerText || e.tagName).trim())(document.activeElement)`
	return run(tab, "reading the focus", chromedp.Evaluate[string](expression))
}

// TabTo moves the focus with the tabulator until it is on what Focused calls words.
func (tab *Tab) TabTo(words string) {
	tab.t.Helper()
	var passed []string
	for range 40 {
		tab.Type(kb.Tab)
		now := tab.Focused()
		if now == words {
			return
		}
		passed = append(passed, now)
	}
	tab.t.Fatalf("the tabulator does not reach %q; it passes %q\nat %s", words, passed, tab.where())
}

// Overflows reports whether the page is wider than its window.
func (tab *Tab) Overflows() bool {
	tab.t.Helper()
	return run(tab, "measuring", chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`))
}

// Screenshot writes a picture of the whole page, making folders as needed.
func (tab *Tab) Screenshot(path string) {
	tab.t.Helper()
	png := run(tab, "taking a picture", chromedp.FullScreenshot(100))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // pictures are for everybody
		tab.t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil { //nolint:gosec // pictures are for everybody
		tab.t.Fatal(err)
	}
}

// A violation is a rule of accessibility that the page breaks.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// String says what is wrong and where.
func (v violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", v.ID, v.Help)
	for _, n := range v.Nodes {
		fmt.Fprintf(&b, "\n\t%s\n\t%s", n.HTML, n.Summary)
	}
	return b.String()
}

// Accessible fails the test for each rule of axe-core, whose source is given, that the page breaks: WCAG at levels A and AA, and its
// best practices.
func (tab *Tab) Accessible(axe string) {
	tab.t.Helper()
	run(tab, "bringing the rules", chromedp.Evaluate[bool](axe+";true"))
	const expression = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(
		v => ({id: v.id, help: v.help, nodes: v.nodes.map(n => ({html: n.html, failureSummary: n.failureSummary}))})))`
	for _, v := range run(tab, "running the rules", chromedp.Evaluate[[]violation](expression, chromedp.EvalAwaitPromise)) {
		tab.t.Errorf("%s\nat %s", v, tab.Address())
	}
}
