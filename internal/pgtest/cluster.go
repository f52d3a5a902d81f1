//go:build !windows

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A Cluster is a running PostgreSQL.
type Cluster struct {
	dir, bin  string // its files; where the programs are
	as        *syscall.SysProcAttr
	server    *exec.Cmd
	databases atomic.Int64
}

// longest bounds what starting and stopping may take on a slow machine.
const longest = time.Minute

// Start runs a cluster until the test is over. Without PostgreSQL's programs the test is skipped.
func Start(t testing.TB) *Cluster {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Skipf("%v: make setup installs it", err)
	}
	c := &Cluster{bin: bin}
	if c.as, err = unprivileged(); err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir, whose parent only its owner can enter.
	c.dir, err = os.MkdirTemp("", "parley-pg-") //nolint:usetesting // the server's user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(c.dir); err != nil {
			t.Error(err)
		}
	})
	if c.as.Credential != nil {
		if err := os.Chown(c.dir, int(c.as.Credential.Uid), int(c.as.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	c.run(t, "initdb", "-D", c.data(), "-U", "parley", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	c.Up(t)
	t.Cleanup(func() { c.Down(t) })
	return c
}

// programs is where initdb and postgres are: on the PATH, or where Debian and others keep them.
func programs() (string, error) {
	var dirs []string
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/libexec/postgresql*", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		slices.Reverse(found) // the newest first
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if runs(filepath.Join(dir, "initdb")) && runs(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", errors.New("PostgreSQL is not installed (initdb and postgres were looked for)")
}

func runs(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = c.dir, c.as
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") }), "HOME="+c.dir)
	return cmd
}

func (c *Cluster) run(t testing.TB, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if out, err := c.command(ctx, name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// Up starts the server, after Down.
func (c *Cluster) Up(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c.server = c.command(context.Background(), "postgres", "-D", c.data(), "-k", c.dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "max_connections=200", "-c", "shared_buffers=32MB")
	c.server.Stdout, c.server.Stderr = log, log
	if err := c.server.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for c.command(ctx, "pg_isready", "-q", "-h", c.dir).Run() != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("postgres does not start: %s", said)
		}
	}
}

// Down stops the server and all its connections, as a crash of it would.
func (c *Cluster) Down(t testing.TB) {
	t.Helper()
	if c.server == nil {
		return
	}
	if err := c.server.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Error(err)
	}
	_ = c.server.Wait() // it was told to stop at once, and says so
	c.server = nil
}

// Database makes an empty database and returns how to connect to it.
func (c *Cluster) Database(t testing.TB) (dsn string) {
	t.Helper()
	name := fmt.Sprintf("test%d", c.databases.Add(1))
	c.run(t, "createdb", "-h", c.dir, "-U", "parley", name)
	return fmt.Sprintf("host=%s user=parley dbname=%s", c.dir, name)
}
