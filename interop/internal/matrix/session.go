package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed38e7925c/parley/interop/internal/play"
)

// A Session is a connected client, as a check sees it.
type Session struct {
	Client play.Client
	Hello  *play.Hello

	target *play.Target
	dial   play.Dialer
	pair   *Pair
	doubt  bool // the check is on the list of known faults

	mu     sync.Mutex
	events []play.Event
	note   chan struct{}
}

func (s *Session) event(e play.Event) {
	s.mu.Lock()
	s.events = append(s.events, e)
	s.mu.Unlock()
	select {
	case s.note <- struct{}{}:
	default:
	}
}

// texts returns the texts of the events of a kind so far.
func (s *Session) texts(kind string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, e := range s.events {
		if e.Kind == kind {
			out = append(out, e.Text)
		}
	}
	return out
}

// noticeTime is how long an event may take to come, and shortTime how long where it is known not to.
const (
	noticeTime = 8 * time.Second
	shortTime  = 3 * time.Second
)

func (s *Session) patience() time.Duration {
	if s.doubt {
		return shortTime
	}
	return noticeTime
}

// await waits until the events of a kind are as wanted.
func (s *Session) await(ctx context.Context, kind string, enough func(texts []string) bool) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	for {
		got := s.texts(kind)
		if enough(got) {
			return nil
		}
		select {
		case <-s.note:
		case <-ctx.Done():
			return fmt.Errorf("no such %s event within %v; had %q%s", kind, s.patience(), got, s.complaints())
		}
	}
}

// complaints are what the client itself says went wrong.
func (s *Session) complaints() string {
	if got := s.texts("complaint"); len(got) > 0 {
		return "; the client complained: " + strings.Join(got, "; ")
	}
	return ""
}

// has is enough when text is among the texts.
func has(text string) func([]string) bool {
	return func(got []string) bool { return slices.Contains(got, text) }
}

// any1 is enough when there is an event.
func any1(got []string) bool { return len(got) > 0 }

// poll repeats f until it says yes.
func (s *Session) poll(ctx context.Context, what string, f func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := f()
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %v", what, s.patience())
		}
	}
}

// call calls a tool; args is JSON.
func (s *Session) call(ctx context.Context, name, args string) (*play.Reply, error) {
	return s.Client.Do(ctx, &play.Op{Do: play.Call, Name: name, Args: json.RawMessage(args)})
}

// says calls a tool and wants a text.
func (s *Session) says(ctx context.Context, name, args, want string) error {
	r, err := s.call(ctx, name, args)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case r.IsError:
		return fmt.Errorf("%s failed: %s", name, r.Text)
	case !strings.Contains(r.Text, want):
		return fmt.Errorf("%s said %q, not %q", name, r.Text, want)
	}
	return nil
}

// lists wants names in a list.
func (s *Session) lists(ctx context.Context, kind string, want ...string) error {
	r, err := s.Client.Do(ctx, &play.Op{Do: kind})
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	for _, name := range want {
		if !slices.Contains(r.Names, name) {
			return fmt.Errorf("%s lack %q: %q", kind, name, r.Names)
		}
	}
	return nil
}

// reads wants a text in a resource.
func (s *Session) reads(ctx context.Context, uri, want string) error {
	r, err := s.Client.Do(ctx, &play.Op{Do: play.Read, Name: uri})
	if err != nil {
		return fmt.Errorf("reading %s: %w", uri, err)
	}
	if !strings.Contains(r.Text, want) {
		return fmt.Errorf("%s holds %q, not %q", uri, r.Text, want)
	}
	return nil
}

// errCode wants an error response with one of the codes.
func errCode(what string, err error, codes ...int64) error {
	e := new(play.Error)
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: no error response but %w", what, err)
	}
	if !slices.Contains(codes, e.Code) {
		return fmt.Errorf("%s: error %d (%s), not %v", what, e.Code, e.Message, codes)
	}
	return nil
}
