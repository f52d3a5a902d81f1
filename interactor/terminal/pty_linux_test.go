package terminal_test

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/interactor/terminal"
	"github.com/seed38e7925c/parley/internal/ptytest"
	"github.com/seed38e7925c/parley/mcp"
)

type answered struct {
	res *mcp.ElicitResult
	err error
}

// start puts a form to the person at a terminal.
func start(ctx context.Context, in *mcp.Interactor, f *form.Form) <-chan answered {
	done := make(chan answered, 1)
	go func() {
		res, err := in.Form(ctx, &mcp.FormQuestion{Asked: about, Message: "Where?", Form: f})
		done <- answered{res, err}
	}()
	return done
}

func TestRealTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	p := ptytest.Open(t)
	in := terminal.New(p.TTY, p.TTY)
	f, err := form.New(class, name)
	if err != nil {
		t.Fatal(err)
	}
	done := start(t.Context(), in, f)
	p.Expect("\x1b[1mhttps://travel.example/mcp asks you 2 things\x1b[0m") // bold: it is a terminal
	p.Expect("1 of 2 › ")
	p.Type("2\n")
	p.Expect("2 of 2 › ")
	// The window becomes narrower in between: what follows fits into it.
	if err := unix.IoctlSetWinsize(int(p.TTY.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 30}); err != nil {
		t.Fatal(err)
	}
	p.Type("\x1b\n")
	p.Expect("Second class")
	p.Expect("(missing)")
	p.Type("2\n")
	p.Expect("2 of 2 › ")
	p.Type("Bob\n")
	p.Expect("cancel › ") // wrapped
	p.Type("s\n")
	if got := <-done; got.err != nil || string(got.res.Content) != `{"class":"second","name":"Bob"}` {
		t.Errorf("%+v\n%s", got, p.Screen())
	}
	// Ctrl-D is the end of the input: on a terminal that is cancel, and the next question can be asked.
	for range 2 {
		done = start(t.Context(), in, f)
		p.Expect("1 of 2 › ")
		p.Type("\x04")
		if got := <-done; got.err != nil || got.res.Action != mcp.ActionCancel {
			t.Errorf("%+v\n%s", got, p.Screen())
		}
	}
}

// What was typed for a question that was withdrawn is no answer to the next one.
func TestTypedTooLate(t *testing.T) {
	p := ptytest.Open(t)
	in := terminal.New(p.TTY, p.TTY, &terminal.Options{Color: "never"})
	f, err := form.New()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := start(ctx, in, f)
	p.Expect("y = yes, n = no, c = cancel › ")
	p.Type("y") // about to say yes
	cancel()
	if got := <-done; !errors.Is(got.err, context.Canceled) {
		t.Errorf("%+v", got)
	}
	p.Expect("taken back")
	done = start(t.Context(), in, f)
	p.Expect("There is another question. Press Enter to see it › ")
	p.Type("\n") // finishes the old line
	p.Expect("y = yes, n = no, c = cancel › ")
	p.Type("n\n")
	if got := <-done; got.err != nil || got.res.Action != mcp.ActionDecline {
		t.Errorf("%+v\n%s", got, p.Screen())
	}
}
