// Package headless is the [mcp.Interactor] of a client behind which there is nobody: a scheduled job, a pipeline, a service.
//
// Its default is the honest one: it declares nothing, so that servers know before they begin that nobody can be asked, and never hear
// that a person declined where there was no person. A host that has a policy of its own (cancel everything, decline what one server
// asks) says so with [Options.Policy] or [Options.Decide].
//
//	client, err := mcp.Connect(ctx, transport, &mcp.ClientOptions{Interactor: headless.New(nil)})
//
// Answers from a file are package scripted's.
package headless
