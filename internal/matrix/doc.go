// Package matrix plays one test over every transport and every revision: a server in memory, as a process of its own and
// behind HTTP, spoken to by our client or by a client that writes its lines by hand.
//
//	var notes = matrix.NewFixture("notes", func() *mcp.Server { … })
//
//	func TestMain(m *testing.M) { matrix.Main(m) }
//
//	func TestCaseX01(t *testing.T) {
//		matrix.Each(t, func(t *testing.T, l matrix.Leg) {
//			w := l.Wire(t, notes)
//			w.Request(1, "tools/list", "")
//			…
//
// A fixture is made anew for each leg, and runs in another process on legs of [Stdio]: a test learns what happened there by
// the protocol alone.
package matrix
