package pgtest

import "testing"

// A Cluster is a running PostgreSQL.
type Cluster struct{}

// Start skips the test: the cluster is reached through a socket in a directory, and run as another user.
func Start(t testing.TB) *Cluster {
	t.Helper()
	t.Skip("not on Windows: PostgreSQL for tests is reached through a Unix socket")
	return nil
}

// Up starts the server.
func (*Cluster) Up(testing.TB) {}

// Down stops the server.
func (*Cluster) Down(testing.TB) {}

// Database makes an empty database.
func (*Cluster) Database(testing.TB) string { return "" }
