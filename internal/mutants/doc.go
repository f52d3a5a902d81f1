// Package mutants holds mistakes made on purpose, a few for each parser, and a test that they are found: each is a small change of the
// source, and a fuzz target that must fail with it. So green fuzz targets mean something. Nothing is changed on disk: the compiler is
// given an overlay.
//
// make mutants runs it all, which takes minutes. go test alone checks that every mistake can still be made, that is, that the text that
// it replaces is still there.
package mutants
