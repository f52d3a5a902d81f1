package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// A listener is one subscriptions/listen stream.
type listener struct {
	feed      feed
	wants     change
	resources map[string]struct{}
	params    json.RawMessage // an object whose _meta names the subscription, as most notices have it
	peer      string          // whose it is
}

// errNoStream refuses to listen over a transport that cannot carry what there is to tell.
var errNoStream = &Error{Code: CodeInternalError, Message: "subscriptions/listen needs a transport with streams; this one has none"}

// extensionTasks is the id of the tasks extension.
const extensionTasks = "io.modelcontextprotocol/tasks"

// listen serves subscriptions/listen on the caller's goroutine, until the client or the server ends it.
func (s *Server) listen(ctx context.Context, c *Call) (any, error) {
	x := c.exchange
	filter, err := s.listenFilter(c)
	if err != nil {
		return nil, err
	}
	if x.Stream == nil {
		return nil, errNoStream
	}
	if id, _ := x.Message.ID.Str(); len(id) > maxListenID {
		return nil, invalidParams("the id of a subscription may have %d bytes at most", maxListenID)
	}
	l := newListener(x.Message.ID, filter)
	l.peer = x.peer()
	if err := s.audience.addListener(l, &s.options); err != nil {
		return nil, err
	}
	defer s.audience.removeListener(l)
	if p := c.principal; p != nil && !p.Expiry.IsZero() { // a stream ends with the token that opened it
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, p.Expiry, errFeedOver)
		defer cancel()
	}
	if err := s.acknowledge(ctx, x, l, filter); err != nil {
		return nil, nil //nolint:nilerr,nilnil // the client is gone
	}
	for {
		b, err := l.feed.next(ctx)
		if errors.Is(err, errFeedOver) {
			return s.endListen(ctx, x, l)
		}
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // the client has closed the stream
		}
		b.hide(s, c)
		for _, m := range b.notices(l.params) {
			if err := x.Stream.Send(ctx, m); err != nil {
				return nil, nil //nolint:nilerr,nilnil // the client is gone
			}
		}
	}
}

// Bounds of what is kept of one subscriber: all URIs together, and the id, which is repeated in each notice.
const (
	maxSubscribedBytes = 256 << 10
	maxListenID        = 1 << 10
)

// listenFilter reads what the client wants to hear of and drops what the server does not offer.
func (s *Server) listenFilter(c *Call) (*SubscriptionFilter, error) {
	raw := c.exchange.params.member(paramNotifications)
	if objectState(raw) != era.Valid {
		return nil, invalidParams("params.notifications must be an object: what to listen for")
	}
	var f SubscriptionFilter
	if err := unmarshalJSON(raw, &f); err != nil {
		return nil, invalidParams("params.notifications: %v", errDecode{err})
	}
	if len(f.TaskIDs) > 0 {
		if err := c.RequireExtension(extensionTasks); err != nil {
			return nil, err
		}
	}
	if n := len(f.ResourceSubscriptions); n > s.options.MaxSubscriptions {
		return nil, invalidParams("params.notifications.resourceSubscriptions has %d entries; this server allows %d", n, s.options.MaxSubscriptions)
	}
	size := 0
	for _, uri := range f.ResourceSubscriptions {
		if size += len(uri); size > maxSubscribedBytes {
			return nil, invalidParams("params.notifications.resourceSubscriptions has more than %d bytes of URIs", maxSubscribedBytes)
		}
	}
	honoured := &SubscriptionFilter{
		ToolsListChanged:     f.ToolsListChanged && s.has("tools"),
		PromptsListChanged:   f.PromptsListChanged && s.has("prompts"),
		ResourcesListChanged: f.ResourcesListChanged && s.has("resources"),
	}
	if s.has("resources") { // hidden ones as well, of which nothing is told: leaving them out would tell that they are there
		honoured.ResourceSubscriptions = f.ResourceSubscriptions
	}
	return honoured, nil
}

// missingExtension refuses what only clients with an extension may ask for.
func missingExtension(rev Revision, id string) *Error {
	data := append([]byte(`{"requiredCapabilities":{"extensions":{`), appendText(nil, id)...)
	return &Error{
		Code:    rev.Rules().CodeMissingCapability,
		Message: fmt.Sprintf("this needs the extension %s, which the request does not declare", id),
		Data:    append(data, `:{}}}}`...),
	}
}

func newListener(id jsonrpc.ID, f *SubscriptionFilter) *listener {
	l := &listener{params: append(id.AppendJSON([]byte(`{"_meta":{"`+era.MetaSubscriptionID+`":`)), "}}"...)}
	l.feed.wake = make(chan struct{}, 1)
	if f.ToolsListChanged {
		l.wants |= toolsChanged
	}
	if f.PromptsListChanged {
		l.wants |= promptsChanged
	}
	if f.ResourcesListChanged {
		l.wants |= resourcesChanged
	}
	if len(f.ResourceSubscriptions) > 0 {
		l.resources = make(map[string]struct{}, len(f.ResourceSubscriptions))
		for _, uri := range f.ResourceSubscriptions {
			l.resources[uri] = struct{}{}
		}
	}
	return l
}

// acknowledge sends the first message of a listen stream: what the server will tell of.
func (s *Server) acknowledge(ctx context.Context, x *Exchange, l *listener, f *SubscriptionFilter) error {
	raw, err := marshalJSON(f)
	if err != nil {
		return err
	}
	params := append(l.params[:len(l.params)-1:len(l.params)-1], `,"notifications":`...)
	params = append(params, raw...)
	return x.Stream.Send(ctx, &jsonrpc.Message{Method: NotificationAcknowledged, Params: append(params, '}')})
}

// endListen ends a listen stream from this side: with a result, and over byte streams with a notice before it, as the specification
// asks for in two places.
func (s *Server) endListen(ctx context.Context, x *Exchange, l *listener) (any, error) {
	if x.Headers == nil {
		params := append([]byte(`{"requestId":`), x.Message.ID.AppendJSON(nil)...)
		m := &jsonrpc.Message{Method: NotificationCancelled, Params: append(params, `,"reason":"the server ends the subscription"}`...)}
		if err := x.Stream.Send(context.WithoutCancel(ctx), m); err != nil {
			return nil, nil //nolint:nilerr,nilnil // the client is gone
		}
	}
	return l.params, nil
}
