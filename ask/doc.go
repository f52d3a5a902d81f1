// Package ask is how a handler puts a question to the human behind the client: one line for a form, a yes or no, a choice, a page to
// visit. It is the typed face of [mcp.Call.Ask].
//
//	type Seat struct {
//		Class string `json:"class" enum:"first=First class,second=Second class" default:"second"`
//		Quiet bool   `json:"quiet,omitempty" title:"Quiet coach"`
//	}
//
//	seat, err := ask.Form[Seat](ctx, call, "seat", "Where would you like to sit?")
//	if err != nil {
//		return Ticket{}, err
//	}
//
// The same handler serves clients of every revision. Those of 2026-07-28 are asked by the result of the request: the first time, the
// function returns [ErrInputRequired], the handler passes it on, and runs again from its beginning when the answer is there. So a
// handler returns the errors of this package as they are, and puts what must not be done twice into [mcp.Once]. Older clients are
// asked while the handler waits.
//
// Every question has a key, unique within its handler. Several questions are asked in one go by [All]. Questions are declared in
// [mcp.Tool.Asks] with [Declare], so that a client that cannot be asked is told before the handler runs:
//
//	mcp.AddTool(srv, &mcp.Tool{
//		Name: "book",
//		Asks: ask.Declare(ask.FormItem[Seat]("seat", "Where would you like to sit?"), ask.ConfirmItem("pay", "Pay now?")),
//	}, book)
//
// The errors are three honest answers, and one that is none: [ErrDeclined], the person said no; [ErrCanceled], the person closed the
// question; [ErrUnavailable], nobody could be asked; [ErrInputRequired], the answer is not here yet.
//
// Secrets cannot be asked for in a form: what is typed there passes through the client, and often through a model. Send people to a
// page of your own instead ([Open]).
package ask
