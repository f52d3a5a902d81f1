package floor

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// Borrow lends an empty buffer; Return takes it back.
func Borrow() *[]byte { return buffers.Get().(*[]byte) }

// Return takes a buffer back.
func Return(b *[]byte) {
	*b = (*b)[:0]
	buffers.Put(b)
}

// ServeLines serves messages, one a line, until r ends. Each runs on its own goroutine, so that reading goes on and one slow call
// holds up no other.
func (s *Server) ServeLines(r io.Reader, w io.Writer) error {
	var (
		out   sync.Mutex
		calls sync.WaitGroup
	)
	defer calls.Wait()
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line := Borrow()
		err := readLine(in, line)
		if len(*line) == 0 && err != nil {
			Return(line)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		calls.Go(func() {
			defer Return(line)
			answer := Borrow()
			defer Return(answer)
			s.line(*line, answer)
			if len(*answer) == 0 {
				return
			}
			*answer = append(*answer, '\n')
			out.Lock()
			defer out.Unlock()
			_, _ = w.Write(*answer) // a client that is gone ends the reading as well
		})
	}
}

func readLine(in *bufio.Reader, line *[]byte) error {
	for {
		part, err := in.ReadSlice('\n')
		*line = append(*line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// line answers one line.
func (s *Server) line(raw []byte, answer *[]byte) {
	var m Message
	if err := Decode(raw, &m); err != nil {
		*answer = ParseError(*answer, err)
		return
	}
	if m.ID != nil && m.Method != "" {
		*answer, _ = s.Answer(*answer, &m, nil)
	}
}
