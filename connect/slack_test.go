//go:build !race

package connect_test

// slack is how much longer things may take than they should.
const slack = 1
