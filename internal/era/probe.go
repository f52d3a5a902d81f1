package era

import (
	"github.com/seed38e7925c/parley/jsonrpc"
)

// Probe is what came of a client's first request to a server whose era is not known: a modern request, best
// server/discover, in the revision Tried.
type Probe struct {
	Transport Transport
	// Speaks is the set of revisions the client can speak.
	Speaks Set
	// Tried is the revision of the request.
	Tried Revision
	// Retried: this was already the second attempt in the modern era, so another correction is not asked for.
	Retried bool

	// Silent: no answer within the probe's time limit.
	Silent bool
	// Died: the connection ended, on a byte stream, before an answer came.
	Died bool
	// Status is the HTTP status; 0 on byte streams.
	Status int

	// Result: the answer is a result.
	Result bool
	// HasResultType: the result carries resultType.
	HasResultType bool
	// Versions is supportedVersions of the result, or data.supported of a CodeUnsupportedVersion error. Nil is absent.
	Versions []string
	// Err is the JSON-RPC error of the answer, if it is one.
	Err *jsonrpc.Error
}

// Action is what a client does after a [Probe].
type Action uint8

// The actions.
const (
	ActFail       Action = iota // give up: Decision.Why says why
	ActModern                   // go on in Decision.Revision
	ActRetry                    // send the probe again, in Decision.Revision
	ActInitialize               // shake hands; over HTTP, see also FallBackToSSE
	ActRestart                  // start the process again, then shake hands without a probe
	ActAuthorize                // authorize, then send the probe again
	ActLater                    // the server is there but busy: send the probe again after a pause
)

// Decision is the result of [Decide].
type Decision struct {
	Action   Action
	Revision Revision
	// Why explains the decision, for logs and for the error of ActFail.
	Why string
}

// Decide says how a client goes on after its first request. It is a pure function.
//
// Fallback to initialize is not tied to one error code: whatever a modern server would not say leads there. A client
// that speaks no legacy revision fails instead.
func Decide(p *Probe) Decision {
	switch {
	case p.Died:
		return p.orFail(ActRestart, "the server ended when it met a request before initialize")
	case p.Silent:
		return p.orFail(ActInitialize, "the server did not answer the probe")
	case p.Transport == TransportHTTP && !p.Result:
		if d, ok := p.byStatus(); ok {
			return d
		}
	}
	if p.Result {
		return p.byResult()
	}
	return p.byError()
}

// byStatus handles the statuses that say more than the body.
func (p *Probe) byStatus() (Decision, bool) {
	switch p.Status {
	case 401, 403:
		return Decision{Action: ActAuthorize, Why: "the server wants authorization first"}, true
	case 408, 425, 429, 502, 503, 504:
		return Decision{Action: ActLater, Revision: p.Tried, Why: "the server is busy or not reachable"}, true
	case statusNotFound:
		if p.Err != nil && p.Err.Code == jsonrpc.CodeMethodNotFound {
			return Decision{Action: ActModern, Revision: p.Tried, Why: "404 with method not found: a modern server without the method"}, true
		}
	}
	return Decision{}, false
}

func (p *Probe) byResult() Decision {
	if !p.HasResultType {
		return p.orFail(ActInitialize, "the result has no resultType: an older server that answers before initialize")
	}
	if p.Versions == nil {
		return Decision{Action: ActModern, Revision: p.Tried, Why: "a result of the modern era"}
	}
	return p.choose(ActModern)
}

func (p *Probe) byError() Decision {
	if p.Err == nil {
		return p.orFail(ActInitialize, "the answer is no JSON-RPC message of the modern era")
	}
	switch p.Err.Code {
	case CodeUnsupportedVersion:
		if p.Retried {
			return Decision{Why: "the server refuses a version that it named itself: " + quote(p.Err.Message)}
		}
		return p.choose(ActRetry)
	case CodeMissingCapability:
		return Decision{Action: ActModern, Revision: p.Tried, Why: "a refusal of the modern era"}
	case CodeHeaderMismatch:
		if p.Retried {
			return Decision{Why: "the server keeps refusing the request's headers, so something in between changes them: " + quote(p.Err.Message)}
		}
		return Decision{Action: ActRetry, Revision: p.Tried, Why: "the server refused the request's headers"}
	}
	return p.orFail(ActInitialize, "the server answered the probe with an error of its own: "+quote(p.Err.Message))
}

// choose takes the newest revision that both sides know; act is what to do with a modern one.
func (p *Probe) choose(act Action) Decision {
	common := p.Speaks.Common(p.Versions)
	if m := common.Modern(); m != 0 {
		return Decision{Action: act, Revision: m.Newest(), Why: "both sides speak it"}
	}
	if common.Legacy() != 0 {
		return Decision{Action: ActInitialize, Revision: common.Newest(), Why: "only older revisions are common"}
	}
	return Decision{Why: "no common protocol revision: the server serves " + listNames(p.Versions) + ", this client speaks " + list(p.Speaks)}
}

func (p *Probe) orFail(a Action, why string) Decision {
	if p.Speaks.Legacy() == 0 {
		return Decision{Why: why + "; this client speaks only " + list(p.Speaks)}
	}
	return Decision{Action: a, Revision: p.Speaks.Legacy().Newest(), Why: why}
}

func listNames(versions []string) string {
	const most = 10
	if len(versions) == 0 {
		return "none that it names"
	}
	out := ""
	for i, v := range versions {
		if i == most {
			return out + ", …"
		}
		if i > 0 {
			out += ", "
		}
		out += quote(v)
	}
	return out
}

// FallBackToSSE reports whether a client whose POST of initialize was answered with this HTTP status tries HTTP+SSE of
// 2024-11-05 next: a GET that waits for an endpoint event.
func FallBackToSSE(status int) bool {
	return status == statusBadRequest || status == statusNotFound || status == 405
}
