package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// A URI must not cost more than its length to match, whatever the template. What was proportional to the square took eight seconds and
// more for these sizes, on a quiet machine; in proportion to the length it is milliseconds.
func TestAttackTemplateMatching(t *testing.T) {
	s := newServer(t, nil)
	for i, tmpl := range []string{"a:///{x}/{y}/{z}", "b:///{x*}{y*}{z*}", "c:///{+x}{+y}{+z}{+w}", "d:///{x}{y}{z}{?q*,r*,s*}", "e:///{/x*}{/y*}{;z*}{#f*}", "f:///{x,y,z,w,v}{a,b,c,d,e}"} {
		mcp.AddResourceTemplate(s.Server, &mcp.ResourceTemplate{URITemplate: tmpl, Name: fmt.Sprint(i)},
			func(context.Context, *mcp.Call, mcp.TemplateVars) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{}, nil
			})
	}
	for _, scheme := range "abcdef" {
		for _, unit := range []string{"x", "x,", "x/", "a=b&", "%41", ",", "/", ";z=1"} {
			for _, size := range []int{16_000, 1 << 20} {
				uri := string(scheme) + ":///" + strings.Repeat(unit, size/len(unit)) + "\x7f"
				raw, _ := json.Marshal(uri)
				begin := time.Now()
				s.modern(t, "resources/read", `"uri":`+string(raw))
				if d := time.Since(begin); d > slack*4*time.Second {
					t.Errorf("%c with %d bytes of %q: %v", scheme, size, unit, d)
				}
			}
		}
	}
}
