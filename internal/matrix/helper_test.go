package matrix_test

import (
	"github.com/seed38e7925c/parley/jsonrpc"
)

func isError(m *jsonrpc.Message) bool { return m.Error != nil }
