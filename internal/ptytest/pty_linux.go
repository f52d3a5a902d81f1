// Package ptytest opens pseudo-terminals, for tests of what talks to a terminal.
package ptytest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A Terminal is a terminal with a person at it: a test, which types and reads the screen.
type Terminal struct {
	// TTY is the program's side.
	TTY *os.File

	t      testing.TB
	master *os.File

	mu      sync.Mutex
	changed *sync.Cond
	screen  strings.Builder
	seen    int // how much of the screen Expect has passed
	closed  bool
}

// Open opens a terminal of 80 columns and 24 lines. The test is skipped where the system has none to give.
func Open(t testing.TB) *Terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	master := os.NewFile(uintptr(fd), "/dev/ptmx") // not blocking, so that closing it ends a read
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	p := &Terminal{TTY: tty, t: t, master: master}
	p.changed = sync.NewCond(&p.mu)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.read()
	}()
	t.Cleanup(func() {
		_ = master.Close() // first: it ends what still reads from the terminal
		_ = tty.Close()
		<-done
	})
	return p
}

func (p *Terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := p.master.Read(buf)
		p.mu.Lock()
		p.screen.Write(buf[:n])
		p.closed = err != nil
		p.changed.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Type types text, as it is.
func (p *Terminal) Type(text string) {
	p.t.Helper()
	if _, err := p.master.WriteString(text); err != nil {
		p.t.Errorf("typing %q: %v", text, err)
	}
}

// Expect waits until text appears on the screen after what was expected before, and returns what stood in between. It gives up after ten
// seconds.
func (p *Terminal) Expect(text string) string {
	p.t.Helper()
	late := false
	timer := time.AfterFunc(10*time.Second, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		late = true
		p.changed.Broadcast()
	})
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		rest := p.screen.String()[p.seen:]
		if i := strings.Index(rest, text); i >= 0 {
			p.seen += i + len(text)
			return rest[:i]
		}
		if late || p.closed {
			p.t.Fatalf("%q does not appear; the screen is\n%s", text, p.screen.String())
		}
		p.changed.Wait()
	}
}

// Screen returns everything that was written so far.
func (p *Terminal) Screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.screen.String()
}
