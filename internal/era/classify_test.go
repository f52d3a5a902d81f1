package era_test

import (
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/internal/spectest"
	"github.com/seed38e7925c/parley/jsonrpc"
)

const modern = "2026-07-28"

func header(v ...string) era.Header { return era.HeaderOf(v) }

// call is a tools/call over HTTP of the modern era that is right in every respect.
func call() era.Input {
	return era.Input{
		Transport: era.TransportHTTP, Supported: era.AllSet, Kind: jsonrpc.Request, Method: "tools/call",
		MetaVersion: modern, MetaVersionState: era.Valid, MetaCapabilities: era.Valid,
		Name: "book", NameState: era.Valid,
		Headers: era.Headers{ProtocolVersion: header(modern), Method: header("tools/call"), Name: header("book")},
	}
}

// stream is the same call over a byte stream, where there are no headers.
func stream() era.Input {
	in := call()
	in.Transport, in.Headers = era.TransportStream, era.Headers{}
	return in
}

// bare is a request that claims nothing: no _meta, no header, no session.
func bare() era.Input {
	return era.Input{Transport: era.TransportHTTP, Supported: era.AllSet, Kind: jsonrpc.Request, Method: "tools/list"}
}

func bareStream() era.Input {
	in := bare()
	in.Transport = era.TransportStream
	return in
}

func initialize() era.Input {
	in := bare()
	in.Method, in.InitVersion = "initialize", "2025-11-25"
	return in
}

type row struct {
	rule string
	base func() era.Input
	edit func(*era.Input)
	want verdict
}

// verdict is what a row expects; the zero code is no refusal.
type verdict struct {
	outcome era.Outcome
	rev     era.Revision
	reason  era.Reason
	code    jsonrpc.Code
	status  int
}

func isModern() verdict { return verdict{outcome: era.Modern, rev: era.R20260728} }
func isLegacy(r era.Revision, why era.Reason) verdict {
	return verdict{outcome: era.Legacy, rev: r, reason: why}
}
func refused(code jsonrpc.Code) verdict { return verdict{code: code, status: 400} }

func runRows(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.rule, func(t *testing.T) {
			in := r.base()
			if r.edit != nil {
				r.edit(&in)
			}
			v := era.Classify(&in)
			got := verdict{outcome: v.Outcome, rev: v.Revision, reason: v.Reason, status: v.Status}
			if v.Err != nil {
				got.code = v.Err.Code
			}
			if got != r.want {
				t.Errorf("got %+v, want %+v (%v)", got, r.want, v.Err)
			}
			if (v.Err != nil) != (v.Outcome == era.Refused) {
				t.Errorf("outcome %v with error %v", v.Outcome, v.Err)
			}
		})
	}
}

