package matrix

import (
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
	"github.com/seed38e7925c/parley/mcptest"
)

// The transports.
const (
	Pipe  = "pipe"  // in memory
	Stdio = "stdio" // a process of its own
	HTTP  = "http"  // Streamable HTTP; for 2024-11-05 HTTP+SSE
)

// patience is how long anything may take that must happen.
const patience = 20 * time.Second

// A Leg is one way to speak to a server.
type Leg struct {
	Transport string
	Revision  mcp.Revision
}

// String returns the leg's name, as in "http/2025-06-18".
func (l Leg) String() string { return l.Transport + "/" + l.Revision.String() }

// Modern reports whether the revision of the leg has no handshake.
func (l Leg) Modern() bool { return !l.Revision.Rules().Handshake }

// Is returns a filter for the legs of a transport.
func Is(transport string) func(Leg) bool {
	return func(l Leg) bool { return l.Transport == transport }
}

// Revisions returns a filter for the legs of revisions.
func Revisions(revs ...mcp.Revision) func(Leg) bool {
	return func(l Leg) bool { return slices.Contains(revs, l.Revision) }
}

// Modern is a filter for the legs without a handshake.
func Modern(l Leg) bool { return l.Modern() }

// Handshake is a filter for the legs that begin with a handshake.
func Handshake(l Leg) bool { return !l.Modern() }

// Legs returns the legs of this build that every filter lets through. A process is started for the newest revision of each
// era only, since it runs the same code as the pipe.
func Legs(filters ...func(Leg) bool) []Leg {
	var legs []Leg
	for _, transport := range []string{Pipe, Stdio, HTTP} {
		for _, rev := range mcp.Revisions() {
			l := Leg{Transport: transport, Revision: rev}
			if !served(l) || transport == Stdio && !Revisions(mcp.Revision20251125, mcp.Revision20260728)(l) {
				continue
			}
			if !slices.ContainsFunc(filters, func(f func(Leg) bool) bool { return !f(l) }) {
				legs = append(legs, l)
			}
		}
	}
	return legs
}

// Each runs f for each leg, as a test of its own.
func Each(t *testing.T, f func(t *testing.T, l Leg), filters ...func(Leg) bool) {
	t.Helper()
	for _, l := range Legs(filters...) {
		t.Run(l.String(), func(t *testing.T) { f(t, l) })
	}
}

// fixtureEnv names the fixture that a process is to serve.
const fixtureEnv = "PARLEY_MATRIX_FIXTURE"

// A Fixture is a kind of server that tests speak to.
type Fixture struct {
	name string
	make func() *mcp.Server
}

var fixtures = map[string]*Fixture{}

// NewFixture makes a fixture. It is for package-level variables: the process of a [Stdio] leg finds the fixture by its name.
func NewFixture(name string, make func() *mcp.Server) *Fixture {
	if fixtures[name] != nil {
		panic("matrix: two fixtures are called " + name)
	}
	f := &Fixture{name: name, make: make}
	fixtures[name] = f
	return f
}

// Local makes a fixture for a test whose server must be in the same process; it cannot be used on legs of [Stdio].
func Local(make func() *mcp.Server) *Fixture { return &Fixture{make: make} }

// Main runs the tests of a package, or serves a fixture where the process was started for that. It does not return.
func Main(m *testing.M) {
	if name := os.Getenv(fixtureEnv); name != "" {
		serveFixture(name)
	}
	mcptest.Main(m)
}

// env is the environment of a process that serves f.
func (f *Fixture) env() []string {
	if f.name == "" {
		panic("matrix: a local fixture has no process of its own")
	}
	return append(os.Environ(), fixtureEnv+"="+f.name, "GORACE=atexit_sleep_ms=0") // the race detector waits a second at exit
}

// Client connects a client that speaks the leg's revision alone, and closes it with the test.
func (l Leg) Client(t *testing.T, f *Fixture, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	return l.connect(t, l.transport(t, f), o)
}

func (l Leg) connect(t *testing.T, transport mcp.Transport, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	var options mcp.ClientOptions
	if o != nil {
		options = *o
	}
	options.Revisions = []mcp.Revision{l.Revision}
	c := open(t, transport, &options)
	if got := c.Server().Revision; got != l.Revision {
		t.Fatalf("connected at %v", got)
	}
	return c
}

func open(t *testing.T, transport mcp.Transport, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	c, err := mcp.Connect(t.Context(), transport, o)
	if err != nil {
		t.Fatalf("Connect: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// transport returns a transport to a server of the fixture.
func (l Leg) transport(t *testing.T, f *Fixture) mcp.Transport {
	switch l.Transport {
	case Stdio:
		return mcp.Command(os.Args[0], nil, &mcp.CommandOptions{Env: f.env(), Stderr: t.Output()})
	case HTTP:
		return mcphttp.Dial(l.serveHTTP(t, f.make()), &mcphttp.DialOptions{CloseTimeout: patience})
	default:
		return mcp.Pipe(f.make().ServeConn)
	}
}

// serveHTTP serves srv until the test ends and returns the URL.
func (l Leg) serveHTTP(t *testing.T, srv *mcp.Server) string {
	t.Helper()
	ts := httptest.NewServer(l.handler(t, srv))
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return ts.URL + "/mcp"
}

// Any connects a client that speaks every revision, and closes it with the test.
func (l Leg) Any(t *testing.T, f *Fixture, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	return open(t, l.transport(t, f), o)
}
