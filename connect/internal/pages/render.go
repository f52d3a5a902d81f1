package pages

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/seed38e7925c/parley/consent"
)

//go:embed *.html style.css
var files embed.FS

// A Renderer makes the pages. Its methods may be called concurrently.
type Renderer struct {
	texts *catalog
	pages map[string]*template.Template // by language
	style []byte
}

// New reads the templates.
func New() (*Renderer, error) {
	texts, err := loadCatalog()
	if err != nil {
		return nil, err
	}
	style, err := files.ReadFile("style.css")
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	r := &Renderer{texts: texts, style: style, pages: make(map[string]*template.Template, len(texts.langs))}
	for _, lang := range texts.langs {
		t, err := template.New("pages").Option("missingkey=error").Funcs(r.funcs(lang)).ParseFS(files, "*.html")
		if err != nil {
			return nil, fmt.Errorf("pages: %w", err)
		}
		r.pages[lang] = t
	}
	return r, nil
}

// funcs are what the templates of one language use.
func (r *Renderer) funcs(lang string) template.FuncMap {
	return template.FuncMap{
		"lang":    func() string { return lang },
		"t":       func(key string, args ...any) (string, error) { return r.texts.text(lang, key, safe(args)...) },
		"line":    func(s string) string { return consent.Line(s, 0) },
		"text":    func(s string) string { return consent.Text(s, 0) },
		"key":     func(parts ...any) string { return fmt.Sprint(parts...) },
		"machine": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"when":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" },
	}
}

// safe makes the texts among args safe to read.
func safe(args []any) []any {
	for i, arg := range args {
		if s, isText := arg.(string); isText {
			args[i] = consent.Line(s, 0)
		}
	}
	return args
}

// view is what a template sees.
type view struct {
	*Frame
	Page Page
}

// Render answers req with a page in its reader's language.
func (r *Renderer) Render(w http.ResponseWriter, req *http.Request, status int, f *Frame, p Page) error {
	lang := r.texts.pick(req.Header.Get("Accept-Language"))
	var page bytes.Buffer
	if err := r.pages[lang].ExecuteTemplate(&page, p.template(), view{Frame: f, Page: p}); err != nil {
		return fmt.Errorf("pages: rendering %q: %w", p.template(), err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", lang)
	h.Add("Vary", "Accept-Language")
	h.Set("Content-Length", strconv.Itoa(page.Len()))
	w.WriteHeader(status)
	if _, err := w.Write(page.Bytes()); err != nil {
		return fmt.Errorf("pages: sending %q: %w", p.template(), err)
	}
	return nil
}

// Text returns words in the language of req's reader, for what is shown inside a page.
func (r *Renderer) Text(req *http.Request, key string, args ...any) (string, error) {
	return r.texts.text(r.texts.pick(req.Header.Get("Accept-Language")), key, safe(args)...)
}

// Style is the stylesheet that every page links as style.css beside the desk's root.
func (r *Renderer) Style() []byte { return r.style }
