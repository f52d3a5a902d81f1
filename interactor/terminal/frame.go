package terminal

import (
	"strings"
	"unicode"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

// bar is the edge of everything that a server says.
const bar = "│ "

// bar puts text, wrapped, behind the bar. It is made safe first.
func (p *person) bar(text string) string { return p.indented("", text) }

// indented puts text behind the bar and an indentation; first stands in the indentation of its first line.
func (p *person) indented(first, text string) string { return p.framed(first, consent.Text(text, 0)) }

// framed is indented for text that is safe already.
func (p *person) framed(first, text string) string {
	var b strings.Builder
	room := p.width() - width(bar) - width(first) - 1
	if room < 12 && width(first) > 4 { // too narrow for both beside each other
		return p.quiet(bar) + strings.TrimRight(first, " ") + "\n" + p.framed("  ", text)
	}
	room = max(room, 8)
	lead := first
	for _, l := range wrap(text, room) {
		b.WriteString(strings.TrimRight(p.quiet(bar)+lead+l, " ") + "\n")
		lead = strings.Repeat(" ", width(first))
	}
	return b.String()
}

// header is the frame that names who asks, why, and what.
func (p *person) header(a mcp.Asked, wants, message string) string {
	origin := consent.Line(a.Origin, 0)
	if origin == "" {
		origin = "A server"
	}
	var b strings.Builder
	for i, l := range wrap(origin+" "+wants, max(p.width()-4, 8)) {
		lead := "╭─ "
		if i > 0 {
			lead = bar
		}
		b.WriteString(p.quiet(lead) + p.strong(l) + "\n")
	}
	if name := strings.TrimSpace(displayName(&a.Server) + " " + consent.Line(a.Server.Version, 40)); name != "" {
		b.WriteString(p.indented("It calls itself  ", name))
	}
	if a.Method != "" {
		b.WriteString(p.indented("Because of       ", consent.Line(a.Method+" "+a.Name, 0)))
	}
	if message = consent.Text(message, 0); message != "" {
		b.WriteString(p.quiet(bar[:len(bar)-1]) + "\n" + p.bar(message))
	}
	return b.String()
}

// displayName is what a server calls itself, with the name for people first.
func displayName(s *mcp.Implementation) string {
	name, title := consent.Line(s.Name, 80), consent.Line(s.Title, 80)
	if title == "" || title == name {
		return name
	}
	return title + " (" + name + ")"
}

func (p *person) end() string { return p.quiet("╰─") + "\n" }

// strong and quiet style text of our own, and server text that was made safe.
func (p *person) strong(s string) string { return p.style("1", s) }
func (p *person) quiet(s string) string  { return p.style("2", s) }

func (p *person) style(code, s string) string {
	if !p.bold || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// wrap breaks text into lines of at most room columns, at spaces where there are any.
func wrap(text string, room int) []string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		for width(l) > room {
			cut, space, used := 0, -1, 0
			for i, r := range l {
				if used += runeWidth(r); used > room {
					break
				}
				if cut = i + len(string(r)); r == ' ' && i > 0 {
					space = i
				}
			}
			if cut == 0 { // a letter that is wider than the room
				cut = len(string([]rune(l)[:1]))
			}
			if space > 0 && cut < len(l) && l[cut] != ' ' {
				cut = space
			}
			out = append(out, strings.TrimRight(l[:cut], " "))
			l = strings.TrimLeft(l[cut:], " ")
		}
		out = append(out, l)
	}
	return out
}

func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is the most columns that a terminal could give a character, so that a line never reaches beyond the edge, where the
// terminal would go on without the bar.
func runeWidth(r rune) int {
	if r < 0x300 || r < 0x1100 && !unicode.Is(unicode.M, r) || r >= 0x2000 && r < 0x2300 || r >= 0x2500 && r < 0x25A0 {
		return 1
	}
	return 2
}
