package b

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestBubble(t *testing.T) {
	synctest.Test(t, func(*testing.T) { time.Sleep(time.Hour) })
}
