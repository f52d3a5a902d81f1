package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/seed38e7925c/parley/internal/era"
)

// Defaults of [ClientOptions].
const (
	defaultConnectTimeout  = 60 * time.Second
	defaultProbeTimeout    = 5 * time.Second
	defaultRequestTimeout  = 60 * time.Second
	defaultTotalTimeout    = time.Hour
	defaultCloseTimeout    = 10 * time.Second
	defaultCompletionWait  = 10 * time.Minute
	defaultMaxRounds       = 10
	defaultMaxPolls        = 100
	defaultMaxQuestions    = 100
	defaultMaxPages        = 1000
	maxListItems           = 100_000
	maxURLRequiredAttempts = 3
)

// ClientOptions adjust a [Client]. A nil *ClientOptions, and every zero field, means the default. Connect copies the options;
// everything that handles messages of the server is fixed from then on.
type ClientOptions struct {
	// Info is what the client calls itself. Default: the name and version of the running program.
	Info *Implementation
	// Interactor puts the server's questions to a person; the capabilities elicitation, sampling and roots follow from the functions
	// that it has. Default: nobody can be asked, and nothing is declared.
	Interactor *Interactor
	// Revisions are the revisions that may be spoken. Default: all. Without one of the handshake era the client never falls back, with
	// those alone it never probes.
	Revisions []Revision
	// Extensions are declared in the client's capabilities: settings by identifier, each a JSON object.
	Extensions map[string]json.RawMessage
	// Experimental capabilities, each a JSON object.
	Experimental map[string]json.RawMessage

	// ConnectTimeout bounds Connect and every reconnection. Default 60 s.
	ConnectTimeout time.Duration
	// ProbeTimeout is how long a server may be silent about server/discover before it is spoken to in the older way. Default 5 s.
	ProbeTimeout time.Duration
	// RequestTimeout is how long one request may go unanswered, not counting the time that a question of its call is with the person.
	// In a multi-round call each round has its own. Default 60 s; negative for none.
	RequestTimeout time.Duration
	// TotalTimeout bounds a call over all its rounds, progress or not, again without the person's time. Default 1 h; negative for none.
	TotalTimeout time.Duration
	// ResetOnProgress lets every advance that the server reports start RequestTimeout anew; the client then asks for progress on every
	// call. TotalTimeout still holds.
	ResetOnProgress bool
	// CloseTimeout bounds the time that Close waits for handlers that are still running. Default 10 s.
	CloseTimeout time.Duration
	// CompletionWait bounds the wait for a page that a call was refused for (2025-11-25, -32042; the User Interaction draft, -32003) to
	// be finished. Default 10 min.
	CompletionWait time.Duration

	// MaxRounds bounds how often one call may come back with questions. Default 10.
	MaxRounds int
	// MaxQuestions bounds what one call may ask the person in all its rounds, pages to visit included, and what a server may ask within
	// a minute by requests of its own (the handshake era). Beyond it nothing more is put to the person. Default 100.
	MaxQuestions int
	// MaxPolls bounds how often one call may come back without a question, only to be repeated. Repetitions are spaced from 250 ms
	// up to 5 s. Default 100.
	MaxPolls int
	// MaxPages bounds how many pages the iterators fetch. Default 1000, and at most 100,000 items.
	MaxPages int
	// ValidateOutput checks structured tool results against the tool's outputSchema where it is known from an earlier list. A result
	// that breaks it is returned inside an *[OutputError].
	ValidateOutput bool
	// AllowSecretForms lets servers ask for what looks like a secret (a password, a key) in a form, which they must not do: its answer
	// passes through this client and may reach a model.
	AllowSecretForms bool
	// InteractionDraft speaks the User Interaction draft of June 2025, the forerunner of URL questions, to servers with a handshake,
	// beside what their revision has. An interactor with Open declares userInteraction with type "ua", and "prompt" if it has Form;
	// interaction/create is answered by them, and calls that are refused with error -32003 are repeated once the page in it is
	// finished: the server reports that over interaction/track, or the person says so ([Interactor.Wait]), within CompletionWait and
	// MaxRounds pages. The default is off, and revisions without a handshake never hear of it.
	InteractionDraft bool
	// AllowInsecureURLs lets pages be opened over http on hosts other than this machine.
	AllowInsecureURLs bool

	// LogLevel asks the server for log messages of at least this level, which go to OnLog. Default: none are asked for.
	LogLevel LoggingLevel
	// OnLog receives the server's log messages, one at a time. [LogTo] makes one that writes to a [slog.Logger].
	OnLog func(ctx context.Context, m *LogMessage)
	// OnNotice receives the changes that the server tells of and that no [Client.Subscribe] of this client takes, one at a time: in the
	// handshake era servers tell of changed lists unasked. Each notice is delivered once, to the subscriptions that match or here. It
	// may use the client, except for Close.
	OnNotice func(ctx context.Context, n Notice)
	// OnStateLost is told that the server, or its session, began anew and whatever it held for this client is gone.
	OnStateLost func()
	// Methods answers requests of the server beyond those of the protocol (handshake era); [HandleServerRequest] adds to it.
	Methods map[string]ServerRequestHandler
	// Notifications receives notifications beyond those of the protocol; [HandleServerNotification] adds to it.
	Notifications map[string]ServerNotificationHandler
	// ResultTypes resolves results of types that an extension defines (2026-07-28, such as "task") to complete ones. Other types than
	// those here, "complete" and "input_required" are invalid.
	ResultTypes map[string]ResultResolver
	// Middleware wraps every request, the first outermost.
	Middleware []ClientMiddleware

	// Cache holds responses that the server allows to be kept. Default: one of this client's own. Sharing one between clients is safe.
	Cache *ResponseCache
	// NoCache turns the cache off.
	NoCache bool
	// Logger receives the client's own diagnostics. Default: none.
	Logger *slog.Logger
}

