package era_test

import (
	"testing"
	"unicode/utf8"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/internal/spectest"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// FuzzClassify: whatever comes, there is a verdict; a modern request over HTTP has headers that say what its body says;
// a refusal has a code, a status and data that is JSON.
func FuzzClassify(f *testing.F) {
	f.Add(uint8(1), uint8(0xff), uint8(1), uint8(0x55), "tools/call", "2026-07-28", "book", "2026-07-28", "tools/call", "book")
	for kind := range 256 {
		k := uint8(kind)
		f.Add(uint8(1), uint8(0xff), k, uint8(0x15), "tools/call", "2026-07-28", "book", "2026-07-28", "tools/call", "book")
		f.Add(uint8(1), uint8(0xff), k, uint8(0x25), "tools/call", "2026-07-28", "book", "2026-07-28", "tools/call", "book")
		f.Add(uint8(1), uint8(0xff), k, uint8(0x15), "tools/call", "2026-07-28", "book", "2026-07-28", "tools/list", "book")
		f.Add(uint8(1), uint8(0xff), k, uint8(0x15), "tools/call", "2026-07-28", "=?base64?eA==?=", "2026-07-28", "tools/call", "=?base64?eA==?=")
		f.Add(uint8(1), uint8(0xff), k, uint8(0x15), "tools/call", "2025-11-25", "book", "2025-11-25", "tools/call", "book")
	}
	f.Add(uint8(0), uint8(0xff), uint8(1), uint8(0), "initialize", "", "", "", "", "")
	f.Add(uint8(1), uint8(0x3e), uint8(2), uint8(4), "notifications/x", "2025-11-25", "", "2025-11-25", "", "=?base64?eA==?=")
	f.Fuzz(func(t *testing.T, transport, supported, kind, bits uint8, method, version, name, hVersion, hMethod, hName string) {
		h := func(v string, bit uint8) era.Header { return era.Header{Value: v, Count: int(bits >> bit & 3)} }
		in := era.Input{
			Transport: era.Transport(transport & 1), Supported: era.Set(supported), Session: transport&2 != 0,
			Kind: jsonrpc.Kind(kind % 3), Method: method,
			MetaVersion: version, MetaVersionState: era.State(kind >> 2 & 3), MetaCapabilities: era.State(kind >> 4 & 3),
			Name: name, NameState: era.State(kind >> 6 & 3), InitVersion: version,
			Headers: era.Headers{ProtocolVersion: h(hVersion, 0), Method: h(hMethod, 2), Name: h(hName, 4)},
		}
		v := era.Classify(&in)
		switch v.Outcome {
		case era.Modern:
			if !in.Supported.Has(v.Revision) || !v.Revision.Modern() {
				t.Fatalf("modern with %v of %v", v.Revision, in.Supported.Strings())
			}
			if in.Kind == jsonrpc.Request {
				checkMirrored(t, &in, v)
			}
		case era.Legacy:
			if in.Supported.Legacy() == 0 || v.Reason == era.ReasonNone {
				t.Fatalf("legacy without support or reason: %+v", v)
			}
			if v.Revision != 0 && !in.Supported.Legacy().Has(v.Revision) {
				t.Fatalf("legacy with %v of %v", v.Revision, in.Supported.Strings())
			}
		case era.Refused:
			checkRefusal(t, v)
		default:
			t.Fatalf("outcome %d", v.Outcome)
		}
	})
}

func checkMirrored(t *testing.T, in *era.Input, v era.Verdict) {
	t.Helper()
	if in.MetaVersionState != era.Valid || in.MetaCapabilities != era.Valid || in.MetaVersion != v.Revision.String() {
		t.Fatalf("modern request without its claim: %+v", in)
	}
	if in.Transport != era.TransportHTTP {
		return
	}
	once := func(h era.Header, want string) bool { return h.Count == 1 && h.Value == want }
	if !once(in.Headers.ProtocolVersion, in.MetaVersion) || !once(in.Headers.Method, in.Method) {
		t.Fatalf("headers differ from the body: %+v", in)
	}
	if era.Latest.Rules().NameParam(in.Method) == "" {
		return
	}
	if name, ok := era.DecodeHeader(in.Headers.Name.Value); !ok || in.Headers.Name.Count != 1 || name != in.Name {
		t.Fatalf("Mcp-Name differs from the body: %+v", in)
	}
}

func checkRefusal(t *testing.T, v era.Verdict) {
	t.Helper()
	if v.Err == nil || v.Err.Code == 0 || v.Err.Message == "" || v.Status < 400 {
		t.Fatalf("refusal %+v", v)
	}
	if !utf8.ValidString(v.Err.Message) {
		t.Fatalf("message is not UTF-8: %q", v.Err.Message)
	}
	if v.Err.Data != nil {
		if _, err := spectest.Parse(v.Err.Data); err != nil {
			t.Fatalf("data %s: %v", v.Err.Data, err)
		}
	}
}

// FuzzHeader: what is encoded is a legal header value and decodes to the same text; decoding never panics, and what it
// accepts is UTF-8 if it was encoded.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{"", "book", " book", "a\tb", "żółw", "=?base64?eA==?=", "=?base64?=", "=?BASE64?eA==?=", "\xff", "=?base64?eA?=", "=?base64?/w==?="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h := era.EncodeHeader(s)
		for i := range len(h) {
			if h[i] < 0x20 || h[i] > 0x7E {
				t.Fatalf("EncodeHeader(%q) = %q", s, h)
			}
		}
		back, ok := era.DecodeHeader(h)
		if !ok || utf8.ValidString(s) && back != s || !utf8.ValidString(back) {
			t.Fatalf("%q -> %q -> %q, %v", s, h, back, ok)
		}
		if again := era.EncodeHeader(back); again != h {
			t.Fatalf("%q -> %q -> %q -> %q", s, h, back, again)
		}
		if got, ok := era.DecodeHeader(s); ok && got != s && !utf8.ValidString(got) {
			t.Fatalf("DecodeHeader(%q) = %q", s, got)
		}
	})
}
