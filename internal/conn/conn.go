package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// Handler receives what a connection reads. Its methods are called in order of
// arrival on the reading goroutine and must not block: nothing else is read
// meanwhile. Long work is started with [Conn.Go]. They may call [Conn.Write],
// and must not call [Conn.Call]. The bytes belong to the handler.
type Handler interface {
	// HandleMessage is called for each request and notification and for each
	// response that answers no outstanding call. ctx ends when Run does.
	HandleMessage(ctx context.Context, c *Conn, m *jsonrpc.Message)
	// HandleMalformed is told of a line that was not a message: log text, bad
	// JSON, a batch array, a line that was too long (then line is only its
	// beginning). m and err are as [jsonrpc.Decode] returned them; m says whom
	// to answer, if anybody. If m was meant as the response to an outstanding
	// call, that call has already got it.
	HandleMalformed(ctx context.Context, c *Conn, line []byte, m *jsonrpc.Message, err *jsonrpc.Error)
}

// Options are the bounds of a connection. Nil and zero mean the defaults.
type Options struct {
	// MaxLine bounds one incoming message in bytes; 16 MiB. A longer line is
	// reported to HandleMalformed and skipped in constant memory.
	MaxLine int
	// MaxInFlight bounds the incoming requests that are worked on or whose
	// responses are not yet written; 1024. The next request is held back, and
	// reading with it, until one is done.
	MaxInFlight int
	// MaxQueue is the number of queued output bytes from which requests and
	// notifications wait; 1 MiB. The message that crosses the bound is still
	// taken, and responses always are.
	MaxQueue int
	// Linger is how long work may go on, and answer, after the peer ended its
	// output, before its context is cancelled; 0 cancels at once.
	Linger time.Duration
	// Grace bounds how long the end of a connection waits, first for cancelled
	// work to return and then for queued output to be taken by the peer; 3 s.
	Grace time.Duration
}

const (
	defaultMaxLine     = 16 << 20
	defaultMaxInFlight = 1024
	defaultMaxQueue    = 1 << 20
	defaultGrace       = 3 * time.Second

	// streamGrace bounds the wait for a Read or Write that was interrupted by
	// closing its stream. Some streams, a blocking standard input among them,
	// do not notice, and must not keep the process alive.
	streamGrace = 250 * time.Millisecond
)

// withDefaults returns o with its zero fields filled in.
func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.MaxLine <= 0 {
		out.MaxLine = defaultMaxLine
	}
	if out.MaxInFlight <= 0 {
		out.MaxInFlight = defaultMaxInFlight
	}
	if out.MaxQueue <= 0 {
		out.MaxQueue = defaultMaxQueue
	}
	if out.Grace <= 0 {
		out.Grace = defaultGrace
	}
	return out
}

// ErrClosed is wrapped by the error of every operation that the end of the
// connection made impossible. The same error wraps the cause: [io.EOF] if the
// peer ended its output, a read or write error, or why the context of Run ended.
var ErrClosed = errors.New("connection closed")

// Conn is a JSON-RPC connection. Its methods may be called concurrently.
type Conn struct {
	r    io.ReadCloser
	w    io.WriteCloser
	h    Handler
	opts Options

	mu sync.Mutex
	s  state // by update only

	jobs       chan *work    // for idle workers; sent and closed by update only
	wake       chan struct{} // tells the writer that the queue is not empty any more
	ended      chan struct{} // closed when nothing more will be read
	refused    chan struct{} // closed when nothing more will be accepted for writing
	readerDone chan struct{}
	writerDone chan struct{}

	closeStreams func() error // once
}

// New returns a connection that reads from r, once Run is called, and writes to w.
// Closing r must interrupt a Read, and closing w a Write, for the connection to
// end promptly. The connection closes both, and they may be the same; so a Conn
// has to be run or closed.
func New(r io.ReadCloser, w io.WriteCloser, h Handler, o *Options) *Conn {
	c := &Conn{
		r: r, w: w, h: h, opts: o.withDefaults(),
		jobs:       make(chan *work, maxIdleWorkers),
		wake:       make(chan struct{}, 1),
		ended:      make(chan struct{}),
		refused:    make(chan struct{}),
		readerDone: make(chan struct{}),
		writerDone: make(chan struct{}),
	}
	c.s.init()
	c.closeStreams = sync.OnceValue(func() error {
		return errors.Join(closeError(c.w.Close()), closeError(c.r.Close()))
	})
	return c
}

// closeError returns err unless it says that the stream was closed before.
func closeError(err error) error {
	if errors.Is(err, fs.ErrClosed) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// Run reads and handles messages until the peer ends its output, Close is
// called, ctx ends or a stream fails. It then cancels the work that is still
// going on, waits for it and for the queued output, each for Options.Grace at
// most, and closes the streams.
//
// It returns nil if the peer ended its output or Close was called, the cause if
// ctx ended, and otherwise what failed. Run may be called once.
func (c *Conn) Run(ctx context.Context) error {
	if !c.begin() {
		return errors.New("conn: Run was called before")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { c.end(context.Cause(ctx)) })
	defer stop()

	go c.readLoop(ctx)

	<-c.ended
	cause := c.cause()
	idle := c.idle()
	if errors.Is(cause, io.EOF) {
		c.linger(ctx, idle)
	}
	cancel(closedError{cause})
	wait(idle, c.opts.Grace)
	stuck := c.working()
	err := c.shut()
	wait(c.readerDone, streamGrace)
	wait(c.writerDone, streamGrace)

	switch {
	case stuck > 0:
		return fmt.Errorf("conn: %d requests were still being worked on %v after they had been cancelled", stuck, c.opts.Grace)
	case errors.Is(cause, io.EOF), errors.Is(cause, errClose):
		return err
	default:
		return cause
	}
}

// linger lets work go on after the peer ended its output.
func (c *Conn) linger(ctx context.Context, idle <-chan struct{}) {
	if c.opts.Linger <= 0 {
		return
	}
	t := time.NewTimer(c.opts.Linger)
	defer t.Stop()
	select {
	case <-idle:
	case <-t.C:
	case <-ctx.Done():
	case <-c.refused:
	}
}

// Close ends the connection. What was written before is still sent, for which
// Close waits as long as Options.Grace; nothing new is read or accepted, calls
// return, the contexts of all work end. Close does not wait for that work, which
// Run does, so a handler may call it. The error is that of closing the streams.
// Calling Close again does no harm.
func (c *Conn) Close() error {
	c.end(errClose)
	return c.shut()
}

// shut refuses new output, lets the queue drain and closes the streams.
func (c *Conn) shut() error {
	c.update(c.refuse)
	wait(c.writerDone, c.opts.Grace)
	return c.closeStreams()
}

// wait waits until done is closed, for d at most.
func wait(done <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// errClose is the cause of an end by Close.
var errClose = errors.New("closed by this side")

// closedError is what the operations of an ended connection return.
type closedError struct{ cause error }

// Error says who closed the connection.
func (e closedError) Error() string {
	switch {
	case errors.Is(e.cause, io.EOF):
		return ErrClosed.Error() + " by the peer"
	case errors.Is(e.cause, errClose):
		return ErrClosed.Error()
	default:
		return ErrClosed.Error() + ": " + e.cause.Error()
	}
}

// Unwrap returns ErrClosed and the cause.
func (e closedError) Unwrap() []error { return []error{ErrClosed, e.cause} }
