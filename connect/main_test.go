package connect_test

import (
	"os"
	"testing"

	"github.com/seed38e7925c/parley/mcptest"
)

func TestMain(m *testing.M) {
	if os.Getenv(processEnv) != "" { // a process of a test, which ends with its connections
		os.Exit(m.Run())
	}
	mcptest.Main(m)
}
