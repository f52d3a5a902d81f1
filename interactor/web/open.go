package web

import (
	"html/template"
	"net/http"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/mcp"
)

// An openPage asks for consent to visit a page.
type openPage struct {
	review *consent.Result
	asker
}

type openData struct {
	asker
	Review *consent.Result
	Danger bool   // the person must look at the address first
	Error  string // what was missing in the last answer
}

func (p *openPage) data(problem string) *openData {
	return &openData{asker: p.asker, Review: p.review, Danger: p.review.Worst() >= consent.Danger, Error: problem}
}

func (p *openPage) show(w http.ResponseWriter) { render(w, http.StatusOK, "open", p.data("")) }

func (p *openPage) take(w http.ResponseWriter, r *http.Request) *mcp.ElicitResult {
	choice := r.PostForm.Get("choice")
	switch {
	case choice != "accept":
		if res := ended(w, choice); res != nil {
			return res
		}
		render(w, http.StatusBadRequest, "open", p.data("Please choose one of the buttons."))
		return nil
	case p.review.Refused:
		render(w, http.StatusForbidden, "open", p.data("This address must not be opened."))
		return nil
	case p.review.Worst() >= consent.Danger && r.PostForm.Get("sure") != "yes":
		render(w, http.StatusBadRequest, "open", p.data("Please look at the address first, and tick the box if you know the site."))
		return nil
	}
	// Only now, and only because the person agreed, the browser goes there.
	render(w, http.StatusOK, "go", struct {
		noteData
		Refresh template.HTMLAttr
	}{noteData{Title: "Opening " + p.review.Domain, Text: "Your browser goes on to the page. If it does not, follow the link.", Link: p.review.URL, Site: p.review.Domain},
		refreshTo(p.review.URL)})
	return &mcp.ElicitResult{Action: mcp.ActionAccept}
}

// refreshTo is the attribute that takes a browser to a URL that consent has made: printable ASCII, quotes and spaces percent-encoded.
func refreshTo(url string) template.HTMLAttr {
	return template.HTMLAttr(`content="0; url=` + template.HTMLEscapeString(url) + `"`)
}

// A waitPage waits until the person is done elsewhere.
type waitPage struct {
	asker
	site string
}

type waitData struct {
	asker
	Site, Error string
}

func (p *waitPage) show(w http.ResponseWriter) {
	render(w, http.StatusOK, "wait", waitData{asker: p.asker, Site: p.site})
}

func (p *waitPage) take(w http.ResponseWriter, r *http.Request) *mcp.ElicitResult {
	switch r.PostForm.Get("choice") {
	case "accept":
		note(w, http.StatusOK, "Thank you", "The server is asked again. You can close this page.")
		return &mcp.ElicitResult{Action: mcp.ActionAccept}
	case "cancel":
		note(w, http.StatusOK, "Given up", "What caused the question is given up. You can close this page.")
		return &mcp.ElicitResult{Action: mcp.ActionCancel}
	}
	render(w, http.StatusBadRequest, "wait", waitData{p.asker, p.site, "Please choose one of the buttons."})
	return nil
}
