package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// How long Watch waits before it connects again, at first and at most.
const (
	firstPause = 50 * time.Millisecond
	mostPause  = 5 * time.Second
)

// Watch implements [connect.Store]. It has a connection of its own, beside those of the pool.
func (s *Store) Watch(ctx context.Context, changed func(kind, id string)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.mu.Lock()
	if s.closed {
		stop(errClosed)
	}
	s.watchers[&stop] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, &stop)
	}()
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, mostPause) {
		begun := time.Now()
		err := s.listen(ctx, changed)
		if ctx.Err() != nil {
			break
		}
		if time.Since(begun) > mostPause {
			pause = firstPause
		}
		s.log.Warn("connect: the connection for notifications of the database is lost; connecting again", "error", err, "pause", pause)
		wait(ctx, pause)
	}
	return context.Cause(ctx)
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// listen tells of changes as long as its connection lives.
func (s *Store) listen(ctx context.Context, changed func(kind, id string)) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // only says goodbye
	}()
	if _, err := conn.Exec(ctx, `LISTEN parley_rows`); err != nil {
		return err
	}
	changed("", "")
	for {
		n, err := s.next(ctx, conn)
		switch {
		case err != nil:
			return err
		case n != nil:
			changed(parse(n.Payload))
		}
	}
}

func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.check)
	defer cancel()
	return pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
}

// next waits for a notification. When there is none for a while it asks whether the database is there, and returns nil.
func (s *Store) next(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	quiet, cancel := context.WithTimeout(ctx, s.check)
	defer cancel()
	n, err := conn.WaitForNotification(quiet)
	if err == nil || ctx.Err() != nil || quiet.Err() == nil {
		return n, err
	}
	asked, cancel := context.WithTimeout(ctx, s.check)
	defer cancel()
	return nil, conn.Ping(asked)
}

// parse reads what the trigger in the database has written: the number of characters of the kind, a colon, the kind and the id. An
// empty kind is something that it could not say.
func parse(payload string) (kind, id string) {
	count, rest, _ := strings.Cut(payload, ":")
	n, err := strconv.Atoi(count)
	if err != nil || n <= 0 {
		return "", ""
	}
	for i := range rest {
		if n == 0 {
			return rest[:i], rest[i:]
		}
		n--
	}
	return "", ""
}
