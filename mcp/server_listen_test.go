package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

// listening is one subscriptions/listen request that is being served.
type listening struct {
	stream *recorder
	cancel context.CancelFunc
	done   chan string
}

// listen opens a listen stream with a filter; id is raw JSON.
func (s *testServer) listen(t *testing.T, id, filter string, p *mcp.Principal) *listening {
	t.Helper()
	x := exchange(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"subscriptions/listen","params":{`+metaText+`,"notifications":`+filter+`}}`)
	l := &listening{stream: &recorder{}, done: make(chan string, 1)}
	x.Stream, x.Principal = l.stream, p
	ctx, cancel := context.WithCancel(t.Context())
	l.cancel = cancel
	t.Cleanup(cancel)
	go func() {
		got, _ := s.serve(ctx, x)
		l.done <- got
	}()
	return l
}

func TestServerListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fullServer(t, nil)
		l := s.listen(t, "7", `{"toolsListChanged":true,"resourceSubscriptions":["note:///a"]}`, nil)
		text := s.listen(t, `"7"`, `{"promptsListChanged":true,"com.example/x":true}`, nil)
		synctest.Wait()
		ack := `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`
		if got := l.stream.lines(); len(got) != 1 || got[0] != ack+`7},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["note:///a"]}}}` {
			t.Fatalf("acknowledged %v", got)
		}
		if got := text.stream.lines(); len(got) != 1 || got[0] != ack+`"7"},"notifications":{"promptsListChanged":true}}}` {
			t.Fatalf("acknowledged %v", got)
		}
		addNumbered(s.Server, 0, 100)
		s.RemovePrompts("greet")
		s.RemoveResources("note:///b") // nobody listens for that
		s.ResourceUpdated("note:///a")
		s.ResourceUpdated("note:///a")
		s.ResourceUpdated("note:///other")
		time.Sleep(time.Second)
		got := l.stream.lines()[1:]
		if len(got) != 2 ||
			got[0] != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}` ||
			got[1] != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note:///a","_meta":{"io.modelcontextprotocol/subscriptionId":7}}}` {
			t.Errorf("got %v", got)
		}
		if got := text.stream.lines()[1:]; len(got) != 1 || !strings.Contains(got[0], `prompts/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"7"}}`) {
			t.Errorf("got %v", got)
		}
		l.cancel()
		if got := <-l.done; got != "" {
			t.Errorf("a closed stream was answered: %s", got)
		}
		s.RemoveTools("t1")
		time.Sleep(time.Second)
		if n := len(l.stream.lines()); n != 3 {
			t.Errorf("%d messages after the end", n)
		}
		text.cancel()
		<-text.done
	})
}

// Nobody hears of changes more often than NoticeDelay says, not even who is just about to look.
func TestServerNoticesOfAStorm(t *testing.T) {
	s := fullServer(t, &mcp.ServerOptions{NoticeDelay: time.Hour})
	l := s.listen(t, "7", `{"toolsListChanged":true}`, nil)
	other := s.listen(t, "8", `{"toolsListChanged":true}`, nil)
	addNumbered(s.Server, 0, 2000)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*listening{l, other} {
		<-l.done
		if n := strings.Count(strings.Join(l.stream.lines(), ""), "list_changed"); n > 2 { // at once, and when all is over
			t.Errorf("told %d times", n)
		}
	}
}

// The first change is told at once, but together with those made with it; those that follow, at intervals.
func TestServerNoticeRhythm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fullServer(t, &mcp.ServerOptions{NoticeDelay: 50 * time.Millisecond})
		l := s.listen(t, "7", `{"toolsListChanged":true}`, nil)
		synctest.Wait()
		next := 0
		change := func(n int) {
			addNumbered(s.Server, next, next+n)
			next += n
		}
		told := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := len(l.stream.lines()) - 1; got != want {
				t.Fatalf("told %d times, want %d", got, want)
			}
		}
		change(100)
		told(999*time.Microsecond, 0)
		told(time.Microsecond, 1)
		change(100)
		told(30*time.Millisecond, 1)
		change(100)
		told(19999*time.Microsecond, 1)
		told(time.Microsecond, 2)
		told(time.Second, 2)
		change(1)
		told(time.Millisecond, 3)
		l.cancel()
		<-l.done
	})
}

