package mcphttp

import (
	"net/http"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// methodListen opens a stream of change notices in revision 2026-07-28.
const methodListen = "subscriptions/listen"

// serveListen serves a listen stream. The core blocks on this goroutine, which net/http has started anyway, and writes notices as they
// come; a client that does not read is cut off by the write timeout and holds nobody else up.
func (h *Handler) serveListen(w http.ResponseWriter, r *http.Request, p *post) {
	if p.x.Stream == nil {
		h.answerError(w, http.StatusNotAcceptable, p.msg.ID, errListenNeedsStream)
		return
	}
	p.sink.keepAlive()
	reply, status := h.srv.Serve(r.Context(), &p.x)
	h.finish(p, reply, status)
}

var errListenNeedsStream = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
	Message: "invalid request: " + methodListen + " is answered by a stream, so Accept must allow text/event-stream"}