// TestClassifyModern has one row for each rule of the modern era, in the order in which they apply.
func TestClassifyModern(t *testing.T) {
	runRows(t, []row{
		{"http: all right", call, nil, isModern()},
		{"stream: all right", stream, nil, isModern()},
		{"stream: after initialize, a modern request is still modern", stream, func(in *era.Input) { in.Session = true }, isModern()},
		{"http: session id is ignored", call, func(in *era.Input) { in.Session = true }, isModern()},
		{"http: initialize with _meta is a removed method, for the dispatcher", call, func(in *era.Input) {
			in.Method, in.Headers.Method = "initialize", header("initialize")
		}, isModern()},
		{"http: method without a name needs no Mcp-Name", call, func(in *era.Input) {
			in.Method, in.Headers.Method, in.Headers.Name = "tools/list", header("tools/list"), era.Header{}
		}, isModern()},
		{"http: Mcp-Name of a method without a name is ignored", call, func(in *era.Input) {
			in.Method, in.Headers.Method = "tools/list", header("tools/list")
		}, isModern()},

		{"http: no _meta version, header right", call, func(in *era.Input) { in.MetaVersionState = era.Absent }, refused(-32602)},
		{"http: _meta version no string", call, func(in *era.Input) { in.MetaVersionState = era.Bad }, refused(-32602)},
		{"http: no _meta capabilities", call, func(in *era.Input) { in.MetaCapabilities = era.Absent }, refused(-32602)},
		{"http: _meta capabilities no object", call, func(in *era.Input) { in.MetaCapabilities = era.Bad }, refused(-32602)},
		{"stream: _meta version no string", stream, func(in *era.Input) { in.MetaVersionState = era.Bad }, refused(-32602)},
		{"stream: no _meta capabilities", stream, func(in *era.Input) { in.MetaCapabilities = era.Absent }, refused(-32602)},
		{"http: _meta before headers", call, func(in *era.Input) {
			in.MetaCapabilities, in.Headers = era.Absent, era.Headers{}
		}, refused(-32602)},

		{"http: no version header", call, func(in *era.Input) { in.Headers.ProtocolVersion = era.Header{} }, refused(-32020)},
		{"http: no Mcp-Method", call, func(in *era.Input) { in.Headers.Method = era.Header{} }, refused(-32020)},
		{"http: no Mcp-Name for tools/call", call, func(in *era.Input) { in.Headers.Name = era.Header{} }, refused(-32020)},
		{"http: missing header before a wrong one", call, func(in *era.Input) {
			in.Headers.ProtocolVersion, in.Headers.Name = header("v999"), era.Header{}
		}, refused(-32020)},

		{"http: header right, body v999", call, func(in *era.Input) { in.MetaVersion = "v999" }, refused(-32020)},
		{"http: header modern, body legacy", call, func(in *era.Input) { in.MetaVersion = "2025-11-25" }, refused(-32020)},
		{"http: method differs", call, func(in *era.Input) { in.Headers.Method = header("tools/list") }, refused(-32020)},
		{"http: method in another case", call, func(in *era.Input) { in.Headers.Method = header("Tools/Call") }, refused(-32020)},
		{"http: method is not decoded", call, func(in *era.Input) { in.Headers.Method = header("=?base64?dG9vbHMvY2FsbA==?=") }, refused(-32020)},
		{"http: name differs", call, func(in *era.Input) { in.Headers.Name = header("safe") }, refused(-32020)},
		{"http: header but no name in the body", call, func(in *era.Input) { in.Name, in.NameState = "", era.Absent }, refused(-32020)},
		{"http: header but the name is no string", call, func(in *era.Input) { in.Name, in.NameState = "", era.Bad }, refused(-32020)},
		{"http: version header twice", call, func(in *era.Input) { in.Headers.ProtocolVersion = header(modern, modern) }, refused(-32020)},
		{"http: Mcp-Method twice", call, func(in *era.Input) { in.Headers.Method = header("tools/call", "tools/call") }, refused(-32020)},
		{"http: Mcp-Name twice", call, func(in *era.Input) { in.Headers.Name = header("book", "book") }, refused(-32020)},
		{"http: empty Mcp-Name, empty name", call, func(in *era.Input) { in.Name, in.Headers.Name = "", header("") }, isModern()},

		{"http: version v999 in both", call, func(in *era.Input) {
			in.MetaVersion, in.Headers.ProtocolVersion = "v999", header("v999")
		}, refused(-32022)},
		{"http: legacy version in both", call, func(in *era.Input) {
			in.MetaVersion, in.Headers.ProtocolVersion = "2025-11-25", header("2025-11-25")
		}, refused(-32022)},
		{"stream: version v999", stream, func(in *era.Input) { in.MetaVersion = "v999" }, refused(-32022)},
		{"stream: empty version", stream, func(in *era.Input) { in.MetaVersion = "" }, refused(-32022)},
		{"http: unsupported before unknown method", call, func(in *era.Input) {
			in.MetaVersion, in.Headers.ProtocolVersion = "v999", header("v999")
			in.Method, in.Headers.Method = "no/such", header("no/such")
		}, refused(-32022)},
	})
}

// TestClassifyNames has the methods whose name is repeated in Mcp-Name.
func TestClassifyNames(t *testing.T) {
	for _, method := range []string{"tools/call", "prompts/get", "resources/read", "tasks/get", "tasks/update", "tasks/cancel"} {
		edit := func(in *era.Input) { in.Method, in.Headers.Method = method, header(method) }
		runRows(t, []row{
			{method + ": right", call, edit, isModern()},
			{method + ": missing", call, func(in *era.Input) { edit(in); in.Headers.Name = era.Header{} }, refused(-32020)},
			{method + ": wrong", call, func(in *era.Input) { edit(in); in.Headers.Name = header("other") }, refused(-32020)},
		})
	}
}

