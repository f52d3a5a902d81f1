package connect_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/oauth2"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/postgres"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/internal/pgtest"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

const processEnv = "PARLEY_TEST_GRANT_PROCESS"

// openStore opens a database of PostgreSQL, or a file.
func openStore(t *testing.T, where string) interface {
	connect.Store
	io.Closer
} {
	t.Helper()
	if strings.HasPrefix(where, "host=") {
		s, err := postgres.Open(t.Context(), where)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, err := sqlite.Open(where)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// grantOf opens a desk as every process of the test does.
func grantOf(t *testing.T, store connect.Store, keys, issuer string) *connect.Grant {
	t.Helper()
	desk, err := connect.Open(t.Context(), &connect.Options{
		ServerName: "Travel desk", BaseURL: "https://travel.test/connect/", Store: store, Keys: connect.KeysFromFile(keys),
		Identity: connect.CookieIdentity{}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := desk.Close(); err != nil {
			t.Error(err)
		}
	})
	return desk.OAuth(&connect.Provider{
		Name: "rail", Title: "Rail AG", Issuer: issuer, ClientID: "desk", ClientSecret: connect.NewSecret(railSecret), Resource: "https://api.rail.test/",
	})
}

// TestGrantProcess is a process of TestThreat29ThreeProcesses, and passes otherwise.
func TestGrantProcess(t *testing.T) {
	config := strings.Split(os.Getenv(processEnv), "\n")
	if len(config) != 3 {
		return
	}
	store := openStore(t, config[0])
	defer store.Close()
	g := grantOf(t, store, config[1], config[2])
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 67 {
		wg.Go(func() {
			token, err := g.TokenOf(t.Context(), person("alice"))
			if err != nil || token == nil {
				t.Errorf("%v, %v", token, err)
				return
			}
			fmt.Println("token " + token.Access.Reveal())
		})
	}
	wg.Wait()
}

// TestThreat29ThreeProcesses: 200 who need one token that has ended, in three processes, are one renewal. The provider ends everything
// when a refresh token comes twice.
func TestThreat29ThreeProcesses(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { threeProcesses(t, filepath.Join(t.TempDir(), "desk.db")) })
	t.Run("postgres", func(t *testing.T) { threeProcesses(t, pgtest.Start(t).Database(t)) })
}

func threeProcesses(t *testing.T, where string) {
	p := idp.Start(t, &idp.Options{
		Users:   []idp.User{{Subject: "u-anna"}},
		Clients: []idp.Client{{ID: "desk", Secret: railSecret, RedirectURIs: []string{"https://travel.test/connect/callback/rail"}}},
		Auto:    idp.Auto{SignIn: "u-anna", Consent: idp.Approve},
	})
	store := openStore(t, where)
	defer store.Close()
	keys := filepath.Join(t.TempDir(), "keys")
	g := grantOf(t, store, keys, p.Issuer())
	access, refresh := tokens(t, p)
	if err := g.Give(t.Context(), person("alice"), access, refresh, 0); err != nil {
		t.Fatal(err)
	}
	for round := 1; round <= 3; round++ {
		if err := g.Expire(t.Context(), person("alice")); err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, out := range processes(t, 3, where+"\n"+keys+"\n"+p.Issuer()) {
			for line := range strings.Lines(out) {
				if token, ok := strings.CutPrefix(line, "token "); ok {
					seen[token]++
				}
			}
		}
		if len(seen) != 1 || p.Count(idp.GrantRefresh) != round || p.Events()["reuse"] != 0 {
			t.Fatalf("round %d: %d tokens in use, %d renewals, %d refresh tokens twice", round, len(seen), p.Count(idp.GrantRefresh), p.Events()["reuse"])
		}
	}
}

// processes runs some, has them begin at the same time, and returns what they printed.
func processes(t *testing.T, n int, config string) []string {
	t.Helper()
	type process struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Reader
	}
	var all []process
	for range n {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGrantProcess$")
		cmd.Env = append(os.Environ(), processEnv+"="+config)
		cmd.Stderr = t.Output()
		in, errIn := cmd.StdinPipe()
		out, errOut := cmd.StdoutPipe()
		if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		all = append(all, process{cmd, in, bufio.NewReader(out)})
	}
	for _, p := range all {
		if line, err := p.out.ReadString('\n'); line != "ready\n" {
			t.Errorf("a process says %q, %v", line, err)
		}
	}
	for _, p := range all {
		if _, err := io.WriteString(p.in, "go\n"); err != nil {
			t.Error(err)
		}
	}
	var outs []string
	for _, p := range all {
		out, err := io.ReadAll(p.out)
		if err := errors.Join(err, p.cmd.Wait()); err != nil {
			t.Errorf("a process: %v: %s", err, out)
		}
		outs = append(outs, string(out))
	}
	return outs
}

// tokens has Anna give access, by another client library.
func tokens(t *testing.T, p *idp.Server) (access, refresh string) {
	t.Helper()
	conf := &oauth2.Config{
		ClientID: "desk", ClientSecret: railSecret, RedirectURL: "https://travel.test/connect/callback/rail",
		Endpoint: oauth2.Endpoint{AuthURL: p.Issuer() + idp.Authorize, TokenURL: p.Issuer() + idp.Token},
	}
	verifier, resource := oauth2.GenerateVerifier(), oauth2.SetAuthURLParam("resource", "https://api.rail.test/")
	client := &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host == "travel.test" {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := client.Get(conf.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier), resource))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	token, err := conf.Exchange(t.Context(), back.Query().Get("code"), oauth2.VerifierOption(verifier), resource)
	if err != nil {
		t.Fatal(err)
	}
	return token.AccessToken, token.RefreshToken
}
