package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"golang.org/x/term"
	"os"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

// ui writes lines and a progress bar on standard error, so that neither disturbs the other or a question.
type ui struct {
	mu     sync.Mutex
	w      io.Writer
	bar    bool // there is a terminal to draw on
	drawn  bool
	paused int
	last   mcp.Progress
	lines  []string // that came during a question
}

func newUI(w io.Writer) *ui { return &ui{w: w, bar: isTerminal(w)} }

// line writes a line, made safe to display; during a question it waits.
func (u *ui) line(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	text = ownLine(text)
	if u.paused > 0 {
		u.lines = append(u.lines, text)
		return
	}
	u.erase()
	fmt.Fprintln(u.w, text)
	u.draw()
}

// pause keeps the screen free until the returned function is called.
func (u *ui) pause() func() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.erase()
	u.paused++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.paused--; u.paused > 0 {
			return
		}
		for _, l := range u.lines {
			fmt.Fprintln(u.w, l)
		}
		u.lines = nil
		u.draw()
	}
}

// progress draws how far a request has come.
func (u *ui) progress(p mcp.Progress) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last = p
	if u.paused == 0 {
		u.erase()
		u.draw()
	}
}

// done takes the bar away.
func (u *ui) done() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.erase()
	u.last = mcp.Progress{}
}

func (u *ui) erase() {
	if u.drawn {
		fmt.Fprint(u.w, "\r\x1b[K")
		u.drawn = false
	}
}

func (u *ui) draw() {
	if !u.bar || u.last == (mcp.Progress{}) {
		return
	}
	width := columns(u.w)
	if width == 0 {
		width = 80
	}
	fmt.Fprint(u.w, progressLine(u.last, width))
	u.drawn = true
}

// columns is the width of a terminal, 0 of anything else.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// wrapped breaks a text of ours into lines that fit, at spaces; a width of 0 leaves it as it is.
func wrapped(text string, width int) string {
	if width == 0 {
		return text
	}
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

// progressLine fits into one line of a terminal.
func progressLine(p mcp.Progress, width int) string {
	text := fmt.Sprintf("%.6g", p.Done)
	if p.Total > 0 && !math.IsInf(p.Total, 0) {
		const cells = 24
		part := min(max(p.Done/p.Total, 0), 1)
		filled := int(part * cells)
		text = fmt.Sprintf("[%s%s] %3.0f%%", strings.Repeat("#", filled), strings.Repeat("-", cells-filled), part*100)
	}
	text += " " + consent.Line(p.Message, 200)
	return clip(strings.TrimSpace(text), width-1)
}

// clip cuts text to a number of columns; characters that may have double width count twice.
func clip(text string, columns int) string {
	used := 0
	for i, r := range text {
		used++
		if r >= 0x1100 {
			used++
		}
		if used > columns {
			return text[:i]
		}
	}
	return text
}

// log shows a log message of the server.
func (u *ui) log(m *mcp.LogMessage) {
	text := string(m.Data)
	var s string
	if jsonv2.Unmarshal(m.Data, &s) == nil {
		text = s
	}
	if m.Logger != "" {
		text = m.Logger + ": " + text
	}
	u.line(fmt.Sprintf("server log, %s: %s", consent.Line(string(m.Level), 20), consent.Line(text, 2000)))
}

// serverLog takes what a stdio server writes on standard error: shown at once, or its end when something went wrong.
type serverLog struct {
	ui   *ui
	show bool

	mu   sync.Mutex
	part []byte   // of an unfinished line
	tail []string // last lines
}

const tailLines = 20

// Write implements io.Writer.
func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	for {
		i := bytes.IndexByte(l.part, '\n')
		if i < 0 && len(l.part) > 16<<10 {
			i = len(l.part) - 1
		}
		if i < 0 {
			return len(p), nil
		}
		text := "server: " + consent.Line(strings.ToValidUTF8(string(l.part[:i+1]), "\uFFFD"), 4000)
		l.part = append([]byte(nil), l.part[i+1:]...)
		if l.show {
			l.ui.line(text)
			continue
		}
		if l.tail = append(l.tail, text); len(l.tail) > tailLines {
			l.tail = l.tail[1:]
		}
	}
}

// flush shows the last lines if the connection or the server failed, unless the error repeats them itself.
func (l *serverLog) flush(err error) {
	var exited *mcp.ServerExitError
	code := exitCode(context.Background(), err)
	if errors.As(err, &exited) || code != exitConnect && code != exitProtocol && code != exitTimeout {
		return
	}
	l.mu.Lock()
	tail := l.tail
	l.tail = nil
	l.mu.Unlock()
	for _, t := range tail {
		l.ui.line(t)
	}
}

// A wireLog shows messages for --verbose.
type wireLog struct {
	ui    *ui
	start time.Time
}

func newWireLog(u *ui) *wireLog { return &wireLog{ui: u, start: time.Now()} }
