package matrix

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// Lines serves a connection with a function that has the result of each method, as JSON.
func Lines(result func(method string) string) func(ctx context.Context, rwc io.ReadWriteCloser) error {
	return func(ctx context.Context, rwc io.ReadWriteCloser) error {
		stop := context.AfterFunc(ctx, func() { _ = rwc.Close() })
		defer stop()
		lines := bufio.NewScanner(rwc)
		for lines.Scan() {
			m, err := jsonrpc.Decode(lines.Bytes())
			if err != nil {
				return err
			}
			if m.Kind() != jsonrpc.Request {
				continue
			}
			if _, err := fmt.Fprintf(rwc, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID.AppendJSON(nil), result(m.Method)); err != nil {
				return nil // the client has gone
			}
		}
		return nil
	}
}
