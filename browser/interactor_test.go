package browser_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/seed38e7925c/parley/browser/internal/tab"
	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/interactor/web"
	"github.com/seed38e7925c/parley/mcp"
)

type seat struct {
	Class string `json:"class" enum:"first=First class,second=Second class" default:"second" title:"Class"`
	Quiet bool   `json:"quiet,omitempty" title:"Quiet coach"`
	Name  string `json:"name" title:"Name on the ticket" minLength:"2"`
}

var asked = mcp.Asked{
	Server: mcp.Implementation{Name: "travel", Title: "Travel desk", Version: "1.4.0"}, Origin: "https://travel.example/mcp",
	Method: mcp.MethodToolsCall, Name: "book", Round: 1,
}

// TestHostForm fills a server's form in with the keyboard alone, and holds the page against the rules of accessibility.
func TestHostForm(t *testing.T) {
	axe := rules(t)
	b := tab.Start(t)
	f, err := form.Of[seat]()
	if err != nil {
		t.Fatal(err)
	}
	for name, look := range map[string]*tab.Options{"light": {}, "dark": {Dark: true}, "narrow": {Width: 320, Height: 640}} {
		t.Run(name, func(t *testing.T) {
			shown := make(chan string, 1)
			host := web.New(&web.Options{Show: func(_ context.Context, page string) error { shown <- page; return nil }})
			answered := make(chan *mcp.ElicitResult, 1)
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				answer, err := host.Form(ctx, &mcp.FormQuestion{Asked: asked, Message: "Where would you like to sit?", Form: f})
				if err != nil {
					t.Error(err)
				}
				answered <- answer
			}()
			person := b.Tab(t, look)
			person.Open(<-shown)
			person.Accessible(axe)
			if person.Overflows() {
				t.Error("the page is wider than its window")
			}
			person.TabTo("Name on the ticket required")
			person.Type("Alice" + kb.Enter)
			if answer := <-answered; answer == nil || answer.Action != mcp.ActionAccept || !strings.Contains(string(answer.Content), `"Alice"`) {
				t.Errorf("answered %+v", answer)
			}
		})
	}
}
