package schema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// DefaultMaxProblems is how many problems a ValidationError lists.
const DefaultMaxProblems = 20

// Problem is one reason why a value was not accepted.
type Problem struct {
	Path    string // JSON Pointer of the value; "" is the whole value
	Keyword string // the schema keyword that was violated, "json" for malformed JSON, "value" for what a Go type refused
	Message string // what was expected and what was found, without the path
}

// ValidationError lists the problems of a value. It is written for whoever has to repair the value: a person or a model.
type ValidationError struct {
	Problems []Problem
	More     bool // there were more problems than listed

	cause error
}

// Unwrap returns ErrExpensive when the value was refused because judging it would exceed a limit, and nil otherwise.
func (e *ValidationError) Unwrap() error { return e.cause }

// expensive refuses a value for what it would cost.
func expensive(format string, args ...any) *ValidationError {
	return &ValidationError{Problems: []Problem{{Keyword: "limit", Message: fmt.Sprintf(format, args...)}}, cause: ErrExpensive}
}

// Error returns every problem, one a line when there are several.
func (e *ValidationError) Error() string {
	var b strings.Builder
	if len(e.Problems) != 1 || e.More {
		b.WriteString(strconv.Itoa(len(e.Problems)))
		if e.More {
			b.WriteString(" or more")
		}
		b.WriteString(" problems:\n")
	}
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		if p.Path == "" {
			b.WriteString("the value ")
		} else {
			b.WriteString(printable(p.Path))
			b.WriteByte(' ')
		}
		b.WriteString(printable(p.Message))
	}
	return b.String()
}

// printable escapes what could act on a terminal or change how text reads: control and format characters. Line breaks stay.
func printable(s string) string {
	hidden := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// problem makes a ValidationError of a single problem.
func problem(path, keyword, message string) *ValidationError {
	return &ValidationError{Problems: []Problem{{Path: path, Keyword: keyword, Message: message}}}
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// appendPointer appends one reference token to a JSON Pointer.
func appendPointer(path []byte, token string) []byte {
	path = append(path, '/')
	if strings.ContainsAny(token, "~/") {
		token = pointerEscaper.Replace(token)
	}
	return append(path, token...)
}
