package conn_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// pipes returns two ends of a pair of pipes of the operating system.
func pipes(tb testing.TB) (ar, br io.ReadCloser, aw, bw io.WriteCloser) {
	r1, w1, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	return r1, r2, w2, w1
}

// byHand is the server one would write for the benchmark: no cancellation, no
// goroutines, one flush when there is nothing more to read.
func byHand(r io.Reader, w io.Writer) error {
	in, out := bufio.NewReaderSize(r, 64<<10), bufio.NewWriterSize(w, 64<<10)
	var buf []byte
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		m, err := jsonrpc.Decode(line)
		if err != nil {
			return err
		}
		buf = append(jsonrpc.Append(buf[:0], &jsonrpc.Message{ID: m.ID, Result: m.Params}), '\n')
		if _, err := out.Write(buf); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

// byHandConcurrently is byHand with a goroutine for each request, so that one that
// takes long does not hold up the others. The last one under way flushes.
func byHandConcurrently(r io.Reader, w io.Writer) error {
	in, out := bufio.NewReaderSize(r, 64<<10), bufio.NewWriterSize(w, 64<<10)
	var mu sync.Mutex
	var wg sync.WaitGroup
	var busy atomic.Int64
	var failed error
	defer wg.Wait()
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return errors.Join(err, failed)
		}
		m, err := jsonrpc.Decode(line)
		if err != nil {
			return err
		}
		busy.Add(1)
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			buf := append(jsonrpc.Append(out.AvailableBuffer(), &jsonrpc.Message{ID: m.ID, Result: m.Params}), '\n')
			_, err := out.Write(buf)
			if err == nil && busy.Add(-1) == 0 {
				err = out.Flush()
			}
			failed = errors.Join(failed, err)
		})
	}
}

// BenchmarkEcho drives an echo server over pipes with a number of calls in
// flight: our own at both ends, and our client against loops written by hand.
func BenchmarkEcho(b *testing.B) {
	params := json.RawMessage(toolCall)
	for _, inFlight := range []int{1, 64} {
		for _, server := range []string{"conn", "hand", "handgo"} {
			b.Run(fmt.Sprintf("%s/%d", server, inFlight), func(b *testing.B) {
				b.ReportAllocs()
				ar, br, aw, bw := pipes(b)
				client := start(b.Context(), ar, aw, funcs{}, nil)
				done := make(chan error, 1)
				switch server {
				case "conn":
					s := start(b.Context(), br, bw, echo(b), nil)
					go func() { done <- s.wait() }()
				case "hand":
					go func() { done <- errors.Join(byHand(br, bw), bw.Close()) }()
				case "handgo":
					go func() { done <- errors.Join(byHandConcurrently(br, bw), bw.Close()) }()
				}
				var left atomic.Int64
				left.Store(int64(b.N))
				var wg sync.WaitGroup
				b.ResetTimer()
				for range inFlight {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							if _, err := client.Call(b.Context(), client.NewID(), "tools/call", params); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.StopTimer()
				must(b, client.Close())
				must(b, client.wait())
				if err := <-done; err != nil && !errors.Is(err, io.EOF) {
					b.Error(err)
				}
			})
		}
	}
}

const toolCall = `{"name":"echo","arguments":{"text":"some text of the usual length, which is not very long at all"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
