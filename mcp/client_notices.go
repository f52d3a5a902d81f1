package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// maxNotices bounds the notices that wait for a slow handler; when there are more, the oldest are left out.
const maxNotices = 4096

// NoticeKind says what a [Notice] tells.
type NoticeKind uint8

// The kinds of notices.
const (
	NoticeTools       NoticeKind = iota + 1 // the list of tools has changed
	NoticePrompts                           // the list of prompts has changed
	NoticeResources                         // the list of resources or of resource templates has changed
	NoticeResource                          // a resource has changed: URI
	NoticeOther                             // another notification of a subscription: Method, Params
	NoticeInterrupted                       // a subscription was interrupted, and is being taken up again: Err
	NoticeResumed                           // it was taken up again; a notice with Gap for everything subscribed to follows
)

// String names the kind as in "tools".
func (k NoticeKind) String() string {
	switch k {
	case NoticeTools:
		return "tools"
	case NoticePrompts:
		return "prompts"
	case NoticeResources:
		return "resources"
	case NoticeResource:
		return "resource"
	case NoticeOther:
		return "other"
	case NoticeInterrupted:
		return "interrupted"
	case NoticeResumed:
		return "resumed"
	}
	return fmt.Sprintf("NoticeKind(%d)", uint8(k))
}

// A Notice is something that a server tells of its own accord.
type Notice struct {
	Kind   NoticeKind
	Method string          // of the notification, empty for what the client itself tells
	URI    string          // of the resource; may lie under the one that was subscribed to
	Params json.RawMessage // of the notification
	Gap    bool            // nothing is known to have changed, but notices may have been missed
	Err    error           // why a subscription was interrupted; nil when the server ended it in good order
}

// kindOf returns the kind of a change notification, zero for other methods.
func kindOf(method string) NoticeKind {
	switch method {
	case NotificationToolsListChanged:
		return NoticeTools
	case NotificationPromptsListChanged:
		return NoticePrompts
	case NotificationResourcesListChanged:
		return NoticeResources
	case NotificationResourceUpdated:
		return NoticeResource
	}
	return 0
}

// A LogMessage is one log message of a server.
type LogMessage = LoggingMessageParams

// LogTo returns a function for [ClientOptions.OnLog] that writes to l: level and text by the message, with the attributes logger, and
// data where that is not a text. The text is the server's; handlers that write to a terminal must escape it.
func LogTo(l *slog.Logger) func(ctx context.Context, m *LogMessage) {
	return func(ctx context.Context, m *LogMessage) {
		text, isText := textOf(m.Data)
		var attrs []slog.Attr
		if m.Logger != "" {
			attrs = append(attrs, slog.String("logger", m.Logger))
		}
		if !isText {
			text = "server log"
			attrs = append(attrs, slog.String("data", string(m.Data)))
		}
		l.LogAttrs(ctx, m.Level.slog(), text, attrs...)
	}
}

// slog maps the eight levels of the protocol to those of package slog; unknown ones count as info.
func (l LoggingLevel) slog() slog.Level {
	switch l {
	case LevelDebug:
		return slog.LevelDebug
	case LevelNotice:
		return slog.LevelInfo + 2
	case LevelWarning:
		return slog.LevelWarn
	case LevelError:
		return slog.LevelError
	case LevelCritical:
		return slog.LevelError + 4
	case LevelAlert:
		return slog.LevelError + 8
	case LevelEmergency:
		return slog.LevelError + 12
	}
	return slog.LevelInfo
}

// A noticeQueue runs functions one after the other on one goroutine, so that whoever hands them in need not wait.
type noticeQueue struct {
	mu      sync.Mutex
	wake    *sync.Cond
	items   []queuedNotice
	stopped bool
	cancel  context.CancelFunc
}

// A queuedNotice waits to be run; while it waits, others with the same key are left out.
type queuedNotice struct {
	key string
	f   func(ctx context.Context)
}

func (q *noticeQueue) init() { q.wake = sync.NewCond(&q.mu) }

// run serves the queue until stop.
func (q *noticeQueue) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cancel = cancel
	for {
		for len(q.items) == 0 && !q.stopped {
			q.wake.Wait()
		}
		if q.stopped {
			return
		}
		next := q.items[0]
		q.items = q.items[1:]
		q.mu.Unlock()
		next.f(ctx)
		q.mu.Lock()
	}
}

// push hands a function in. One with a key that waits already is left out, unless the key is empty.
func (q *noticeQueue) push(key string, f func(ctx context.Context)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return
	}
	if key != "" && slices.ContainsFunc(q.items, func(n queuedNotice) bool { return n.key == key }) {
		return
	}
	if len(q.items) >= maxNotices {
		q.items = q.items[1:]
	}
	q.items = append(q.items, queuedNotice{key, f})
	q.wake.Signal()
}

