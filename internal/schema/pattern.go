package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// maxProgram bounds the compiled size of a regular expression, in instructions: the time that matching takes grows with it.
const maxProgram = 10_000

// compilePattern compiles an RE2 expression of bounded length and bounded compiled size.
func compilePattern(pattern string, longest int) (*regexp.Regexp, error) {
	re, _, err := compileSized(pattern, longest)
	return re, err
}

// compileSized also returns the number of instructions.
func compileSized(pattern string, longest int) (*regexp.Regexp, int, error) {
	if len(pattern) > longest {
		return nil, 0, fmt.Errorf("the pattern is %d bytes long; at most %d are allowed", len(pattern), longest)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, 0, fmt.Errorf("the pattern %q is not an RE2 expression: %w", shorten(pattern, 80), err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, 0, fmt.Errorf("the pattern %q is not an RE2 expression: %w", shorten(pattern, 80), err)
	}
	if n := len(prog.Inst); n > maxProgram {
		return nil, 0, fmt.Errorf("the pattern %q compiles to %d instructions; at most %d are allowed", shorten(pattern, 80), n, maxProgram)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, 0, fmt.Errorf("the pattern %q is not an RE2 expression: %w", shorten(pattern, 80), err)
	}
	return re, len(prog.Inst), nil
}

// ValidPattern reports whether a regular expression can be checked: RE2, and within the bounds of length and size.
func ValidPattern(pattern string) bool {
	_, err := compilePattern(pattern, maxPattern)
	return err == nil
}
