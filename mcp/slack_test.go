//go:build !race

package mcp_test

// slack is what bounds on time are multiplied by.
const slack = 1
