package scripted_test

import (
	"errors"
	"testing"

	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/interactor/scripted"
	"github.com/seed38e7925c/parley/mcp"
)

// Whatever a script says, an accepted answer fits the form, and what has no answer was not declined.
func FuzzScript(f *testing.F) {
	f.Add([]byte(`{"answers":[{"tool":"book","values":{"class":"first","quiet":"yes","extras":"1,2"}}]}`))
	f.Add([]byte(`{"answers":[{"action":"decline","repeat":true},{"kind":"url","host":"x","action":"cancel"}]}`))
	fields, err := form.New(form.Field{Name: "class", Kind: form.Choice, Required: true, Options: []form.Option{{Value: "first"}, {Value: "second"}}},
		form.Field{Name: "quiet", Kind: form.Boolean}, form.Field{Name: "n", Kind: form.Integer}, form.Field{Name: "extras", Kind: form.MultiChoice, Options: []form.Option{{Value: "1"}, {Value: "2"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := scripted.Parse(data)
		if err != nil {
			return
		}
		in := s.Interactor(nil)
		for range 3 {
			res, err := in.Form(t.Context(), &mcp.FormQuestion{Asked: mcp.Asked{Method: mcp.MethodToolsCall, Name: "book"}, Message: "?", Form: fields})
			switch {
			case err != nil && (!errors.Is(err, mcp.ErrUnavailable) || errors.Is(err, mcp.ErrDeclined)):
				t.Errorf("%v", err)
			case err == nil && res.Action == mcp.ActionAccept:
				if err := fields.Check(res.Content); err != nil {
					t.Errorf("%s: %v", res.Content, err)
				}
			}
		}
	})
}
