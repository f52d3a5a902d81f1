package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/internal/peer"
)

// A Server offers tools, prompts and resources to clients of every revision. It holds no connection: front ends (package mcphttp,
// [Server.ServeStdio], [Server.ServeConn], or a program's own) hand it one [Exchange] after the other.
//
// All methods may be called concurrently, and while the server is serving, unless their comment says otherwise.
type Server struct {
	info    Implementation
	options ServerOptions
	log     *slog.Logger
	served  era.Set
	check   error // what is wrong with the options; reported when the server first serves

	tools      registry[*toolEntry]
	prompts    registry[*promptEntry]
	resources  registry[*resourceEntry]
	templates  registry[*templateEntry]
	custom     customMethods
	extensions extensions
	completes  atomic.Bool // something proposes completions

	chain atomic.Pointer[chain] // middleware around dispatch
	facts clientCache
	stamp stamps // encoded pieces that go into results

	audience audience // sessions and listeners that are told of changes
	drain    drain
	asks     *askRuntime // questions to the person
}

// ServerOptions are the options of [NewServer]. The zero value of each field is its default.
type ServerOptions struct {
	// Title, Description, WebsiteURL and Icons describe the server further; revisions that lack a field do not see it.
	Title, Description, WebsiteURL string
	Icons                          []Icon
	// Instructions tell a model how to use the server.
	Instructions string

	// Revisions are the protocol revisions to serve, such as [Revision20260728]; nil means all of them.
	Revisions []Revision
	// Logger takes what goes wrong on this side, internal errors and panics with their stack above all. nil means slog.Default().
	Logger *slog.Logger

	// Declare lists capabilities to declare although nothing is registered for them yet: "tools", "prompts", "resources",
	// "completions". What is registered before serving is declared by itself; what comes while serving must be declared here for
	// clients of the handshake era to look for it.
	Declare []string
	// NoLogging withholds the logging capability: messages of [Call.Log] are then dropped.
	NoLogging bool
	// LogLevel is the lowest level of log messages for clients of the handshake era that set none. The default is "info".
	LogLevel LoggingLevel
	// Extensions are the settings of protocol extensions by their id ("com.example/thing"), as declared in the capabilities; see
	// [Server.DeclareExtension].
	Extensions map[string]any
	// Experimental are experimental capabilities, as declared.
	Experimental map[string]any

	// PageSize is the number of entries in one page of a list. The default is 1000.
	PageSize int
	// ListTTL says for how long clients may keep lists and the answer to server/discover (2026-07-28), in whole milliseconds. The
	// default is 0: ask each time.
	ListTTL time.Duration
	// PublicLists allows shared caches to keep lists for everybody. The default is that a list is kept for the caller alone; so is
	// every list when Visible is set.
	PublicLists bool

	// MaxInFlight bounds the requests that one stream connection (stdio, pipe, socket) has being served; beyond it reading pauses.
	// The default is 1024.
	MaxInFlight int
	// MaxLine bounds one message on a stream connection, in bytes. The default is 16 MiB.
	MaxLine int
	// MaxListeners bounds the subscriptions/listen streams of the whole server (2026-07-28). The default is 10,000.
	MaxListeners int
	// MaxListenersPerPeer bounds the streams of one caller among them: of one principal, or, for anonymous callers, of one network
	// address (one /64 network of IPv6; loopback addresses are not bounded, because a proxy there is everybody). Behind a proxy on
	// another machine that does not authenticate set it to MaxListeners. The default is a quarter of MaxListeners, and at least 64.
	MaxListenersPerPeer int
	// MaxSubscriptions bounds the resources that one session or one listen stream may subscribe to. The default is 1000. Their URIs may
	// have 256 KiB together.
	MaxSubscriptions int
	// MaxQueue bounds the messages that wait for one slow session; beyond it the oldest is lost, and logged. The default is 256.
	// Change notices do not count: they are coalesced.
	MaxQueue int
	// MaxPending bounds the requests to one session's client that wait for an answer. The default is 100.
	MaxPending int
	// NoticeDelay is the least time between two notices of changes of one kind to one client: the first change for some time is told
	// almost at once, a millisecond later, and those that follow are told together when the delay is over. The default is 50 ms; a
	// negative value means no delay, and no waiting for others at all.
	NoticeDelay time.Duration
	// StopDelay is how long a stream connection whose client has gone waits for handlers that do not heed their context. The default
	// is 5 s.
	StopDelay time.Duration

	// Ask are the options for questions to the person. The default is nil: the defaults of each.
	Ask *AskOptions

	// Authorize is called for every request and notification once it is decoded, before its handler. An error refuses it: an *[Error]
	// as it is, anything else as "not permitted". An error with a method HTTPStatus() int chooses the HTTP status. [Call.Scopes] are the
	// scopes that the caller needs. The default is nil: callers over HTTP must have them, as they stand in [Principal.Scopes].
	Authorize func(ctx context.Context, call *Call) error
	// Visible filters lists, and what is not visible cannot be used either: it is answered as if it did not exist. It is called for
	// each entry of each list and must be fast; it may be called concurrently.
	Visible func(call *Call, kind Kind, name string) bool
	// PropagatePanics lets a panic of a handler end the process, as is useful under a debugger. The default is to contain it: the
	// request is answered with "internal error" and the log gets the stack.
	PropagatePanics bool
}

