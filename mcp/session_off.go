//go:build mcp_modern_only

package mcp

import (
	"context"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// builtIn are the revisions of this build: those without a handshake.
var builtIn = era.ModernSet.Revisions()

// A Session belongs to the handshake era, which this build leaves out (build tag mcp_modern_only): there never is one.
type Session struct{}

// Revision returns the zero revision.
func (*Session) Revision() Revision { return 0 }

// Close does nothing: there is no session to close.
func (*Session) Close() error { return nil }

// Closed returns true: there is no session that would be open.
func (*Session) Closed() bool { return true }

// Notify does nothing: without sessions there is nobody to notify.
func (s *Server) Notify(string, any) error { return nil }

func (*Session) describe(*Call)      {}
func (*Session) notified(*Call) bool { return false }
func (*Session) change(change)       {}
func (*Session) update(string) bool  { return false }
func (*Session) rouse()              {}
func (*Session) end()                {}
func (*Session) begin(context.Context, jsonrpc.ID) *running {
	return nil
}

// running is a request of a session: there never is one.
type running struct{ context.Context } //nolint:containedctx // see the other build

func (*running) end() {}

func whyEnded(ctx context.Context) error { return context.Cause(ctx) }

func addLegacyMethods(map[string]method) {}

func (f *streamServer) handshake(context.Context, *Exchange, Admission, func(*jsonrpc.Message)) bool {
	return false
}
func (f *streamServer) deliver(m *jsonrpc.Message) {
	f.server.log.Debug("mcp: a response although nothing was asked", "id", m.ID.String())
}
func (f *streamServer) endSession()                         {}
func (f *streamServer) acceptsBatch() bool                  { return false }
func (f *streamServer) handleBatch(context.Context, []byte) {}
