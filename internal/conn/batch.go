package conn

import "github.com/seed38e7925c/parley/jsonrpc"

// WriteBatch queues responses as one array on one line, as revisions of a
// protocol with batches want them. Like a response for itself it never waits.
func (c *Conn) WriteBatch(ms []*jsonrpc.Message) error {
	line := []byte{'['}
	for i, m := range ms {
		if i > 0 {
			line = append(line, ',')
		}
		line = jsonrpc.Append(line, m)
	}
	line = append(line, ']', '\n')
	var err error
	c.update(func(s *state) {
		if s.refused {
			err = closedError{s.cause}
			return
		}
		s.queue = append(s.queue, line...)
		for _, m := range ms {
			delete(s.incoming, m.ID)
		}
		s.queued += len(ms)
		c.wakeWriter(s)
	})
	return err
}
