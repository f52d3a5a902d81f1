// Package web is the [mcp.Interactor] of a host that has no terminal but a person with a browser on the same computer: each question is
// a page on the loopback interface.
//
//	client, err := mcp.Connect(ctx, transport, &mcp.ClientOptions{Interactor: web.New(nil)})
//
// A question's page exists from the moment the server asks until it is answered or withdrawn, at an address with 128 random bits in it.
// It is opened in the browser ([Options.Show]) and can be told to the person in another way as well ([Options.Tell]). It shows who asks
// (where the server really is, and what it calls itself), which call caused the question, and what is asked; a link is shown as package
// consent reviewed it, and followed only after the person agreed.
//
// The page is for nobody else: it listens on loopback alone, answers only to its own host name (so that no name can be rebound to it)
// and under its own path, takes an answer once and only from itself (no other site's form), is never cached, framed or referred from,
// and loads and runs nothing: no script, no foreign resource. Whoever can read this user's processes or browser history can find the
// address while the question is open; on a computer shared with people who can, use package terminal.
//
// Texts of the server are plain text: made safe by package consent, and escaped.
package web
