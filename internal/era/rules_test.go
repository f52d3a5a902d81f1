package era_test

import (
	"slices"
	"testing"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

func TestRevision(t *testing.T) {
	want := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	all := era.All()
	if len(all) != len(want) {
		t.Fatalf("%d revisions", len(all))
	}
	for i, r := range all {
		parsed, ok := era.Parse(want[i])
		if !ok || parsed != r || r.String() != want[i] || !r.Valid() || r.Rules().Revision != r {
			t.Errorf("%s: parsed %v %v", want[i], parsed, ok)
		}
		if r.Modern() == r.Legacy() || r.Modern() != (r == era.R20260728) {
			t.Errorf("%s: modern %v, legacy %v", r, r.Modern(), r.Legacy())
		}
	}
	for _, s := range []string{"", "2026-07-28 ", "2026-7-28", "draft", "1999-01-01"} {
		if r, ok := era.Parse(s); ok || r != 0 {
			t.Errorf("Parse(%q) = %v", s, r)
		}
	}
	for _, r := range []era.Revision{0, 200} {
		if r.Valid() || r.Modern() || r.Legacy() || r.String() != "" || r.Rules() == nil || len(r.Rules().Requests(era.ClientToServer)) != 0 {
			t.Errorf("%d is taken for a revision", r)
		}
	}
	if era.Latest != all[len(all)-1] || !era.LatestLegacy.Legacy() {
		t.Error("latest")
	}
}

func TestSet(t *testing.T) {
	s := era.SetOf(era.R20250326, era.R20260728, 0, 99)
	if got := s.Strings(); !slices.Equal(got, []string{"2026-07-28", "2025-03-26"}) {
		t.Errorf("strings %v", got)
	}
	if s.Newest() != era.R20260728 || s.Legacy().Newest() != era.R20250326 || s.Modern() != era.ModernSet {
		t.Errorf("parts of %v", s.Strings())
	}
	if era.Set(0).Newest() != 0 || era.Set(1).Newest() != 0 || era.Set(0xff).Newest() != era.Latest || era.Set(0).Strings() == nil {
		t.Error("newest of odd sets")
	}
	if s.Has(0) || s.Has(99) || s.Has(era.R20251125) || !s.Has(era.R20250326) {
		t.Error("membership")
	}
	if got := s.Common([]string{"2099-01-01", "2025-03-26", "2025-11-25"}); got != era.SetOf(era.R20250326) {
		t.Errorf("common %v", got.Strings())
	}
	if era.AllSet != era.SetOf(era.All()...) {
		t.Error("all")
	}
}

// TestRulesOfTheTable has the rows of the notes' table that no schema can tell.
func TestRulesOfTheTable(t *testing.T) {
	type row struct {
		batch, cancelOnDisconnect, cancelOverHTTP, badArgsAsResult, uniqueIDs bool
		notFound, unsupported, missing                                        jsonrpc.Code
		http                                                                  era.HTTP
	}
	legacy := row{cancelOverHTTP: true, uniqueIDs: true, notFound: -32002, unsupported: -32602, missing: -32602}
	at := func(edit func(*row)) row { r := legacy; edit(&r); return r }
	want := map[era.Revision]row{
		era.R20241105: at(func(r *row) { r.http = era.HTTP{Session: true, ServerRequests: true, Resumable: true} }),
		era.R20250326: at(func(r *row) {
			r.batch, r.http = true, era.HTTP{Streamable: true, Session: true, ServerRequests: true, Resumable: true}
		}),
		era.R20250618: at(func(r *row) {
			r.http = era.HTTP{Streamable: true, Session: true, Version: era.VersionHeaderSession, ServerRequests: true, Resumable: true}
		}),
		era.R20251125: at(func(r *row) {
			r.badArgsAsResult = true
			r.http = era.HTTP{Streamable: true, Session: true, Version: era.VersionHeaderSession, ServerRequests: true, Resumable: true, Priming: true}
		}),
		era.R20260728: {
			cancelOnDisconnect: true, badArgsAsResult: true, notFound: -32602, unsupported: -32022, missing: -32021,
			http: era.HTTP{Streamable: true, Version: era.VersionHeaderEvery, MirrorHeaders: true, NoBuffering: true},
		},
	}
	for _, rev := range era.All() {
		r := rev.Rules()
		got := row{
			r.Batch, r.CancelOnDisconnect, r.CancelOverHTTP, r.BadArgsAsResult, r.UniqueIDs,
			r.CodeResourceNotFound, r.CodeUnsupportedVersion, r.CodeMissingCapability, r.HTTP,
		}
		if got != want[rev] {
			t.Errorf("%s:\n got %+v\nwant %+v", rev, got, want[rev])
		}
	}
}

// TestPattern: only the pages of 2025-11-25 have patterns in forms.
func TestPattern(t *testing.T) {
	for _, rev := range era.All() {
		if rev.Rules().Elicitation.Pattern != (rev == era.R20251125) {
			t.Errorf("%s", rev)
		}
	}
}

func TestMethods(t *testing.T) {
	for _, c := range []struct {
		method string
		dir    era.Direction
		revs   era.Set
	}{
		{"initialize", era.ClientToServer, era.LegacySet},
		{"ping", era.ServerToClient, era.LegacySet},
		{"server/discover", era.ClientToServer, era.ModernSet},
		{"tools/call", era.ClientToServer, era.AllSet},
		{"elicitation/create", era.ServerToClient, era.SetOf(era.R20250618, era.R20251125)},
		{"tasks/result", era.ClientToServer, era.SetOf(era.R20251125)},
		{"tasks/result", era.ServerToClient, era.SetOf(era.R20251125)},
		{"tasks/update", era.ClientToServer, 0},
		{"subscriptions/listen", era.ClientToServer, era.ModernSet},
	} {
		for _, rev := range era.All() {
			if got := rev.Rules().HasRequest(c.dir, c.method); got != c.revs.Has(rev) {
				t.Errorf("%s: HasRequest(%d, %s) is %v", rev, c.dir, c.method, got)
			}
		}
	}
	for _, rev := range era.All() {
		r := rev.Rules()
		if r.HasNotification(era.ClientToServer, era.NotificationInitialized) != rev.Legacy() {
			t.Errorf("%s: initialized", rev)
		}
		if r.HasNotification(era.ServerToClient, era.NotificationAcknowledged) != rev.Modern() {
			t.Errorf("%s: acknowledged", rev)
		}
		if !r.CanAsk(era.MethodCreateMessage) || r.CanAsk(era.MethodElicit) != r.Elicitation.Form || r.CanAsk(era.MethodToolsCall) {
			t.Errorf("%s: CanAsk", rev)
		}
		if r.CanBeAsked(era.MethodToolsCall) != rev.Modern() || r.CanBeAsked(era.MethodToolsList) {
			t.Errorf("%s: CanBeAsked", rev)
		}
		if r.NameParam(era.MethodToolsCall) != map[bool]string{true: "name"}[rev.Modern()] || r.NameParam(era.MethodToolsList) != "" {
			t.Errorf("%s: NameParam", rev)
		}
	}
}

func TestContentKind(t *testing.T) {
	seen := era.ContentKinds(0)
	for _, typ := range []string{"text", "image", "audio", "resource_link", "resource", "tool_use", "tool_result"} {
		k := era.ContentKind(typ)
		if k == 0 || seen.Has(k) {
			t.Errorf("%s: %d", typ, k)
		}
		seen |= k
	}
	if era.ContentKind("video") != 0 || seen.Has(0) {
		t.Error("unknown kinds are in no set")
	}
}

func TestHTTPStatus(t *testing.T) {
	for _, c := range []struct {
		code           jsonrpc.Code
		legacy, modern int
	}{
		{-32700, 400, 400}, {-32600, 400, 400}, {-32601, 200, 404}, {-32602, 200, 200}, {-32603, 200, 200},
		{-32020, 200, 400}, {-32021, 200, 400}, {-32022, 200, 400}, {-32042, 200, 200}, {-32002, 200, 200}, {7, 200, 200},
	} {
		for _, rev := range era.All() {
			want := c.legacy
			if rev.Modern() {
				want = c.modern
			}
			if got := era.HTTPStatus(rev, c.code); got != want {
				t.Errorf("%s %d: %d, want %d", rev, c.code, got, want)
			}
		}
	}
}

func TestHeaderEncoding(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "book": "book", "a b~!": "a b~!", " a": "=?base64?IGE=?=", "a ": "=?base64?YSA=?=", "a\tb": "=?base64?YQli?=",
		"file:///żółw.md": "=?base64?ZmlsZTovLy/FvMOzxYJ3Lm1k?=", "a\r\nX: y": "=?base64?YQ0KWDogeQ==?=",
		"=?base64?eA==?=": "=?base64?PT9iYXNlNjQ/ZUE9PT89?=", "=?base64?=": "=?base64?PT9iYXNlNjQ/PQ==?=",
		"=?BASE64?eA==?=": "=?BASE64?eA==?=", "\xff": "=?base64?77+9?=", "\x7f": "=?base64?fw==?=",
	} {
		if got := era.EncodeHeader(s); got != want {
			t.Errorf("EncodeHeader(%q) = %q, want %q", s, got, want)
		}
	}
	for h, want := range map[string]string{
		"=?base64??=": "", "=?base64?eA==?=": "x", "=?base64?=": "=?base64?=", "=?Base64?eA==?=": "=?Base64?eA==?=", "żółw": "żółw",
	} {
		if got, ok := era.DecodeHeader(h); !ok || got != want {
			t.Errorf("DecodeHeader(%q) = %q, %v, want %q", h, got, ok, want)
		}
	}
	for _, h := range []string{
		"=?base64?eA?=", "=?base64?eA=?=", "=?base64?!!!?=", "=?base64?eB==?=", "=?base64?e A==?=", "=?base64?eA==\n?=", "=?base64?_-8=?=", "=?base64?/w==?=",
	} {
		if got, ok := era.DecodeHeader(h); ok {
			t.Errorf("DecodeHeader(%q) = %q, want a refusal", h, got)
		}
	}
}

func TestHeaderOf(t *testing.T) {
	if h := era.HeaderOf(nil); h.Present() || h != (era.Header{}) {
		t.Errorf("absent: %+v", h)
	}
	if h := era.HeaderOf([]string{"", "x"}); !h.Present() || h.Count != 2 || h.Value != "" {
		t.Errorf("two: %+v", h)
	}
}
