package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

//go:embed page.html
var files embed.FS

//go:embed page.css
var style string

// The style is part of each page, since the program may be gone when a browser asks for a second file. The policy names its digest.
var (
	templates = template.Must(template.New("page.html").Funcs(template.FuncMap{"style": func() template.CSS { return template.CSS(style) }}).ParseFS(files, "page.html"))
	policy    = fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'", digest(style))
)

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// An asker says who asks and why, fit for display.
type asker struct {
	Origin, Name, Because string
	Message               []string // lines
}

func askerOf(a mcp.Asked, message string) asker {
	name := consent.Line(a.Server.Name, 80)
	if title := consent.Line(a.Server.Title, 80); title != "" && title != name {
		name = title + " (" + name + ")"
	}
	out := asker{Origin: consent.Line(a.Origin, 0), Name: strings.TrimSpace(name + " " + consent.Line(a.Server.Version, 40)), Because: consent.Line(a.Method+" "+a.Name, 0)}
	if out.Origin == "" {
		out.Origin = "A server"
	}
	if text := consent.Text(message, 0); text != "" {
		out.Message = strings.Split(text, "\n")
	}
	return out
}

// render writes one of the templates. It is complete or an error, never a part of a page.
func render(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // fails only when the browser is gone
}

// noteData is a page that only tells something.
type noteData struct {
	Title, Text string
	Link        string // to go on to; consent has made it
	Site        string
}

func note(w http.ResponseWriter, status int, title, text string) {
	render(w, status, "note", noteData{Title: title, Text: text})
}

// ended answers what the person decided other than accept.
func ended(w http.ResponseWriter, choice string) *mcp.ElicitResult {
	switch choice {
	case "decline":
		note(w, http.StatusOK, "Declined", "The server is told that you said no. You can close this page.")
		return &mcp.ElicitResult{Action: mcp.ActionDecline}
	case "cancel":
		note(w, http.StatusOK, "Cancelled", "The server is told that you made no choice. You can close this page.")
		return &mcp.ElicitResult{Action: mcp.ActionCancel}
	}
	return nil
}
