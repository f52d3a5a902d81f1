package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

// longText is how much text of a server is shown at once, in characters.
const longText = 10 << 20

// safe makes text of a server safe to display, whatever its length.
func safe(s string) string { return consent.Text(s, longText) }

// A printer shows results to people, and saves what cannot be shown.
type printer struct {
	w     io.Writer
	dir   string // where to save pictures, sounds and other bytes; empty is nowhere
	name  string // of saved files, before their number
	saved int
}

func (p *printer) line(format string, args ...any) error {
	_, err := fmt.Fprintf(p.w, format+"\n", args...)
	return err
}

// content shows a list of blocks.
func (p *printer) content(blocks []mcp.Content) error {
	for _, b := range blocks {
		if err := p.block(b); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) block(b mcp.Content) error {
	switch b := b.(type) {
	case *mcp.TextContent:
		return p.line("%s", safe(b.Text))
	case *mcp.ImageContent:
		return p.data("picture", b.MIMEType, b.Data)
	case *mcp.AudioContent:
		return p.data("sound", b.MIMEType, b.Data)
	case *mcp.ResourceLink:
		text := consent.Line(b.URI, 1000)
		if name := consent.Line(b.Name, 0); name != "" {
			text += "  " + name
		}
		return p.line("[resource] %s%s", text, about(b.MIMEType, b.Description))
	case *mcp.EmbeddedResource:
		if err := p.line("[resource] %s%s", consent.Line(b.Resource.URI, 1000), about(b.Resource.MIMEType, "")); err != nil {
			return err
		}
		if b.Resource.Blob != nil {
			return p.data("data", b.Resource.MIMEType, b.Resource.Blob)
		}
		return p.line("%s", safe(b.Resource.Text))
	}
	raw, err := jsonv2.Marshal(b)
	if err != nil {
		return err
	}
	return p.line("[%s] %s", consent.Line(b.Type(), 40), consent.Line(string(raw), 1000))
}

func about(mime, description string) string {
	out := ""
	if mime != "" {
		out += "  (" + consent.Line(mime, 100) + ")"
	}
	if description != "" {
		out += "  " + consent.Line(description, 0)
	}
	return out
}

// data tells of bytes, and saves them where that was asked for.
func (p *printer) data(kind, mime string, data []byte) error {
	where := ""
	if p.dir != "" {
		p.saved++
		path := filepath.Join(p.dir, fmt.Sprintf("%s-%d%s", p.name, p.saved, extension(mime)))
		if err := save(path, data); err != nil {
			return err
		}
		where = ", saved as " + path
	}
	return p.line("[%s] %s, %d bytes%s", kind, consent.Line(mime, 100), len(data), where)
}

// save writes a file that was not there, so that nothing is lost.
func save(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already; move it or choose another --out", path)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(data)
	return err
}

// extension is that of a file for a format, never one that the server chose.
func extension(mime string) string {
	mime, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(mime)), ";")
	if e, ok := map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
		"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac", "application/pdf": ".pdf",
		"application/json": ".json", "text/plain": ".txt", "text/markdown": ".md", "text/html": ".html", "text/csv": ".csv", "application/zip": ".zip"}[mime]; ok {
		return e
	}
	return ".bin"
}

// indent returns JSON over several lines, with nothing changed but white space.
func indent(raw json.RawMessage) (string, error) {
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return "", err
	}
	return string(v), nil
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b []byte) bool {
	x, y := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}

// structured shows structured content, unless a text block says the same already.
func (p *printer) result(r *mcp.CallToolResult) error {
	blocks := r.Content
	if r.StructuredContent != nil {
		var rest []mcp.Content
		for _, b := range blocks {
			if t, ok := b.(*mcp.TextContent); !ok || !sameJSON([]byte(t.Text), r.StructuredContent) {
				rest = append(rest, b)
			}
		}
		blocks = rest
	}
	if err := p.content(blocks); err != nil || r.StructuredContent == nil {
		return err
	}
	text, err := indent(r.StructuredContent)
	if err != nil {
		return err
	}
	return p.line("%s", safeJSON(text))
}

// safeJSON makes JSON safe to display and keeps it JSON: characters that act on a terminal or change how text reads are written as \u.
func safeJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == ' ' || r > ' ' && r < 0x7F:
			b.WriteRune(r)
		case consent.Text("x"+string(r)+"x", 0) == "x"+string(r)+"x":
			b.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// printRaw writes a server's result as it came: exactly where a program reads it, and on a terminal with what would act on it written
// as \u, which is the same JSON.
func printRaw(w io.Writer, raws []json.RawMessage) error {
	if len(raws) == 0 {
		return errors.New("there is no result to print")
	}
	text := string(raws[len(raws)-1])
	if isTerminal(w) {
		text = safeJSON(text)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
