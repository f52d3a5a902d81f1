package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/consent"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// see shows a message, without what looks like a secret.
func (w *wireLog) see(d direction, m *jsonrpc.Message, err error) {
	arrow := "<-"
	if d == toServer {
		arrow = "->"
	}
	text := ""
	switch {
	case err != nil:
		text = "failed: " + consent.Line(err.Error(), 2000)
	case m != nil:
		text = redact(jsonrpc.Append(nil, m))
	}
	w.ui.line(fmt.Sprintf("%6.3fs %s %s", time.Since(w.start).Seconds(), arrow, text))
}

// secretName matches the names of members whose values are not shown.
var secretName = regexp.MustCompile(`(?i)(passw|secret|token|api_?-?key|authori[sz]ation|credential|private_?-?key|cookie|\bpin\b|\bcvc\b)`)

// harmless are names that match but tell nothing.
var harmless = map[string]bool{"progressToken": true, "maxTokens": true}

// shownString is how much of a string is shown, in bytes.
const shownString = 500

// redact returns a JSON message on one line, safe to display, with the values of members named like secrets and the ends of long strings
// left out.
func redact(raw []byte) string {
	var b strings.Builder
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	enc := jsontext.NewEncoder(&b, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	hide := false
	for {
		kind, length := dec.StackIndex(dec.StackDepth())
		isName := kind == '{' && length%2 == 0
		if hide && !isName {
			hide = false
			if dec.SkipValue() != nil || enc.WriteToken(jsontext.String("[redacted]")) != nil {
				break
			}
			continue
		}
		tok, err := dec.ReadToken()
		if err != nil {
			break
		}
		if tok.Kind() == '"' {
			s := tok.String()
			if isName {
				hide = secretName.MatchString(s) && !harmless[s]
			} else if len(s) > shownString {
				tok = jsontext.String(fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:shownString], ""), len(s)))
			}
		}
		if enc.WriteToken(tok) != nil {
			break
		}
	}
	return strings.TrimSpace(safeJSON(b.String()))
}
