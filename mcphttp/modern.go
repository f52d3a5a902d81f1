package mcphttp

import (
	"maps"
	"net/http"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// serveModern serves an admitted message of revision 2026-07-28. The handler runs on this goroutine; the client's going away cancels
// it, because that is what ends the request's context.
func (h *Handler) serveModern(w http.ResponseWriter, r *http.Request, p *post) {
	defer p.release()
	defer p.sink.close()
	if p.msg.Kind() == jsonrpc.Notification {
		h.serveNotification(w, r, p)
		return
	}
	if p.msg.Method == methodListen {
		h.serveListen(w, r, p)
		return
	}
	if p.x.Stream != nil {
		p.sink.keepAlive()
	}
	reply, status := h.srv.Serve(r.Context(), &p.x)
	h.finish(p, reply, status)
}

// serveNotification serves a notification, which has no answer but that it was taken.
func (h *Handler) serveNotification(w http.ResponseWriter, r *http.Request, p *post) {
	_, status := h.srv.Serve(r.Context(), &p.x)
	if status < http.StatusBadRequest {
		status = http.StatusAccepted
	}
	w.WriteHeader(status)
}

// finish ends an exchange with its response: as the last event when the stream has begun or the client takes nothing else, as JSON
// otherwise. Later messages of a handler that is still running fail.
func (h *Handler) finish(p *post, reply *jsonrpc.Message, status int) {
	s := &p.sink
	defer s.close()
	if reply == nil { // the client ended the exchange: nothing more is sent
		return
	}
	if p.accepts&acceptsJSON != 0 || status >= http.StatusBadRequest {
		if s.answerPlain(nil) {
			maps.Copy(s.w.Header(), refusalHeaders(&p.x))
			s.answerJSON(status, reply)
			return
		}
	}
	buf := getBuffer(int64(len(reply.Result)) + 256)
	defer buf.release()
	buf.b = appendMessage(buf.b, "", reply)
	if err := s.writeLast(buf.b); err != nil {
		h.opts.Logger.Debug("mcphttp: answer not delivered", "error", err)
	}
}