// TestClassifyLegacy has one row for each way to be legacy, and for what is neither.
func TestClassifyLegacy(t *testing.T) {
	onlyLegacy := func(in *era.Input) { in.Supported = era.LegacySet }
	onlyModern := func(in *era.Input) { in.Supported = era.ModernSet }
	runRows(t, []row{
		{"http: initialize", initialize, nil, isLegacy(0, era.ReasonInitialize)},
		{"http: initialize with an unknown version header", initialize, func(in *era.Input) { in.Headers.ProtocolVersion = header("2099-01-01") }, isLegacy(0, era.ReasonInitialize)},
		{"http: initialize with a modern version header", initialize, func(in *era.Input) { in.Headers.ProtocolVersion = header(modern) }, isLegacy(0, era.ReasonInitialize)},
		{"stream: initialize", initialize, func(in *era.Input) { in.Transport = era.TransportStream }, isLegacy(0, era.ReasonInitialize)},
		{"http: initialize where only modern is served", initialize, onlyModern, refused(-32022)},
		{"stream: initialize where only modern is served", initialize, func(in *era.Input) { onlyModern(in); in.Transport = era.TransportStream }, refused(-32022)},

		{"http: session with version header", bare, func(in *era.Input) { in.Session, in.Headers.ProtocolVersion = true, header("2025-06-18") }, isLegacy(era.R20250618, era.ReasonSession)},
		{"http: session without version header", bare, func(in *era.Input) { in.Session = true }, isLegacy(0, era.ReasonSession)},
		{"http: session with an unknown version header", bare, func(in *era.Input) { in.Session, in.Headers.ProtocolVersion = true, header("2099-01-01") }, refused(-32600)},
		{"http: session with a modern version header but no _meta", bare, func(in *era.Input) { in.Session, in.Headers.ProtocolVersion = true, header(modern) }, refused(-32602)},
		{"http: session that repeats its version in _meta", bare, func(in *era.Input) {
			in.Session, in.Headers.ProtocolVersion = true, header("2025-06-18")
			in.MetaVersion, in.MetaVersionState = "2025-06-18", era.Valid
		}, isLegacy(era.R20250618, era.ReasonSession)},
		{"http: session whose _meta names another legacy version", bare, func(in *era.Input) {
			in.Session, in.Headers.ProtocolVersion = true, header("2025-06-18")
			in.MetaVersion, in.MetaVersionState = "2025-11-25", era.Valid
		}, refused(-32602)},
		{"http: legacy version header, no session", bare, func(in *era.Input) { in.Headers.ProtocolVersion = header("2025-11-25") }, isLegacy(era.R20251125, era.ReasonHeader)},
		{"http: version header twice", bare, func(in *era.Input) { in.Headers.ProtocolVersion = header("2025-11-25", "2025-11-25") }, refused(-32600)},
		{"http: nothing at all is 2025-03-26", bare, nil, isLegacy(era.R20250326, era.ReasonNoHeader)},
		{"http: nothing at all where 2025-03-26 is not served", bare, func(in *era.Input) { in.Supported = era.SetOf(era.R20251125, era.R20260728) }, refused(-32602)},
		{"http: nothing at all where neither it nor modern is served", bare, func(in *era.Input) { in.Supported = era.SetOf(era.R20251125) }, refused(-32600)},
		{"http: legacy version that is not served", bare, func(in *era.Input) {
			in.Supported, in.Headers.ProtocolVersion = era.SetOf(era.R20251125, era.R20260728), header("2025-06-18")
		}, refused(-32600)},
		{"http: modern header, no _meta", bare, func(in *era.Input) { in.Headers.ProtocolVersion = header(modern) }, refused(-32602)},
		{"http: unknown header, no _meta", bare, func(in *era.Input) { in.Headers.ProtocolVersion = header("2099-01-01") }, refused(-32602)},
		{"http: legacy header where only modern is served", bare, func(in *era.Input) { onlyModern(in); in.Headers.ProtocolVersion = header("2025-11-25") }, refused(-32602)},
		{"http: nothing at all where only modern is served", bare, onlyModern, refused(-32602)},

		{"http: modern request where only legacy is served", call, onlyLegacy, refused(-32600)},
		{"stream: modern request where only legacy is served", stream, onlyLegacy, isLegacy(0, era.ReasonOnlyLegacy)},
		{"stream: session", bareStream, func(in *era.Input) { in.Session = true }, isLegacy(0, era.ReasonSession)},
		{"stream: session that repeats its version in _meta", bareStream, func(in *era.Input) {
			in.Session, in.MetaVersion, in.MetaVersionState = true, "2025-06-18", era.Valid
		}, isLegacy(0, era.ReasonSession)},
		{"stream: neither initialized nor _meta", bareStream, nil, refused(-32602)},
		{"stream: ping before initialize", bareStream, func(in *era.Input) { in.Method = "ping" }, isLegacy(0, era.ReasonBare)},
		{"stream: bare request where only modern is served", bareStream, onlyModern, refused(-32602)},
		{"nothing is served", bare, func(in *era.Input) { in.Supported = 0 }, verdict{code: -32603, status: 500}},
	})
}

