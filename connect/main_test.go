package connect_test

import (
	"testing"

	"github.com/seed38e7925c/parley/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }
