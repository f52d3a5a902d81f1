// Package doctest holds tests of the documentation: every Go snippet compiles against the module as it is, and every
// link to a file leads to one.
//
// A fence opened with ```go is compiled. One that has a package clause is a file of its own. Any other is a fragment:
// declarations, or statements, which are put into a function; the packages that it names are imported for it. What a
// fragment takes from the text around it is declared in a comment directly before the fence:
//
//	<!-- go: var ctx context.Context; var srv *mcp.Server -->
//
// A fence after <!-- go: continue --> goes on with the fence before it on the page. Names imported for fragments are the
// packages of the module and the common ones of the standard library.
package doctest

//go:generate go -C ../../tools run ./limits -root .. -out ../docs/limits.md
