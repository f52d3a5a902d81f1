package b

import (
	"testing"
	"time"
)

func TestNap(t *testing.T) {
	time.Sleep(time.Millisecond) // want `sleep in a test`
}
