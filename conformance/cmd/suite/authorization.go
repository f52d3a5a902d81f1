package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/conformance/internal/audit"
	"github.com/seed38e7925c/parley/mcptest/idp"
)

// The suite's scenarios for authorization servers are in no requirement set. They are run against the provider that this project tests
// with, once for each way in which a client may be known there, one of them at an issuer with a path.
var knownAs = []struct {
	name, secret, method, path string
}{
	{"public", "", idp.AuthNone, ""},
	{"basic", "s3cret", idp.AuthBasic, "/tenant1"},
	{"post", "s3cret", idp.AuthPost, ""},
}

// authorization runs them at a revision and reports whether all passed.
func (r *runner) authorization(ctx context.Context, revision string, exp *expectations) (bool, error) {
	var all []audit.Scenario
	for _, k := range knownAs {
		port, err := freePort(ctx)
		if err != nil {
			return false, err
		}
		client := idp.Client{ID: "suite", Name: "Conformance suite", Secret: k.secret, AuthMethod: k.method, RedirectURIs: []string{fmt.Sprintf("http://127.0.0.1:%d/callback", port)}}
		p, err := idp.Listen("127.0.0.1:0", &idp.Options{Path: k.path, Clients: []idp.Client{client}, AuthMethods: []string{k.method}, ClientDocuments: &http.Client{}, Auto: idp.Auto{SignIn: "alice", Consent: idp.Approve}})
		if err != nil {
			return false, err
		}
		got, err := r.authorizationServer(ctx, revision, exp, &issuer{url: p.Issuer(), kind: k.name, secret: k.secret, port: port})
		p.Close()
		if err != nil {
			return false, err
		}
		all = append(all, got...)
	}
	ok := true
	for i := range all {
		if !all[i].OK() {
			ok = false
			explain(os.Stdout, "FAILED", &all[i])
		}
	}
	fmt.Printf("conformance authorization %s %v\n", revision, audit.Count(all, func(string) bool { return true }))
	return ok, nil
}

// An issuer is an authorization server to be tested, and how the suite is known there.
type issuer struct {
	url, kind, secret string
	port              int // of the suite's callback
}

func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

// authorizationServer runs the suite once and is the person whom it asks to log in.
func (r *runner) authorizationServer(ctx context.Context, revision string, exp *expectations, as *issuer) ([]audit.Scenario, error) {
	dir := filepath.Join(r.out, "authorization-"+revision+"-"+as.kind)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	args := []string{"--no-deprecation", "--require", "./bind-loopback.cjs", filepath.Join(suiteDir, "dist", "index.js"), "authorization", "--url", as.url, "--spec-version", revision,
		"--client-id", "suite", "--resource", "https://mcp.example.com/mcp", "--port", strconv.Itoa(as.port), "-o", dir}
	if as.secret != "" {
		args = append(args, "--client-secret", as.secret)
	}
	log, err := os.Create(filepath.Join(dir, "suite.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, nodeBinary, args...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the suite: %w (has `npm ci` been run in conformance/?)", err)
	}
	login := agree(ctx, io.TeeReader(out, log), as.url)
	// The suite's exit code says less than its results do.
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if login != nil {
		return nil, login
	}
	return audit.Read(dir, "authorization", exp.Allowed)
}

// agree reads what the suite says to its end, and visits the address that it wants to be visited, once its callback is open.
func agree(ctx context.Context, said io.Reader, issuer string) error {
	var address string
	var open bool
	var failed error
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		switch {
		case strings.HasPrefix(lines.Text(), "Callback server started"):
			open = true
		case strings.HasPrefix(lines.Text(), issuer+idp.Authorize+"?"):
			address = lines.Text()
		}
		if open && address != "" {
			failed = errors.Join(failed, visit(ctx, address))
			address, open = "", false
		}
	}
	return errors.Join(failed, lines.Err())
}

func visit(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("logging in for the suite: %s", resp.Status)
	}
	return nil
}
