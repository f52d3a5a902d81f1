package matrix

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/seed38e7925c/parley/interop/internal/node"
	"github.com/seed38e7925c/parley/interop/internal/parley"
	"github.com/seed38e7925c/parley/interop/internal/play"
)

// openScript runs a Node script over stdio.
func openScript(name string, args ...string) opener {
	return func(_ context.Context, era string, tape *play.Tape) (*play.Target, func() error, error) {
		argv, err := node.Script(name, args...)
		return &play.Target{Command: argv, Era: era, Tape: tape}, func() error { return nil }, err
	}
}

// openNodeHTTP runs one of our Node servers over HTTP.
func openNodeHTTP(name string) opener {
	return func(ctx context.Context, era string, tape *play.Tape) (*play.Target, func() error, error) {
		port, stop, err := node.Serve(ctx, name)
		return &play.Target{URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port), Era: era, Tape: tape}, stop, err
	}
}

// NodePairs are the pairs that need Node.
func NodePairs() []*Pair {
	needs := node.Missing()
	var out []*Pair
	for _, sdk := range []struct {
		name, script string
		eras         []string
	}{
		{TSv2, "v2.mjs", []string{play.Legacy, play.Modern}},
		{TSv1, "v1.mjs", []string{play.Legacy}},
	} {
		client := node.Dialer("client-" + sdk.script)
		for _, era := range sdk.eras {
			out = append(out,
				&Pair{Client: Ours, Server: sdk.name, Transport: "stdio", Era: era, Dial: parley.Dial, Open: openScript("server-"+sdk.script, "stdio")},
				&Pair{Client: Ours, Server: sdk.name, Transport: "http", Era: era, Dial: parley.Dial, Open: openNodeHTTP("server-" + sdk.script)},
				&Pair{Client: sdk.name, Server: Ours, Transport: "stdio", Era: era, Dial: client, Open: openRole(Ours)},
				&Pair{Client: sdk.name, Server: Ours, Transport: "http", Era: era, Dial: client,
					Open: openHandler(func(bool) http.Handler { return parley.Handler() }, true)},
			)
		}
	}
	for _, sdk := range []struct{ name, script string }{{TSv2, "v2.mjs"}, {TSv1, "v1.mjs"}} {
		out = append(out, &Pair{Client: sdk.name, Server: Ours, Transport: "sse", Era: play.Legacy,
			Dial: node.Dialer("client-" + sdk.script), Open: openSSE(parley.SSEHandler)})
	}
	for _, p := range out {
		p.Needs = needs
	}
	return out
}

// Pairs are all of them.
func Pairs() []*Pair { return slices.Concat(GoPairs(), NodePairs(), PublishedPairs()) }
