// Package mcp is the Model Context Protocol: servers and clients of every published revision, 2024-11-05 to 2026-07-28.
//
// A server offers tools, prompts and resources. Handlers are written once; what a revision wants differently is dealt with here:
//
//	srv := mcp.NewServer("travel", "1.4.0", nil)
//	mcp.AddTool(srv, &mcp.Tool{Name: "book", Description: "Book a seat."}, book)
//	err := srv.ServeStdio(ctx) // or package mcphttp
//
//	func book(ctx context.Context, call *mcp.Call, in Booking) (Ticket, error)
//
// A client is connected by a [Transport] and asks its person through an [Interactor]:
//
//	c, err := mcp.Connect(ctx, mcp.Command("travel-server", nil, nil), &mcp.ClientOptions{Interactor: person})
//	ticket, err := mcp.CallTool[Ticket](ctx, c, "book", Booking{From: "Bern", To: "Wien"})
//
// # The way of a request
//
//	line or POST ── Exchange ── Server.Admit ── Server.Serve ── middleware ── Handler ── Call.Ask
//	                              │ params read once,                             │
//	                              │ revision decided,      response ── shape ◄────┘
//	                              │ headers compared                (what the revision wants)
//
// The core is stateless. A 2026-07-28 request carries all that is known about its client; the older revisions agree on it in a
// handshake and keep it in a [Session], which fills the same [Call]. The build tag mcp_modern_only leaves the older ones out.
//
// # Failures
//
// [ToolError] explains which errors a peer gets to see, and as what. The errors that calls of this package return are or wrap the
// ones listed in errors.go, an *[Error] of the protocol, a *[TransportError], or ctx's error.
//
// # Concurrency
//
// Servers, clients, sessions, calls and links may be used from several goroutines at once. Everything can be added and removed while
// a server serves. What is handed over (tools, options) is copied and may be used again; what is handed out must not be modified
// where its comment says so.
//
// # Limits
//
// Everything that a peer could make grow is bounded, and every bound is an option with its default in its comment: see
// [ServerOptions], [AskOptions] and [ClientOptions].
//
// # Files
//
//	types_*.go      the protocol's types, all revisions in one
//	server*.go      the server: registries, lists, dispatch, notices, the stream front end
//	shape.go        results as a revision wants them
//	session*.go     the handshake era of the server
//	exchange.go     the seam between transports and the server
//	call*.go        what a handler sees
//	ask*.go once.go questions to the person; state_*.go is what travels sealed between the rounds
//	client*.go      the client; transport*.go, command*.go and pipe.go are its ways to a server
//	errors*.go      errors and codes
package mcp
