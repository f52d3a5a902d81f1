package consent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

var (
	// ErrRefused is wrapped by Open's error when the URL must never be opened.
	ErrRefused = errors.New("the address must not be opened")
	// ErrNoBrowser is wrapped by Open's error when this computer has no browser that could be found, or no screen.
	ErrNoBrowser = errors.New("no browser found")
)

// OpenError says that no browser was opened. Unless it wraps ErrRefused, a host should show the URL for copying.
type OpenError struct {
	URL string // safe to show and to open elsewhere; empty when refused
	Err error
}

// Error says what happened and what to do next.
func (e *OpenError) Error() string {
	if e.URL == "" {
		return fmt.Sprintf("consent: %v", e.Err)
	}
	return fmt.Sprintf("consent: cannot open a browser (%v); open this address by hand: %s", e.Err, e.URL)
}

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// openWait bounds how long Open waits for the opener to fail. Some openers turn into the browser and never return.
const openWait = 3 * time.Second

// Open shows a reviewed URL in the person's browser. Call it only after the person agreed, never in advance.
//
// No shell is involved: the URL is one argument, which begins with "http", of xdg-open (or gio, wslview) on Linux and
// other Unix systems, open on macOS, and rundll32's url.dll on Windows. On Unix the environment variable BROWSER is
// honoured when it names programs without arguments; "none" there means that no browser is to be opened. Without a
// screen (no DISPLAY or WAYLAND_DISPLAY) nothing is started, since a browser in text mode would take over the terminal.
//
// Open returns nil once the opener has been started and has not failed within a few seconds; it cannot tell whether a page
// appeared. Otherwise the error is an *OpenError, or ctx's error when ctx ends first. A started browser outlives ctx.
// The URL is reviewed again, so that a changed Result cannot be opened.
func Open(ctx context.Context, r *Result) error {
	if r == nil || r.Refused || r.URL == "" {
		return &OpenError{Err: ErrRefused}
	}
	if again := Review(r.URL, nil); again.Refused || again.URL != r.URL {
		return &OpenError{Err: fmt.Errorf("%w: it changed after the review", ErrRefused)}
	}
	argv, err := opener(runtime.GOOS, os.Getenv, exec.LookPath)
	if err != nil {
		return &OpenError{URL: r.URL, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := start(ctx, append(argv, r.URL)); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &OpenError{URL: r.URL, Err: err}
	}
	return nil
}

// start runs the opener, its standard streams on the null device, and waits a while for it to fail.
func start(ctx context.Context, argv []string) error {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan error, 1)
	// The goroutine lives as long as the opener, which may be the browser itself: it only collects the process.
	go func() { exited <- cmd.Wait() }()
	timer := time.NewTimer(openWait)
	defer timer.Stop()
	select {
	case err := <-exited:
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(argv[0]), err)
		}
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// opener returns the program and the arguments that the URL is to follow.
func opener(goos string, env func(string) string, look func(string) (string, error)) ([]string, error) {
	switch goos {
	case "windows":
		root := env("SystemRoot")
		if root == "" {
			return nil, fmt.Errorf("%w: SystemRoot is not set", ErrNoBrowser)
		}
		return []string{root + `\System32\rundll32.exe`, "url.dll,FileProtocolHandler"}, nil
	case "darwin":
		if argv, err := fromBrowser(env("BROWSER"), look); argv != nil || err != nil {
			return argv, err
		}
		return []string{"/usr/bin/open"}, nil
	case "plan9", "js", "wasip1", "ios", "android":
		return nil, fmt.Errorf("%w: not supported on %s", ErrNoBrowser, goos)
	default:
		return unixOpener(env, look)
	}
}

func unixOpener(env func(string) string, look func(string) (string, error)) ([]string, error) {
	if argv, err := fromBrowser(env("BROWSER"), look); argv != nil || err != nil {
		return argv, err
	}
	if env("WSL_DISTRO_NAME") != "" {
		if path, err := look("wslview"); err == nil {
			return []string{path}, nil
		}
	}
	if env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "" {
		return nil, fmt.Errorf("%w: there is no screen (DISPLAY is not set)", ErrNoBrowser)
	}
	for _, argv := range [][]string{{"xdg-open"}, {"gio", "open"}, {"x-www-browser"}} {
		if path, err := look(argv[0]); err == nil {
			return append([]string{path}, argv[1:]...), nil
		}
	}
	return nil, fmt.Errorf("%w: neither xdg-open nor gio nor x-www-browser is installed", ErrNoBrowser)
}

// fromBrowser reads BROWSER, a list of programs with colons between. Entries with arguments or a "%s" would need a shell's
// rules to be taken apart, so they are passed over. It returns nil for an empty list.
func fromBrowser(list string, look func(string) (string, error)) ([]string, error) {
	if list == "none" {
		return nil, fmt.Errorf("%w: BROWSER is none", ErrNoBrowser)
	}
	for name := range strings.SplitSeq(list, ":") {
		if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n%\"'$`;&|") {
			continue
		}
		if path, err := look(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, nil
}
