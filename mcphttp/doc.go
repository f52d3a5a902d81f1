// Package mcphttp is the Model Context Protocol over HTTP: [NewHandler] serves an [mcp.Server] to clients of every revision on one
// endpoint, and [Dial] is the transport of a client.
//
//	srv := mcp.NewServer("travel", "1.4.0", nil)
//	log.Fatal(mcphttp.ListenAndServe("127.0.0.1:8080", srv, nil)) // or mount mcphttp.NewHandler(srv, nil)
//
// # The server side
//
// What a POST is decides its body; headers are only compared with it:
//
//	guard ─ CORS ─ authorization ─ body ─ jsonrpc.Decode ─ Server.Admit ┬ 2026-07-28: Server.Serve, here
//	  (403, 401, 413, 415, 431 …)                                       └ handshake era: session ─ Server.Serve, detached
//
// A 2026-07-28 request stands for itself. It is answered as JSON, or as a stream of events from the moment on that there is something
// to stream: progress, log messages, or a keep-alive after [Options.KeepAlive]. When the client goes away, the request is cancelled.
//
// The handshake era lives in sessions: initialize makes one and names it in Mcp-Session-Id; it belongs to the principal that made it.
// A client's going away cancels nothing there. What it misses is kept, within bounds, and a GET with Last-Event-ID brings it; so does
// [CloseStream], by which a long call lets go of its connection (2025-11-25). One GET stream per session carries what the server says
// of its own accord; a second one takes over from the first. Arrays of messages are taken at 2025-03-26 and refused elsewhere.
//
// [NewSSEHandler] is the older HTTP+SSE transport, for clients that know nothing else.
//
// # The client side
//
//	c, err := mcp.Connect(ctx, mcphttp.Dial("https://travel.example/mcp"), nil)
//
// [Dial] speaks whatever the server does: exchanges that stand for themselves, sessions with their standalone stream and with streams
// that are picked up again where they broke, or HTTP+SSE. No failed exchange ends a link, and nothing that may have run is sent twice.
// Credentials plug in by the Transport of [DialOptions.Client]; they never follow a redirect to another origin.
//
// Specification: basic/transports/streamable-http (2026-07-28), basic/transports (before).
//
// # Safe by default
//
// Only loopback names are served until [Options.AllowedHosts] says otherwise, and only pages of loopback or listed origins
// ([Options.AllowedOrigins]). Authorization plugs in by [Options.Authenticate], or by a middleware in front that calls
// [WithPrincipal]; both come before the body is read. Bodies, headers, sessions, calls per session, kept messages, slow readers and
// slow writers are bounded; every bound is an option. The handler sets deadlines of its own for each write, so that neither a server's
// WriteTimeout cuts long streams nor a client that stops reading holds anything for long.
//
// # Files
//
//	handler*.go      endpoint, options, authorization, bodies, answers, streams, what takes too long, ListenAndServe
//	guard*.go        Host, Origin, Accept, Content-Type, CORS
//	modern.go        2026-07-28; listen.go its streams of notices
//	legacy*.go       the handshake era: sessions.go their table, eventstore.go what can be replayed, eventarchive.go of streams that ended
//	sse_legacy.go    HTTP+SSE of 2024-11-05
//	dial*.go, client*.go  the client
//
// With the build tag mcp_modern_only the handshake era is left out.
package mcphttp
