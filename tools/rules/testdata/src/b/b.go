package b

import (
	"time"
	clock "time"
)

func nap() {
	time.Sleep(1)  // want `cannot be cancelled`
	clock.Sleep(1) // want `cannot be cancelled`
}
