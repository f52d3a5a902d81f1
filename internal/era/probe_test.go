package era_test

import (
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

func failure(code jsonrpc.Code) *jsonrpc.Error { return &jsonrpc.Error{Code: code, Message: "no"} }

// TestDecide has one row for each way a server can answer a probe.
func TestDecide(t *testing.T) {
	type probe = era.Probe
	for _, c := range []struct {
		name   string
		probe  probe
		action era.Action
		rev    era.Revision
	}{
		{"stream: discover result", probe{Result: true, HasResultType: true, Versions: []string{"2026-07-28"}}, era.ActModern, era.R20260728},
		{"stream: discover result of a newer server too", probe{Result: true, HasResultType: true, Versions: []string{"2027-01-01", "2026-07-28", "2025-11-25"}}, era.ActModern, era.R20260728},
		{"stream: result of another method", probe{Result: true, HasResultType: true}, era.ActModern, era.R20260728},
		{"stream: result without resultType", probe{Result: true}, era.ActInitialize, era.R20251125},
		{"stream: only legacy versions", probe{Result: true, HasResultType: true, Versions: []string{"2025-06-18", "2024-11-05"}}, era.ActInitialize, era.R20250618},
		{"stream: no common version", probe{Result: true, HasResultType: true, Versions: []string{"2027-01-01"}}, era.ActFail, 0},
		{"stream: names no version", probe{Result: true, HasResultType: true, Versions: []string{}}, era.ActFail, 0},
		{"stream: unsupported version", probe{Err: failure(-32022), Versions: []string{"2026-07-28"}}, era.ActRetry, era.R20260728},
		{"stream: unsupported version, legacy offered", probe{Err: failure(-32022), Versions: []string{"2025-11-25"}}, era.ActInitialize, era.R20251125},
		{"stream: unsupported version, nothing in common", probe{Err: failure(-32022), Versions: []string{"2027-01-01"}}, era.ActFail, 0},
		{"stream: unsupported version again", probe{Retried: true, Err: failure(-32022), Versions: []string{"2026-07-28"}}, era.ActFail, 0},
		{"stream: missing capability", probe{Err: failure(-32021)}, era.ActModern, era.R20260728},
		{"stream: header mismatch", probe{Err: failure(-32020)}, era.ActRetry, era.R20260728},
		{"stream: header mismatch again", probe{Retried: true, Err: failure(-32020)}, era.ActFail, 0},
		{"stream: method not found", probe{Err: failure(-32601)}, era.ActInitialize, era.R20251125},
		{"stream: invalid params", probe{Err: failure(-32602)}, era.ActInitialize, era.R20251125},
		{"stream: invalid request", probe{Err: failure(-32600)}, era.ActInitialize, era.R20251125},
		{"stream: not initialized", probe{Err: failure(-32000)}, era.ActInitialize, era.R20251125},
		{"stream: code 0", probe{Err: failure(0)}, era.ActInitialize, era.R20251125},
		{"stream: silence", probe{Silent: true}, era.ActInitialize, era.R20251125},
		{"stream: death", probe{Died: true}, era.ActRestart, era.R20251125},

		{"http: discover result", probe{Transport: era.TransportHTTP, Status: 200, Result: true, HasResultType: true, Versions: []string{"2026-07-28"}}, era.ActModern, era.R20260728},
		{"http: 200 without resultType", probe{Transport: era.TransportHTTP, Status: 200, Result: true}, era.ActInitialize, era.R20251125},
		{"http: 200 with an error", probe{Transport: era.TransportHTTP, Status: 200, Err: failure(-32000)}, era.ActInitialize, era.R20251125},
		{"http: 400 unsupported version", probe{Transport: era.TransportHTTP, Status: 400, Err: failure(-32022), Versions: []string{"2026-07-28"}}, era.ActRetry, era.R20260728},
		{"http: 400 header mismatch", probe{Transport: era.TransportHTTP, Status: 400, Err: failure(-32020)}, era.ActRetry, era.R20260728},
		{"http: 400 missing capability", probe{Transport: era.TransportHTTP, Status: 400, Err: failure(-32021)}, era.ActModern, era.R20260728},
		{"http: 400 text", probe{Transport: era.TransportHTTP, Status: 400}, era.ActInitialize, era.R20251125},
		{"http: 400 invalid request", probe{Transport: era.TransportHTTP, Status: 400, Err: failure(-32600)}, era.ActInitialize, era.R20251125},
		{"http: 404 method not found", probe{Transport: era.TransportHTTP, Status: 404, Err: failure(-32601)}, era.ActModern, era.R20260728},
		{"http: 404 html", probe{Transport: era.TransportHTTP, Status: 404}, era.ActInitialize, era.R20251125},
		{"http: 404 other error", probe{Transport: era.TransportHTTP, Status: 404, Err: failure(-32001)}, era.ActInitialize, era.R20251125},
		{"http: 405", probe{Transport: era.TransportHTTP, Status: 405}, era.ActInitialize, era.R20251125},
		{"http: 406", probe{Transport: era.TransportHTTP, Status: 406}, era.ActInitialize, era.R20251125},
		{"http: 500", probe{Transport: era.TransportHTTP, Status: 500}, era.ActInitialize, era.R20251125},
		{"http: 401", probe{Transport: era.TransportHTTP, Status: 401, Err: failure(-32000)}, era.ActAuthorize, 0},
		{"http: 403", probe{Transport: era.TransportHTTP, Status: 403}, era.ActAuthorize, 0},
		{"http: 429", probe{Transport: era.TransportHTTP, Status: 429}, era.ActLater, era.R20260728},
		{"http: 503", probe{Transport: era.TransportHTTP, Status: 503}, era.ActLater, era.R20260728},
		{"http: silence", probe{Transport: era.TransportHTTP, Silent: true}, era.ActInitialize, era.R20251125},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.probe.Speaks, c.probe.Tried = era.AllSet, era.R20260728
			d := era.Decide(&c.probe)
			if d.Action != c.action || d.Revision != c.rev || d.Why == "" {
				t.Errorf("got %+v, want action %d with %q", d, c.action, c.rev)
			}
		})
	}
}

// TestDecideModernOnly: a client without older revisions never falls back to them.
func TestDecideModernOnly(t *testing.T) {
	for _, p := range []era.Probe{
		{Died: true}, {Silent: true}, {Result: true}, {Err: failure(-32601)}, {},
		{Transport: era.TransportHTTP, Status: 405},
		{Err: failure(-32022), Versions: []string{"2025-11-25"}},
	} {
		p.Speaks, p.Tried = era.ModernSet, era.R20260728
		if d := era.Decide(&p); d.Action != era.ActFail || !strings.Contains(d.Why, "2026-07-28") {
			t.Errorf("%+v: got %+v", p, d)
		}
	}
}

// TestDecideBoundsNames: a server that names a great many versions does not fill the error with them.
func TestDecideBoundsNames(t *testing.T) {
	many := make([]string, 1000)
	for i := range many {
		many[i] = strings.Repeat("9", 1000)
	}
	p := era.Probe{Speaks: era.AllSet, Tried: era.R20260728, Result: true, HasResultType: true, Versions: many}
	if d := era.Decide(&p); d.Action != era.ActFail || len(d.Why) > 3000 {
		t.Errorf("action %d with %d bytes", d.Action, len(d.Why))
	}
}

func TestFallBackToSSE(t *testing.T) {
	for status, want := range map[int]bool{400: true, 404: true, 405: true, 401: false, 403: false, 406: false, 500: false, 200: false} {
		if era.FallBackToSSE(status) != want {
			t.Errorf("%d: %v", status, !want)
		}
	}
}
