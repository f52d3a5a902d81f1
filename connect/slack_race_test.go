//go:build race

package connect_test

// slack is how much longer things may take than they should: the race detector is slow.
const slack = 10
