package postgres

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse: what the trigger writes is read as it was, and anything else names a row or nothing.
func FuzzParse(f *testing.F) {
	f.Add("interaction", "abc", "11:interactionabc")
	f.Add("ünï:1", ":🙂", "")
	f.Add("k", "1", "999999999999999999999:k1")
	f.Add("k", "1", "-1:k1")
	f.Fuzz(func(t *testing.T, kind, id, payload string) {
		if kind != "" && id != "" && utf8.ValidString(kind) && utf8.ValidString(id) {
			written := fmt.Sprintf("%d:%s%s", utf8.RuneCountInString(kind), kind, id)
			if k, i := parse(written); k != kind || i != id {
				t.Errorf("%q is read as %q %q", written, k, i)
			}
		}
		if k, i := parse(payload); (k == "" || i == "") && k+i != "" || !strings.HasSuffix(payload, k+i) {
			t.Errorf("%q is read as %q %q", payload, k, i)
		}
	})
}