// withDefaults returns a copy with every default filled in.
func (o *ClientOptions) withDefaults() (*ClientOptions, error) {
	var out ClientOptions
	if o != nil {
		out = *o
	}
	setDefault(&out.ConnectTimeout, defaultConnectTimeout)
	setDefault(&out.ProbeTimeout, defaultProbeTimeout)
	setDefault(&out.RequestTimeout, defaultRequestTimeout)
	setDefault(&out.TotalTimeout, defaultTotalTimeout)
	setDefault(&out.CloseTimeout, defaultCloseTimeout)
	setDefault(&out.CompletionWait, defaultCompletionWait)
	setDefault(&out.MaxRounds, defaultMaxRounds)
	setDefault(&out.MaxPolls, defaultMaxPolls)
	setDefault(&out.MaxQuestions, defaultMaxQuestions)
	setDefault(&out.MaxPages, defaultMaxPages)
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	if out.Info == nil {
		out.Info = programInfo()
	}
	if out.Interactor == nil {
		out.Interactor = &Interactor{}
	}
	if out.Cache == nil && !out.NoCache {
		out.Cache = NewResponseCache(nil)
	}
	if out.NoCache {
		out.Cache = nil
	}
	for _, r := range out.Revisions {
		if !r.Valid() {
			return nil, fmt.Errorf("mcp: ClientOptions.Revisions names %s", nameRevision(r))
		}
	}
	for name, v := range out.Extensions {
		if !isObject(v) {
			return nil, fmt.Errorf("mcp: ClientOptions.Extensions[%q] must be a JSON object", name)
		}
	}
	for name, v := range out.Experimental {
		if !isObject(v) {
			return nil, fmt.Errorf("mcp: ClientOptions.Experimental[%q] must be a JSON object", name)
		}
	}
	return &out, nil
}

func setDefault[T int | time.Duration](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}

// revisions returns what may be spoken.
func (o *ClientOptions) revisions() era.Set {
	if len(o.Revisions) == 0 {
		return clientRevisions
	}
	return era.SetOf(o.Revisions...) & clientRevisions
}

// RequestOptions adjust one request. Methods take at most one; nil and every zero field mean what the client's options say.
type RequestOptions struct {
	// Timeout and TotalTimeout replace RequestTimeout and TotalTimeout of the client; negative for none.
	Timeout, TotalTimeout time.Duration
	// ResetOnProgress is as in [ClientOptions].
	ResetOnProgress bool
	// Progress is called with each advance that the server reports, one at a time, and never again once the call has returned.
	// Reports that do not advance are left out.
	Progress func(p Progress)
	// LogLevel asks for log messages of at least this level while the request runs (2026-07-28).
	LogLevel LoggingLevel
	// Meta is added to the request's _meta. Keys that the protocol sets are set by the protocol.
	Meta map[string]json.RawMessage
	// Fresh passes the cache by; what comes back is kept there nevertheless.
	Fresh bool
	// Interactor answers the questions of this call in place of the client's. Since 2026-07-28 the capabilities declared with the
	// request follow from it; before, the handshake has settled them, and questions of another kind are refused: give Connect an Interactor as well; without one
	// a call with this option is an error that wraps [ErrUnavailable].
	Interactor *Interactor
}

// Progress is one advance of a request.
type Progress struct {
	Done, Total float64 // Total is zero when it is not known
	Message     string
}

// pickOptions returns the options of a variadic call.
func pickOptions(opts []*RequestOptions) *RequestOptions {
	for _, o := range slices.Backward(opts) {
		if o != nil {
			return o
		}
	}
	return &RequestOptions{}
}
