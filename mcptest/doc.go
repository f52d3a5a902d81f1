// Package mcptest tests MCP servers: handlers alone, with a script in place of the person; servers in memory, with a real client; and
// that nothing is left running.
//
//	got, err := mcptest.Run(t, &mcptest.Script{Answers: mcptest.Answers{
//		"seat": Seat{Class: "first"},
//		"pay":  true,
//	}}, book, Booking{From: "Bern", To: "Wien"})
//
// [Run] runs the handler in both ways that there are: suspended for its questions, as clients before 2026-07-28 have it, and run again
// from its beginning for each round, as those of 2026-07-28 do. It fails the test when the two differ, when the handler does not
// return the error of a question that is not answered yet, and when the questions are not those of the script.
package mcptest
