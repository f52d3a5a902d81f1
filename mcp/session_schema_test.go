//go:build !mcp_modern_only

package mcp_test

import (
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// absent are members that a revision does not have, of which the schemas of the older ones say nothing.
var absent = map[string][]string{
	"2024-11-05": {`"icons"`, `"title"`, `"lastModified"`, `"structuredContent"`, `"outputSchema"`, `"execution"`, `"annotations":{"title"`, `"audio"`, `"resource_link"`, `"resultType"`, `"ttlMs"`},
	"2025-03-26": {`"icons"`, `"title":"All"`, `"lastModified"`, `"structuredContent"`, `"outputSchema"`, `"execution"`, `"resource_link"`, `"resultType"`, `"ttlMs"`},
	"2025-06-18": {`"icons"`, `"execution"`, `"resultType"`, `"ttlMs"`, `"structuredContent":[`},
	"2025-11-25": {`"resultType"`, `"ttlMs"`, `"structuredContent":[`},
}

func TestSessionSpeaksTheSchema(t *testing.T) {
	for _, revision := range legacyRevisions {
		t.Run(revision, func(t *testing.T) {
			p := publishedSchema(t, revision)
			s := exhibition(t)
			l := &legacy{t: t, s: s, stream: &recorder{}, session: s.NewSession(nil, nil)}
			p.check("InitializeResult", at(t, l.raw(initLine(revision)), "result"))
			l.raw(readyLine)
			for _, r := range requests {
				params := `"_meta":{"progressToken":5}`
				if r.params != "" {
					params += "," + r.params
				}
				got := l.call(r.method, "{"+params+"}")
				p.check(r.result, at(t, got, "result"))
				wantNot(t, got, absent[revision]...)
			}
			p.check("EmptyResult", at(t, l.call("resources/subscribe", `{"uri":"x:y"}`), "result"))
			s.RemoveTools("list")
			s.RemovePrompts("p")
			s.RemoveResources("x:y")
			s.ResourceUpdated("x:y")
			lines := l.stream.lines()
			for range 4 {
				m, err := l.session.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, string(jsonrpc.Append(nil, m)))
			}
			if len(lines) != 6 {
				t.Errorf("sent %v", lines)
			}
			for _, line := range lines {
				p.check(notices[strings.Trim(at(t, line, "method"), `"`)], line)
			}
		})
	}
}
