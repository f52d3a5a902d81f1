// Package scripted is an [mcp.Interactor] that takes its answers from a file: for scripts, tests and pipelines that know in advance what
// a server will ask.
//
//	script, err := scripted.Load("answers.json")
//	client, err := mcp.Connect(ctx, transport, &mcp.ClientOptions{Interactor: script.Interactor(nil)})
//	…
//	err = script.Err() // what was asked and had no answer, and what was answered and never asked
//
// The file is a JSON object with a list of answers:
//
//	{"answers": [
//	  {"tool": "book", "key": "seat", "values": {"class": "first", "quiet": true}},
//	  {"kind": "url", "host": "pay.example.com", "action": "accept"},
//	  {"message": "Are you sure", "action": "decline"}
//	]}
//
// Each answer says which question it fits (everything it names must match) and what to say. The first answer in the file that fits and
// was not used yet is taken; "repeat" lets it be used again. Nothing is guessed: a question without an answer is one that nobody could
// be asked ([mcp.ErrUnavailable]), never a decline.
package scripted
