//go:build !race

package jsonrpc_test

import (
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// The envelope costs no allocation; a method that is not of the protocol costs
// its name. Not under the race detector, which makes pools forget at random.
func TestDecodeAllocations(t *testing.T) {
	for data, want := range map[string]float64{
		string(toolCall(300, "text")):                    0,
		`{"jsonrpc":"2.0","id":7,"method":"x/custom"}`:   1,
		`{"jsonrpc":"2.0","id":"seven","method":"ping"}`: 1,
		`{"jsonrpc":"2.0","id":7,"result":{"a":1}}`:      0,
	} {
		in := []byte(data)
		got := testing.AllocsPerRun(200, func() {
			if _, err := jsonrpc.Decode(in); err != nil {
				t.Fatal(err)
			}
		})
		if got > want+0.5 { // a collection may empty the pool
			t.Errorf("Decode(%s) allocates %v times, want %v", data, got, want)
		}
	}
}
