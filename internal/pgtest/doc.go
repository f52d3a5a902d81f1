// Package pgtest runs PostgreSQL for tests: a cluster of its own in a temporary directory, from the distribution's programs, reachable
// through a socket in that directory alone, and gone when the test is.
package pgtest
