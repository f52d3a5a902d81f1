//go:build race

package mcp_test

// slack is what bounds on time are multiplied by: the race detector makes everything slower by about that.
const slack = 10
