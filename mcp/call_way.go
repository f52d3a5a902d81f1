package mcp

import "encoding/json"

// This file has what code that asks on behalf of handlers, such as package connect, needs to know about a call.

// Local reports whether the call came over standard input, or another stream of this process, whose other end is held by whoever
// runs the program: [Server.ServeStdio], [Server.ServeConn] with anything that is not a network connection, [Pipe]. It is false for
// everything over HTTP, loopback included, and for connections that were accepted from a socket of any kind. A scripted call is local
// when it has no principal.
func (c *Call) Local() bool {
	switch {
	case c.asking.script != nil:
		return c.principal == nil
	case c.exchange == nil:
		return false
	}
	return c.exchange.local
}

// Arguments returns the arguments of tools/call and prompts/get as received, nil where there are none. They must not be modified or
// kept.
func (c *Call) Arguments() json.RawMessage { return c.arguments() }

// CanAsk reports whether a question of the kind can be asked now: the revision has it, the client declared it, there is a way back, and
// the request is one that may ask. A form may still be inexpressible at an older revision.
func (c *Call) CanAsk(kind QuestionKind) bool {
	a := &c.asking
	a.mu.Lock()
	open := a.open
	a.mu.Unlock()
	if !open {
		return false
	}
	q := &Question{Kind: kind}
	if exists, declared := c.kindDeclared(q); !exists || !declared {
		return false
	}
	return c.hasChannel() || kind == AskURL && c.refusesForPages()
}

// FlowKept reports whether a client that is made to come back has the same [Call.FlowID] then, and the same results of [Once]. It is
// false where a retry cannot be told from a new call: where pages are asked for by error -32042 (2025-11-25 without a channel back),
// unless there is a store and a verified caller.
func (c *Call) FlowKept() bool {
	a := &c.asking
	a.mu.Lock()
	open := a.open
	a.mu.Unlock()
	if !open {
		return false
	}
	return c.hasChannel() || c.remembersHandshake()
}

// Server returns the server that serves the call, nil for scripted calls.
func (c *Call) Server() *Server { return c.server }
