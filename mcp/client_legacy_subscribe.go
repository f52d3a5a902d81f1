//go:build !mcp_modern_only

package mcp

import (
	"context"
	"errors"
	"slices"
)

// subscribeEach subscribes in the way of the handshake era: resource by resource, and to lists without a request.
func (c *Client) subscribeEach(ctx context.Context, conn *connection, life context.Context, s *Subscription) (*Subscription, error) { //nolint:revive // life is how long the subscription lasts, not a second ctx
	caps := conn.agreed().server.Capabilities
	have := SubscriptionFilter{
		ToolsListChanged:     caps.Tools != nil && caps.Tools.ListChanged,
		PromptsListChanged:   caps.Prompts != nil && caps.Prompts.ListChanged,
		ResourcesListChanged: caps.Resources != nil && caps.Resources.ListChanged,
	}
	if caps.Resources != nil && caps.Resources.Subscribe {
		have.ResourceSubscriptions = s.want.ResourceSubscriptions
	}
	s.honored = intersect(s.want, have)
	s.honored.ResourceSubscriptions = slices.Compact(slices.Sorted(slices.Values(s.honored.ResourceSubscriptions)))
	s.active = true
	close(s.ack)
	c.subs.add(s)
	taken := make([]string, 0, len(s.honored.ResourceSubscriptions))
	var err error
	for _, uri := range s.honored.ResourceSubscriptions {
		if err = c.takeURI(ctx, uri); err != nil {
			break
		}
		taken = append(taken, uri)
	}
	started := err == nil && c.spawn(func() { s.serve(life, taken) })
	if started {
		return s, nil
	}
	if err == nil {
		err = ErrClosed
	}
	c.subs.remove(s)
	s.cancel(err)
	for _, uri := range taken {
		err = errors.Join(err, c.releaseURI(ctx, uri))
	}
	close(s.done)
	return nil, err
}

// serve runs the handler until life ends.
func (s *Subscription) serve(life context.Context, uris []string) {
	stop := context.AfterFunc(life, s.queue.stop)
	defer stop()
	s.queue.run()
	s.client.subs.remove(s)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(life), s.client.opts.CloseTimeout)
	defer cancel()
	for _, uri := range uris {
		if err := s.client.releaseURI(ctx, uri); err != nil {
			s.client.log.Debug("mcp: unsubscribing", "server", s.client.origin, "uri", uri, "err", err)
		}
	}
	s.finish(context.Cause(life))
}

// takeURI counts a subscription to a resource; the first one subscribes.
func (c *Client) takeURI(ctx context.Context, uri string) error {
	c.subs.mu.Lock()
	if c.subs.uris == nil {
		c.subs.uris = make(map[string]int)
	}
	c.subs.uris[uri]++
	first := c.subs.uris[uri] == 1
	c.subs.mu.Unlock()
	if !first {
		return nil
	}
	err := c.request(ctx, MethodResourcesSubscribe, &SubscribeParams{URI: uri}, nil, &RequestOptions{})
	if err != nil {
		c.subs.mu.Lock()
		c.dropURI(uri)
		c.subs.mu.Unlock()
	}
	return err
}

// releaseURI undoes takeURI; the last one unsubscribes.
func (c *Client) releaseURI(ctx context.Context, uri string) error {
	c.subs.mu.Lock()
	last := c.dropURI(uri)
	c.subs.mu.Unlock()
	c.mu.Lock()
	alive := !c.closed && c.current != nil && !c.current.isLost()
	c.mu.Unlock()
	if !last || !alive {
		return nil
	}
	return c.request(ctx, MethodResourcesUnsubscribe, &UnsubscribeParams{URI: uri}, nil, &RequestOptions{})
}

// dropURI counts one subscription less and reports whether it was the last. The caller holds the lock.
func (c *Client) dropURI(uri string) bool {
	c.subs.uris[uri]--
	if c.subs.uris[uri] > 0 {
		return false
	}
	delete(c.subs.uris, uri)
	return true
}

// resubscribe takes the subscriptions up again after the server has begun anew.
func (c *Client) resubscribe(conn *connection) {
	if conn.agreed().rules.ListenOnly {
		return // each keeps its own stream open
	}
	c.subs.mu.Lock()
	uris := make([]string, 0, len(c.subs.uris))
	for uri := range c.subs.uris {
		uris = append(uris, uri)
	}
	c.subs.mu.Unlock()
	for _, uri := range uris {
		if err := c.request(c.base, MethodResourcesSubscribe, &SubscribeParams{URI: uri}, nil, &RequestOptions{}); err != nil {
			c.log.Warn("mcp: subscribing again", "server", c.origin, "uri", uri, "err", err)
		}
	}
	for _, s := range c.subs.list() {
		s.interrupted(errSessionRenewed)
		s.mu.Lock()
		s.active = true
		s.mu.Unlock()
		s.resumed()
	}
}

// errSessionRenewed is why the subscriptions of the handshake era are interrupted.
var errSessionRenewed = errors.New("mcp: the session was renewed")