// stop lets run return, without what still waits, and ends the context of what runs.
func (q *noticeQueue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	q.items = nil
	if q.cancel != nil {
		q.cancel()
	}
	q.wake.Broadcast()
}

// receiveNotice deals with a notification. It runs on the link's reading goroutine.
func (n *connection) receiveNotice(m *jsonrpc.Message, via jsonrpc.ID) {
	switch m.Method {
	case NotificationProgress:
		n.receiveProgress(m.Params)
	case NotificationMessage:
		n.receiveLog(m.Params)
	case NotificationCancelled:
		var p CancelledParams
		if n.readParams(m, &p) && !p.RequestID.IsZero() {
			n.cancelIncoming(p.RequestID, p.Reason)
			n.client.subs.endedByServer(p.RequestID)
		}
	case NotificationElicitationComplete:
		var p ElicitationCompleteParams
		if n.readParams(m, &p) {
			n.completed(p.ElicitationID)
		}
	default:
		n.receiveChange(m, via)
	}
}

// readParams decodes the parameters of a notification; one that cannot be read is passed over.
func (n *connection) readParams(m *jsonrpc.Message, p any) bool {
	if len(m.Params) == 0 {
		return false
	}
	if err := unmarshalJSON(m.Params, p); err != nil {
		n.client.log.Warn("mcp: passed over a notification", "server", n.client.origin, "method", m.Method, "err", err)
		return false
	}
	return true
}

func (n *connection) receiveProgress(params json.RawMessage) {
	var p ProgressParams
	if err := unmarshalJSON(params, &p); err != nil {
		n.client.log.Warn("mcp: passed over a progress notification", "server", n.client.origin, "err", err)
		return
	}
	n.mu.Lock()
	call := n.calls[p.ProgressToken]
	advance := call != nil && (!call.seen || p.Progress > call.last)
	if advance {
		call.seen, call.last = true, p.Progress
	}
	n.mu.Unlock()
	if call == nil {
		n.receiveTracked(&p)
	}
	if !advance {
		return
	}
	if n.client.opts.ResetOnProgress || call.req.Options.ResetOnProgress {
		call.timer.reset()
	}
	if call.progress != nil {
		v := Progress{Done: p.Progress, Message: p.Message}
		if p.Total != nil {
			v.Total = *p.Total
		}
		call.progress.push(v)
	}
}

func (n *connection) receiveLog(params json.RawMessage) {
	f := n.client.opts.OnLog
	if f == nil {
		return
	}
	m := new(LogMessage)
	if err := unmarshalJSON(params, m); err != nil {
		n.client.log.Warn("mcp: passed over a log message", "server", n.client.origin, "err", err)
		return
	}
	m.Data = slices.Clone(m.Data)
	n.client.later("", "OnLog", func(ctx context.Context) { f(ctx, m) })
}

// receiveChange deals with change notices and with notifications that are not the protocol's.
func (n *connection) receiveChange(m *jsonrpc.Message, via jsonrpc.ID) {
	v := Notice{Kind: kindOf(m.Method), Method: m.Method, Params: slices.Clone(m.Params)}
	if v.Kind == NoticeResource {
		v.URI, _ = textOf(memberOf(m.Params, "uri"))
	}
	if v.Kind != 0 {
		n.client.invalidate(m.Method, v.URI)
	}
	if n.client.subs.route(n, v, via) {
		return
	}
	if f := n.client.opts.OnNotice; f != nil && v.Kind != 0 {
		n.client.later(v.Method+" "+v.URI, "OnNotice", func(ctx context.Context) { f(ctx, v) })
		return
	}
	if f := n.client.opts.Notifications[m.Method]; f != nil {
		n.client.later("", "handler of "+m.Method, func(ctx context.Context) {
			if err := f(ctx, v.Params); err != nil {
				n.client.log.Warn("mcp: handling a notification", "server", n.client.origin, "method", v.Method, "err", err)
			}
		})
		return
	}
	n.client.log.Debug("mcp: nobody wants this notification", "server", n.client.origin, "method", m.Method)
}

// later runs f on the client's notice goroutine.
func (c *Client) later(key, what string, f func(ctx context.Context)) {
	c.notices.push(key, func(ctx context.Context) {
		if err := c.contain(what, func() error { f(ctx); return nil }); err != nil {
			c.log.Warn("mcp: a handler failed", "server", c.origin, "err", err)
		}
	})
}