func TestServerListenFilterIsHonest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, &mcp.ServerOptions{MaxListeners: 1, MaxSubscriptions: 1}) // offers nothing
		l := s.listen(t, "1", `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:y"]}`, nil)
		synctest.Wait()
		want(t, l.stream.lines()[0], `"notifications":{}}`)
		refused := func(filter, right string) {
			t.Helper()
			x := s.listen(t, "2", filter, nil)
			want(t, <-x.done, right)
			if n := len(x.stream.lines()); n != 0 {
				t.Errorf("%d messages before the refusal", n)
			}
		}
		refused(`{}`, "too many")
		refused(`{"resourceSubscriptions":["a:b","c:d"]}`, "-32602")
		refused(`{"toolsListChanged":"yes"}`, "-32602")
		refused(`{"taskIds":["x"]}`, `"code":-32021`)
		l.cancel()
		<-l.done
	})
	s := newServer(t, nil)
	want(t, s.modern(t, "subscriptions/listen", `"notifications":{}`), "streams")
}

func TestServerListenEndsWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fullServer(t, nil)
		l := s.listen(t, "7", `{"toolsListChanged":true}`, nil)
		synctest.Wait()
		s.RemoveTools("echo")
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, <-l.done, `"result":{"resultType":"complete","_meta":{`, `"io.modelcontextprotocol/subscriptionId":7`)
		lines := l.stream.lines()
		want(t, lines[1], "list_changed") // nothing is lost
		want(t, lines[2], `"method":"notifications/cancelled"`, `"requestId":7`)
		want(t, s.modern(t, "tools/list", ""), "shutting down")
		if adm := s.Admit(exchange(t, modernLine(1, "tools/list", ""))); adm.Status != 503 {
			t.Errorf("status %d", adm.Status)
		}
	})
}

func TestServerListenEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fullServer(t, nil)
		l := s.listen(t, "7", `{"toolsListChanged":true}`, &mcp.Principal{Subject: "ann", Expiry: time.Now().Add(time.Hour)})
		time.Sleep(time.Hour + time.Second)
		want(t, <-l.done, `"result"`)
	})
}

func TestServerListenClientIsGone(t *testing.T) {
	s := fullServer(t, nil)
	x := exchange(t, modernLine(1, "subscriptions/listen", `"notifications":{}`))
	x.Stream = &recorder{fail: errors.New("gone")}
	if got, _ := s.serve(t.Context(), x); got != "" {
		t.Errorf("answered: %s", got)
	}
}

func TestCaseN14ServerOneSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fullServer(t, nil)
		var all []*listening
		for i := range 100 {
			l := s.listen(t, fmt.Sprint(i+1), `{"toolsListChanged":true,"resourceSubscriptions":["note:///a"]}`, nil)
			all = append(all, l)
		}
		synctest.Wait()
		hang := make(chan struct{})
		all[0].stream.mu.Lock()
		all[0].stream.hang = hang // its next send hangs
		all[0].stream.mu.Unlock()
		began := time.Now()
		for i := range 1000 {
			s.ResourceUpdated(fmt.Sprintf("note:///a/%d", i%20))
		}
		addNumbered(s.Server, 0, 5)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("telling took %v", waited)
		}
		time.Sleep(time.Second)
		for i, l := range all[1:] {
			if n := len(l.stream.lines()); n != 1+1+20 {
				t.Errorf("listener %d got %d messages", i+1, n)
			}
		}
		close(hang)
		for _, l := range all {
			l.cancel()
			<-l.done
		}
	})
}

func TestServerShutdownWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nil)
		release := make(chan struct{})
		mcp.AddTool(s.Server, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.Call, struct{}) (string, error) { <-release; return "done", nil })
		got := make(chan string)
		go func() { got <- s.modern(t, "tools/call", `"name":"t"`) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown returned %v", err)
		}
		ended := make(chan error)
		go func() { ended <- s.Shutdown(t.Context()) }()
		synctest.Wait()
		close(release)
		want(t, <-got, `"text":"done"`)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
