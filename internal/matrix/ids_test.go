package matrix_test

import (
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/matrix"
)

// Ids of every allowed kind come back as they were sent, and none is taken for the lack of one or for another; so do progress tokens.
func TestIDsComeBackAsTheyWere(t *testing.T) {
	matrix.Each(t, func(t *testing.T, l matrix.Leg) {
		w := l.Wire(t, field)
		for _, id := range []string{"0", `""`, "-1", "9007199254740993", "1", `"1"`, `"a b"`, `"żółw"`} {
			w.Request(id, "tools/call", `"name":"bytes","arguments":{}`, `"progressToken":`+id)
			w.Notice("notifications/progress").Has(t, `"progressToken":`+id+",")
			w.Answer(id)
		}
		begin(w, "1", "wait")
		begin(w, `"1"`, "wait") // another request, though its name looks alike
		w.Cancel("1")
		w.Ask("6", "tools/call", `"name":"ended","arguments":{}`).Has(t, "ended")
		if got := strings.Join(w.Rest(), ""); got != "" {
			t.Errorf("the server said %s", got)
		}
		w.Cancel(`"1"`)
	})
}
