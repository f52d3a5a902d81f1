package main

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"

	"github.com/seed38e7925c/parley/form"
)

//go:embed demo_page.html
var demoFiles embed.FS

//go:embed demo_page.css
var demoStyle string

// The style is part of each page: the program may be gone before a browser asks for a second file. The policy names its digest.
var (
	demoPage = template.Must(template.New("demo_page.html").Funcs(template.FuncMap{
		"label": seatLabel, "style": func() template.CSS { return template.CSS(demoStyle) },
	}).ParseFS(demoFiles, "demo_page.html"))
	demoStyleSum = sha256.Sum256([]byte(demoStyle))
	demoPolicy   = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(demoStyleSum[:]) +
		"'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

// seatLabel is what the form calls a value of one of its fields.
func seatLabel(field, value string) string {
	f, err := form.Of[seat]()
	if err != nil {
		return value
	}
	for _, o := range f.Field(field).Options {
		if o.Value == value {
			return o.Label()
		}
	}
	return value
}

// pageData is what the page of the desk shows.
type pageData struct {
	Order   *order
	Done    bool   // nothing is left to do
	Title   string // of the page
	Message string
}

// pages serves the page where a purchase is confirmed, to browsers that reach it by this host and port.
func (d *desk) pages(host string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /confirm/{id}", d.show)
	mux.HandleFunc("POST /confirm/{id}", d.decide)
	guarded := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != host { // a name that somebody else made to lead here
			http.Error(w, "this page is not here", http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", demoPolicy)
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		guarded.ServeHTTP(w, r)
	})
}

// show shows the purchase. It changes nothing, whoever fetches it.
func (d *desk) show(w http.ResponseWriter, r *http.Request) {
	o := d.order(r.PathValue("id"))
	if o == nil {
		render(w, http.StatusNotFound, &pageData{Done: true, Title: "No such purchase", Message: "This link does not belong to a purchase, or it is over."})
		return
	}
	select {
	case <-o.settled:
		render(w, http.StatusOK, &pageData{Done: true, Title: "Done", Message: "This purchase was settled. You can close this page."})
	default:
		render(w, http.StatusOK, &pageData{Order: o, Title: "Confirm your ticket"})
	}
}

// decide takes the person's decision.
func (d *desk) decide(w http.ResponseWriter, r *http.Request) {
	o := d.order(r.PathValue("id"))
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	choice := r.PostFormValue("choice")
	switch {
	case o == nil:
		render(w, http.StatusNotFound, &pageData{Done: true, Title: "No such purchase", Message: "This link does not belong to a purchase, or it is over."})
	case choice != "confirm" && choice != "refuse":
		render(w, http.StatusBadRequest, &pageData{Order: o, Title: "Confirm your ticket", Message: "Please choose one of the buttons."})
	case !d.settle(o, choice == "confirm"):
		render(w, http.StatusConflict, &pageData{Done: true, Title: "Done", Message: "This purchase was settled before. You can close this page."})
	case choice == "confirm":
		render(w, http.StatusOK, &pageData{Done: true, Title: "Confirmed", Message: "Thank you. Your ticket is on its way to the terminal; you can close this page."})
	default:
		render(w, http.StatusOK, &pageData{Done: true, Title: "Refused", Message: "Nothing was bought. You can close this page."})
	}
}

func render(w http.ResponseWriter, status int, data *pageData) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = demoPage.Execute(w, data) // fails only when the browser is gone
}