// TestClassifyOneWay has the messages that nobody answers.
func TestClassifyOneWay(t *testing.T) {
	notice := func(in *era.Input) { in.Kind, in.Method = jsonrpc.Notification, "notifications/cancelled" }
	response := func(in *era.Input) { in.Kind, in.Method = jsonrpc.Response, "" }
	with := func(edits ...func(*era.Input)) func(*era.Input) {
		return func(in *era.Input) {
			for _, e := range edits {
				e(in)
			}
		}
	}
	version := func(v ...string) func(*era.Input) {
		return func(in *era.Input) { in.Headers.ProtocolVersion = header(v...) }
	}
	session := func(in *era.Input) { in.Session = true }
	onlyModern := func(in *era.Input) { in.Supported = era.ModernSet }
	onlyLegacy := func(in *era.Input) { in.Supported = era.LegacySet }
	meta := func(v string) func(*era.Input) {
		return func(in *era.Input) { in.MetaVersion, in.MetaVersionState = v, era.Valid }
	}
	runRows(t, []row{
		{"http notice: modern header", bare, with(notice, version(modern)), isModern()},
		{"http notice: modern _meta, no header", bare, with(notice, meta(modern)), isModern()},
		{"http notice: modern _meta and header", bare, with(notice, meta(modern), version(modern)), isModern()},
		{"http notice: _meta and header differ", bare, with(notice, meta(modern), version("2025-11-25")), refused(-32020)},
		{"http notice: header twice", bare, with(notice, meta(modern), version(modern, modern)), refused(-32020)},
		{"http notice: unknown version", bare, with(notice, version("v999")), refused(-32022)},
		{"http notice: _meta no string", bare, with(notice, func(in *era.Input) { in.MetaVersionState = era.Bad }), refused(-32602)},
		{"http notice: session", bare, with(notice, session), isLegacy(0, era.ReasonSession)},
		{"http notice: session with unknown version", bare, with(notice, session, version("v999")), refused(-32600)},
		{"http notice: nothing at all", bare, notice, isLegacy(era.R20250326, era.ReasonNoHeader)},
		{"http notice: nothing at all, 2025-03-26 not served", bare, with(notice, func(in *era.Input) { in.Supported = era.SetOf(era.R20251125, era.R20260728) }), isModern()},
		{"http notice: nothing at all, only modern", bare, with(notice, onlyModern), isModern()},
		{"stream notice: session", bareStream, with(notice, session), isLegacy(0, era.ReasonSession)},
		{"stream notice: before anything", bareStream, notice, isLegacy(0, era.ReasonBare)},
		{"stream notice: only modern", bareStream, with(notice, onlyModern), isModern()},
		{"stream notice: modern _meta", bareStream, with(notice, meta(modern)), isModern()},

		{"http response: session", bare, with(response, session), isLegacy(0, era.ReasonSession)},
		{"http response: session and version", bare, with(response, session, version("2025-11-25")), isLegacy(era.R20251125, era.ReasonSession)},
		{"http response: legacy version, no session", bare, with(response, version("2025-11-25")), isLegacy(era.R20251125, era.ReasonHeader)},
		{"http response: no session", bare, response, refused(-32600)},
		{"http response: modern", bare, with(response, version(modern)), refused(-32600)},
		{"http response: only modern", bare, with(response, session, onlyModern), refused(-32600)},
		{"stream response: session", bareStream, with(response, session), isLegacy(0, era.ReasonSession)},
		{"stream response: no session", bareStream, response, refused(-32600)},
		{"stream response: only modern", bareStream, with(response, session, onlyModern), refused(-32600)},
		{"stream response: only legacy, no session", bareStream, with(response, onlyLegacy), refused(-32600)},
	})
}

