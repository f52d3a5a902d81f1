//go:build !mcp_modern_only

package mcphttp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// An archive behaves like a queue of streams, whatever is added and dropped in between, and is nothing when it is empty.
func TestArchiveIsAQueue(t *testing.T) {
	var a archive
	model := map[uint64][]event{}
	var order []uint64
	rng := rand.New(rand.NewPCG(1, 2))
	for step := range 5000 {
		if rng.IntN(100) < 55-step/100 {
			number := uint64(step + 1)
			var events []event
			for i := range rng.IntN(4) {
				seq := uint64(i*i + 1 + rng.IntN(200)*1000)
				events = append(events, event{seq: seq, data: bytes.Repeat([]byte{byte(step)}, rng.IntN(400))})
			}
			a.add(number, time.Duration(step), events)
			model[number], order = events, append(order, number)
		} else if len(order) > 0 {
			if a.oldest().number != order[0] {
				t.Fatalf("step %d: the oldest is %d, not %d", step, a.oldest().number, order[0])
			}
			a.drop()
			delete(model, order[0])
			order = order[1:]
		}
		if a.len() != len(order) {
			t.Fatalf("step %d: %d streams, not %d", step, a.len(), len(order))
		}
		if len(order) > 0 {
			checkArchived(t, &a, model, order[rng.IntN(len(order))], uint64(rng.IntN(100_000)))
		}
	}
	for a.len() > 0 {
		a.drop()
	}
	if a.streams != nil || a.data != nil {
		t.Error("an empty archive holds memory")
	}
	if _, _, ok := a.find(1); ok || a.after(1, 0) != nil {
		t.Error("something is found in an empty archive")
	}
}

func checkArchived(t *testing.T, a *archive, model map[uint64][]event, number, after uint64) {
	t.Helper()
	var want []event
	for _, ev := range model[number] {
		if ev.seq > after {
			want = append(want, ev)
		}
	}
	if got := a.after(number, after); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("stream %d after %d: %v, not %v", number, after, got, want)
	}
}
