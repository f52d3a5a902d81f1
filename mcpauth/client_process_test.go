package mcpauth_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seed38e7925c/parley/mcpauth"
)

// A crew is clients that share a folder of tokens, each with requests of its own at the same time.
type crew struct {
	url     string
	clients []*mcpauth.Transport
	each    int
}

func newCrew(dir, u string, clients, each int) (*crew, error) {
	c := &crew{url: u, each: each}
	for range clients {
		store, err := mcpauth.NewFileStore(dir)
		if err != nil {
			return nil, err
		}
		tr, err := mcpauth.NewTransport(u, nil, &mcpauth.ClientOptions{Store: store, Login: mcpauth.FollowRedirect(nil, redirectURI)})
		if err != nil {
			return nil, err
		}
		c.clients = append(c.clients, tr)
	}
	return c, nil
}

// turn has every client send its requests.
func (c *crew) turn() error {
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	for _, tr := range c.clients {
		for range c.each {
			wg.Go(func() {
				status, err := post(tr, c.url)
				if err == nil && status != http.StatusOK {
					err = fmt.Errorf("status %d", status)
				}
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			})
		}
	}
	wg.Wait()
	return failed
}

const envCrew = "MCPAUTH_TEST_CREW" // url, folder, clients, requests of each, one a line

// TestCrewOfAnotherProcess is not a test but the process that others start.
func TestCrewOfAnotherProcess(t *testing.T) {
	words := strings.Split(os.Getenv(envCrew), "\n")
	if len(words) != 4 {
		return
	}
	c := must(newCrew(words[1], words[0], must(strconv.Atoi(words[2])), must(strconv.Atoi(words[3]))))
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Fprintf(os.Stdout, "turn: %q\n", fmt.Sprint(c.turn()))
	}
}

// A remoteCrew is a crew in a process of its own.
type remoteCrew struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startCrew(t *testing.T, dir, u string, clients, each int) *remoteCrew {
	t.Helper()
	r := &remoteCrew{cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrewOfAnotherProcess$")}
	r.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%s\n%d\n%d", envCrew, u, dir, clients, each))
	r.cmd.Stderr = os.Stderr
	r.in = must(r.cmd.StdinPipe())
	r.out = bufio.NewScanner(must(r.cmd.StdoutPipe()))
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.in.Close()
		_ = r.cmd.Wait()
	})
	return r
}

func (r *remoteCrew) begin() error {
	_, err := io.WriteString(r.in, "turn\n")
	return err
}

func (r *remoteCrew) end() error {
	for r.out.Scan() {
		if text, ok := strings.CutPrefix(r.out.Text(), "turn: "); ok {
			if text != `"<nil>"` {
				return errors.New(text)
			}
			return nil
		}
	}
	return errors.New("the process ended")
}

// rotate makes a world whose refresh tokens are good once, and whose access tokens end when a test says so. Who presents a refresh
// token twice has lost the login.
func rotate(w *world) (expire func(), refreshes func() int) {
	expired, done, lost := 0, 0, false
	w.accept = func(token string, _ *http.Request) int {
		if w.issued > expired && token == fmt.Sprintf("Bearer token-%d", w.issued) {
			return 200
		}
		return 401
	}
	w.answer = func(f url.Values) (int, string) {
		r := f.Get("refresh_token")
		switch {
		case r == "":
			return 0, ""
		case lost || r != fmt.Sprintf("refresh-%d", w.issued):
			lost = true
			return 400, `{"error":"invalid_grant","error_description":"used before"}`
		}
		done++
		return 0, ""
	}
	return func() { w.change(func() { expired = w.issued }) }, func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return done
	}
}

// Five clients in three processes share one folder of tokens through 200 expiries: one refresh each, and nobody has to log in again.
func TestCaseA02TwoHundredExpiries(t *testing.T) {
	const expiries = 200
	w := newWorld(t)
	expire, refreshes := rotate(w)
	dir := filepath.Join(t.TempDir(), "s")
	own := must(newCrew(dir, w.url(), 1, 1))
	if err := own.turn(); err != nil { // the login
		t.Fatal(err)
	}
	others := []*remoteCrew{startCrew(t, dir, w.url(), 2, 1), startCrew(t, dir, w.url(), 2, 1)}
	turns(t, own, others, func(i int) bool {
		if n := refreshes(); n != i {
			t.Fatalf("%d refreshes after %d expiries", n, i)
		}
		expire()
		return i < expiries
	})
	if n := w.asked("AS /authorize"); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// turns lets everybody have turns until next says that it is enough. It is told how many there were.
func turns(t *testing.T, own *crew, others []*remoteCrew, next func(i int) bool) {
	t.Helper()
	for i := 0; next(i); i++ {
		for _, o := range others {
			if err := o.begin(); err != nil {
				t.Fatal(err)
			}
		}
		err := own.turn()
		for _, o := range others {
			err = errors.Join(err, o.end())
		}
		if err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
	}
}

// Fifty requests at once in each of five processes, while the token ends: one refresh.
func TestCaseA02FiveProcesses(t *testing.T) {
	const expiries = 3
	w := newWorld(t)
	expire, refreshes := rotate(w)
	dir := filepath.Join(t.TempDir(), "s")
	own := must(newCrew(dir, w.url(), 1, 50))
	if err := own.turn(); err != nil {
		t.Fatal(err)
	}
	var others []*remoteCrew
	for range 4 {
		others = append(others, startCrew(t, dir, w.url(), 1, 50))
	}
	turns(t, own, others, func(i int) bool {
		if n := refreshes(); n != i {
			t.Fatalf("%d refreshes after %d expiries", n, i)
		}
		expire()
		return i < expiries
	})
	if n := w.asked("AS /authorize"); n != 1 {
		t.Errorf("%d logins", n)
	}
}

// A process that dies in the middle of a refresh leaves no lock behind. What it presented is presented again, which authorization
// servers take for a moment; where they do not, there is a new login and not an error.
func TestCaseA02DeathDuringARefresh(t *testing.T) {
	for _, grace := range []bool{true, false} {
		t.Run(fmt.Sprint("grace ", grace), func(t *testing.T) {
			w := newWorld(t)
			expire, _ := rotate(w)
			usual := w.answer
			presented, release := make(chan struct{}, 1), make(chan struct{})
			as := w.as.Config.Handler
			w.as.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/token" {
					as.ServeHTTP(rw, r)
					return
				}
				_ = r.ParseForm()
				select {
				case <-release:
				default:
					if r.PostForm.Get("grant_type") == "refresh_token" { // the answer is lost
						if !grace {
							w.change(func() { _, _ = usual(r.PostForm); w.issued++ })
						}
						presented <- struct{}{}
						<-r.Context().Done()
						return
					}
				}
				as.ServeHTTP(rw, r)
			})
			dir := filepath.Join(t.TempDir(), "s")
			own := must(newCrew(dir, w.url(), 1, 1))
			if err := own.turn(); err != nil {
				t.Fatal(err)
			}
			expire()
			other := startCrew(t, dir, w.url(), 1, 1)
			if err := other.begin(); err != nil {
				t.Fatal(err)
			}
			<-presented
			if err := other.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			close(release)
			if err := own.turn(); err != nil {
				t.Error(err)
			}
			want := 1
			if !grace {
				want = 2
			}
			if n := w.asked("AS /authorize"); n != want {
				t.Errorf("%d logins, want %d", n, want)
			}
		})
	}
}