// TestCaseH08 has the Base64 form of Mcp-Name.
func TestCaseH08(t *testing.T) {
	read := func(value string) func(*era.Input) {
		return func(in *era.Input) {
			in.Method, in.Name = "resources/read", "file:///żółw.md"
			in.Headers.Method, in.Headers.Name = header("resources/read"), header(value)
		}
	}
	runRows(t, []row{
		{"encoded", call, read("=?base64?ZmlsZTovLy/FvMOzxYJ3Lm1k?="), isModern()},
		{"broken padding", call, read("=?base64?!!!?="), refused(-32020)},
		{"upper-case marker is literal", call, read("=?BASE64?ZmlsZTovLy/FvMOzxYJ3Lm1k?="), refused(-32020)},
		{"raw UTF-8 is the same text", call, read("file:///żółw.md"), isModern()},
		{"literal upper-case marker", call, func(in *era.Input) { in.Name, in.Headers.Name = "=?BASE64?eA==?=", header("=?BASE64?eA==?=") }, isModern()},
	})
}

// TestUnsupportedNamesVersions: the refusal names every version served, newest first, and repeats what was asked.
func TestUnsupportedNamesVersions(t *testing.T) {
	for _, c := range []struct {
		supported era.Set
		requested string
		want      string
	}{
		{era.AllSet, "v999", `{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"v999"}`},
		{era.ModernSet, "a\"b\x00", `{"supported":["2026-07-28"],"requested":"a\"b\u0000"}`},
		{era.ModernSet, "\xff", `{"supported":["2026-07-28"],"requested":"` + "\uFFFD" + `"}`},
	} {
		in := stream()
		in.Supported, in.MetaVersion = c.supported, c.requested
		v := era.Classify(&in)
		if v.Err == nil || string(v.Err.Data) != c.want {
			t.Errorf("requested %q: got %v with %s, want %s", c.requested, v.Err, v.Err.Data, c.want)
		}
		if _, err := spectest.Parse(v.Err.Data); err != nil {
			t.Errorf("requested %q: data is no JSON: %v", c.requested, err)
		}
	}
	in := initialize()
	in.Supported, in.InitVersion = era.ModernSet, "2025-11-25"
	if v := era.Classify(&in); !strings.Contains(v.Err.Message, modern) || !strings.Contains(string(v.Err.Data), modern) {
		t.Errorf("initialize: %v does not name what is served", v.Err)
	}
}

// TestErrorsAreBounded: what an error repeats of the peer's text is cut and cannot control a terminal.
func TestErrorsAreBounded(t *testing.T) {
	in := stream()
	in.MetaVersion = strings.Repeat("é\x1b[31m", 10_000)
	v := era.Classify(&in)
	if len(v.Err.Message) > 600 || strings.ContainsRune(v.Err.Message, '\x1b') {
		t.Errorf("message of %d bytes: %q", len(v.Err.Message), v.Err.Message)
	}
	if len(v.Err.Data) > 1024 {
		t.Errorf("data of %d bytes", len(v.Err.Data))
	}
}

func TestClassifyDoesNotAllocate(t *testing.T) {
	inputs := []era.Input{call(), stream(), initialize(), bare()}
	for _, in := range inputs {
		if n := testing.AllocsPerRun(100, func() {
			if v := era.Classify(&in); v.Err != nil {
				t.Fatal(v.Err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", in.Method, n)
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	in := call()
	b.ReportAllocs()
	for b.Loop() {
		if v := era.Classify(&in); v.Err != nil {
			b.Fatal(v.Err)
		}
	}
}
