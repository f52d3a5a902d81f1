// Package terminal is the [mcp.Interactor] of a host that runs in a terminal: servers' forms are filled in line by line, links are shown
// for consent and opened in the browser.
//
//	client, err := mcp.Connect(ctx, transport, &mcp.ClientOptions{Interactor: terminal.New(os.Stdin, os.Stderr)})
//
// It reads lines and writes lines, nothing else: no raw mode, no cursor movement, no alternate screen. So it works over any connection,
// in any window size, with a screen reader, in a log, and through pipes.
//
//	╭─ http://127.0.0.1:8080/mcp asks you something      where the server really is
//	│ It calls itself  travel 1.4.0                      its claim
//	│ Because of       tools/call book                   the call that caused the question
//	│
//	│ Where would you like to sit?                       its text, made safe by package consent
//	╰─
//	│ 1  Class (required)
//	│    1  First class
//	│    2  Second class
//	1 of 2 › _                                           what the person types
//
// # What is whose
//
// Whatever comes from a server stands behind the bar "│", also when it is long enough to be wrapped, without characters that act on a
// terminal or change how text reads. Prompts do not begin with the bar and hold no text of the server: a message that imitates a
// prompt is seen to be one.
//
// # Answers and commands
//
// While a field is asked, everything that can be typed is an answer, so no command can collide with one: Enter alone takes the default
// (or leaves an optional field out), Esc and Enter leads to the menu, Ctrl-D cancels. In the menu the answers are reviewed; there are
// commands to send them, change or clear one, decline and cancel. Nothing is sent without that menu, and nothing in it is a default.
//
// A question that is withdrawn says so and ends. What was being typed then is not taken for an answer to the next question.
package terminal