// A Kind says what sort of thing a name names.
type Kind string

// The kinds of things that a server offers.
const (
	KindTool             Kind = "tool"
	KindPrompt           Kind = "prompt"
	KindResource         Kind = "resource"
	KindResourceTemplate Kind = "resourceTemplate"
)

// Defaults of ServerOptions.
const (
	defaultPageSize         = 1000
	defaultMaxListeners     = 10_000
	defaultMaxSubscriptions = 1000
	defaultMaxQueue         = 256
	defaultMaxPending       = 100
	defaultNoticeDelay      = 50 * time.Millisecond
	defaultStopDelay        = 5 * time.Second
)

// NewServer makes a server that calls itself name at version. A nil o means the defaults. Options that make no sense are reported when
// the server first serves: every front end returns or logs the error of [Server.Err].
func NewServer(name, version string, o *ServerOptions) *Server {
	if o == nil {
		o = &ServerOptions{}
	}
	s := &Server{options: *o, log: o.Logger}
	s.info = Implementation{
		Name: name, Version: version, Title: o.Title, Description: o.Description, WebsiteURL: o.WebsiteURL, Icons: o.Icons,
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	var badAsk error
	s.asks, badAsk = newAskRuntime(name, o.Ask, s.log)
	s.check = errors.Join(s.applyOptions(), badAsk, s.serveDraft())
	s.stamp.init(&s.info, &s.options)
	s.chain.Store(&chain{handler: s.handle})
	s.drain.init()
	return s
}

// Err returns what is wrong with the server's options, naming the fields; nil when nothing is.
func (s *Server) Err() error { return s.check }

// Info returns what the server calls itself.
func (s *Server) Info() Implementation { return s.info }

// Revisions returns the revisions that are served, newest first.
func (s *Server) Revisions() []Revision {
	revs := s.served.Revisions()
	slices.Reverse(revs)
	return revs
}

// applyOptions fills in defaults and checks the rest.
func (s *Server) applyOptions() error {
	o := &s.options
	var errs []error
	number := func(field string, p *int, def int) {
		switch {
		case *p == 0:
			*p = def
		case *p < 0:
			errs = append(errs, fmt.Errorf("ServerOptions.%s is %d; it must not be negative", field, *p))
		}
	}
	number("PageSize", &o.PageSize, defaultPageSize)
	number("MaxInFlight", &o.MaxInFlight, 0)
	number("MaxLine", &o.MaxLine, 0)
	number("MaxListeners", &o.MaxListeners, defaultMaxListeners)
	number("MaxListenersPerPeer", &o.MaxListenersPerPeer, peer.Share(o.MaxListeners))
	number("MaxSubscriptions", &o.MaxSubscriptions, defaultMaxSubscriptions)
	number("MaxQueue", &o.MaxQueue, defaultMaxQueue)
	number("MaxPending", &o.MaxPending, defaultMaxPending)
	if o.NoticeDelay == 0 {
		o.NoticeDelay = defaultNoticeDelay
	}
	if o.StopDelay == 0 {
		o.StopDelay = defaultStopDelay
	}
	if o.ListTTL < 0 {
		errs = append(errs, fmt.Errorf("ServerOptions.ListTTL is %v; it must not be negative", o.ListTTL))
	}
	if o.LogLevel == "" {
		o.LogLevel = LevelInfo
	} else if !o.LogLevel.Valid() {
		errs = append(errs, fmt.Errorf("ServerOptions.LogLevel is %q, which is no log level", o.LogLevel))
	}
	for _, d := range o.Declare {
		switch d {
		case "tools", "prompts", "resources", "completions":
		default:
			errs = append(errs, fmt.Errorf("ServerOptions.Declare names %q; it may name tools, prompts, resources and completions", d))
		}
	}
	if s.info.Name == "" {
		errs = append(errs, errors.New("NewServer: the server's name is empty"))
	}
	return errors.Join(append(errs, s.applyRevisions(), s.declareExtensions(o.Extensions))...)
}

// applyRevisions decides what is served.
func (s *Server) applyRevisions() error {
	s.served = builtRevisions
	if s.options.Revisions == nil {
		return nil
	}
	var set era.Set
	for _, rev := range s.options.Revisions {
		if !builtRevisions.Has(rev) {
			return fmt.Errorf("ServerOptions.Revisions names %s; this build serves %v", nameRevision(rev), builtRevisions.Strings())
		}
		set |= era.SetOf(rev)
	}
	if set == 0 {
		return errors.New("ServerOptions.Revisions is empty; nil means all")
	}
	s.served = set
	return nil
}

// nameRevision names a revision to a programmer, whether it is one or not.
func nameRevision(rev Revision) string {
	if rev.Valid() {
		return rev.String()
	}
	return fmt.Sprintf("Revision(%d), which is none", uint8(rev))
}

// A clientCache keeps what clients said about themselves, decoded, so that the same words are decoded once. What is in it must not be
// modified.
type clientCache struct {
	mu   sync.RWMutex
	caps map[string]*ClientCapabilities
	info map[string]*Implementation
}

// bounds of a clientCache: longer texts are decoded each time, and a full cache is emptied.
const (
	maxCachedFacts    = 256
	maxCachedFactSize = 4 << 10
)
