package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

// Options adjust an interactor. Nil and the zero value mean the defaults.
type Options struct {
	// Width is the width of the output in columns. The default is that of the terminal, at most 100, and 80 where there is none.
	Width int
	// Color says whether bold and dim text is used: "always", "never", or "auto", the default: if the output is a terminal, NO_COLOR is
	// not set and TERM is not "dumb".
	Color string
	// Open opens a page that the person agreed to. Default [consent.Open]. When it fails the address is shown for copying.
	Open func(ctx context.Context, r *consent.Result) error
	// Trusted lists URLs or hosts that the person knows; names made to look like them are pointed out. See [consent.Options].
	Trusted []string
	// Model answers sampling requests, each of which the person sees and approves, as well as the answer. Nil declares no sampling.
	Model func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)
	// Roots are the directories to tell servers about; nil declares no roots.
	Roots []mcp.Root
}

// New returns an interactor that asks through in and out, usually os.Stdin and os.Stderr. At most one Options may be given.
//
// At the end of the input, Ctrl-D on a terminal cancels the question. Where in is no terminal its end means that nobody is there, and
// the question fails with [mcp.ErrUnavailable], as it does when out cannot be written to.
//
// Reads of in cannot be interrupted: one that is under way when a question is withdrawn goes on, and what it reads is dropped on a
// terminal, and the first answer to the next question elsewhere. Nothing else may read from in meanwhile.
func New(in io.Reader, out io.Writer, o ...*Options) *mcp.Interactor {
	p := &person{in: newLines(in), out: out}
	if len(o) > 0 && o[0] != nil {
		p.opts = *o[0]
	}
	if p.opts.Open == nil {
		p.opts.Open = consent.Open
	}
	p.bold = p.colors()
	i := &mcp.Interactor{Form: p.form, Open: p.open, Completed: p.completed, Wait: p.wait}
	if p.opts.Model != nil {
		i.Sample = p.sample
	}
	if p.opts.Roots != nil {
		roots := slices.Clone(p.opts.Roots)
		i.Roots = func(context.Context) ([]mcp.Root, error) { return slices.Clone(roots), nil }
	}
	return i
}

// A person is whoever sits at the terminal.
type person struct {
	in   *lines
	out  io.Writer
	opts Options
	bold bool
}

func (p *person) colors() bool {
	switch p.opts.Color {
	case "always":
		return true
	case "never":
		return false
	}
	_, dull := os.LookupEnv("NO_COLOR")
	return isTerminal(p.out) && !dull && os.Getenv("TERM") != "dumb"
}

// isTerminal reports whether a reader or writer is a terminal: a file, or what stands for one.
func isTerminal(v any) bool {
	f, ok := v.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

func (p *person) width() int {
	if p.opts.Width > 0 {
		return max(p.opts.Width, 20)
	}
	if f, ok := p.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return min(max(w, 20), 100)
		}
	}
	return 80
}

// errWay is what leads out of a dialog without an answer.
var (
	errMenu   = errors.New("to the menu")
	errCancel = errors.New("cancelled")
)

// ask shows a prompt, which must hold no text of a server, and returns the line that the person types. Esc is errMenu, the end of the
// input errCancel.
func (p *person) ask(ctx context.Context, prompt string) (string, error) {
	if err := p.write(p.strong(p.fit(prompt, 8) + " › ")); err != nil {
		return "", err
	}
	line, err := p.in.read(ctx)
	switch {
	case ctx.Err() != nil:
		return "", errors.Join(context.Cause(ctx), p.write("\n(The question was taken back. Nothing was sent.)\n"))
	case errors.Is(err, io.EOF) && p.in.terminal:
		return "", errors.Join(errCancel, p.write("\n"))
	case errors.Is(err, io.EOF):
		return "", fmt.Errorf("%w: the input ended before the question was answered", mcp.ErrUnavailable)
	case errors.Is(err, errLong):
		if err := p.write(p.bar("! That was too long. Please try again.")); err != nil {
			return "", err
		}
		return p.ask(ctx, prompt)
	case err != nil:
		return "", fmt.Errorf("%w: reading the answer: %w", mcp.ErrUnavailable, err)
	}
	if !p.in.terminal {
		_ = p.write("\n") // what is typed into a pipe is not echoed; a failure shows at the next write
	}
	if line != "" && strings.Trim(line, "\x1b") == "" {
		return "", errMenu
	}
	return line, nil
}

// begin waits until what was typed for a withdrawn question is out of the way.
func (p *person) begin(ctx context.Context) error {
	for p.in.stale() {
		if _, err := p.ask(ctx, "There is another question. Press Enter to see it"); err != nil && !errors.Is(err, errMenu) {
			return err
		}
	}
	return nil
}

// fit wraps our own text, leaving some columns free.
func (p *person) fit(text string, free int) string {
	return strings.ReplaceAll(strings.Join(wrap(text, p.width()-free), "\n"), tie, " ")
}

// tie is a space at which no line is broken.
const tie = "\u00a0"

// keys lists what can be typed and what it does, two by two. Each pair stays on one line where that is wide enough.
func keys(pairs ...string) string {
	items := make([]string, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		items = append(items, strings.ReplaceAll(pairs[i]+" = "+pairs[i+1], " ", tie))
	}
	return strings.Join(items, ", ")
}

func (p *person) write(s string) error {
	if _, err := io.WriteString(p.out, s); err != nil {
		return fmt.Errorf("%w: the question could not be shown: %w", mcp.ErrUnavailable, err)
	}
	return nil
}

// result makes the interactor's answer of how a dialog ended.
func (p *person) result(res *mcp.ElicitResult, err error) (*mcp.ElicitResult, error) {
	switch {
	case errors.Is(err, errCancel):
		return &mcp.ElicitResult{Action: mcp.ActionCancel}, p.write(p.quiet("Cancelled.") + "\n\n")
	case err != nil:
		return nil, err
	case res.Action == mcp.ActionDecline:
		return res, p.write(p.quiet("Declined.") + "\n\n")
	case res.Action == mcp.ActionCancel:
		return res, p.write(p.quiet("Cancelled.") + "\n\n")
	}
	return res, p.write("\n")
}
