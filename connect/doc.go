// Package connect is the hosted half of asking a person: pages on which somebody signs in, hands over a secret, grants access at
// another company or approves an action, bound to the person whose tool call asked for it, and what is kept of it.
//
//	tool handler ── Get, Token, Do, Wait ──► Desk ── a page's address, through the client ──► the person's browser
//	     ▲                                    │                                                        │
//	     └──── goes on, once it is stored ────┴──── one row, one conditional update a step ◄── Desk.ServeHTTP
//
// A [Desk] is opened when the program starts ([Open], or [OpenLocal] for a server on standard input and output), told what there is to
// ask for ([Desk.Secret], [Desk.OAuth], [Desk.Page]; [Do] needs no telling), and mounted at [Options.BaseURL]. Handlers then ask in one line, and
// return the error that they may get. The guide is docs/connect.md.
//
// # What holds
//
// The person who finishes an interaction is the one who started it: tenant, issuer and subject of the caller are compared with whoever
// is signed in at the browser, at each request. Only what is stored counts, never what a client says. An interaction is one row; what a
// person has brought is in the update that finishes it, and whoever meets it next puts it where it belongs, so that a process may die
// between any two steps. An approved action runs once, as shown, or nobody knows, and then it says so. Secrets are sealed in the store,
// show themselves to nobody who does not ask for them, and never pass through the client.
//
// # Files
//
//   - desk.go, options.go, errors.go: the desk, what it needs, what goes wrong
//   - engine.go, ask.go, hub.go: finding or opening an interaction, sending the person there, waiting
//   - interaction.go, person.go: the row, its statuses and steps; who
//   - kind.go, kind_secret.go, kind_approval.go, kind_page.go: what can be asked for
//   - grant.go, grant_callback.go, grant_provider.go: access at another company; the way there and back; how it is reached
//   - grant_exchange.go, grant_renew.go: tokens, and their renewal
//   - credential.go: what is kept for a person
//   - identity*.go, session.go: who is at a browser, and who is behind a call
//   - http*.go, internal/pages: the pages
//   - store.go, state_store.go, sqlite, postgres, storetest: where rows are kept
//   - keys.go, secret.go, internal/vault: sealing
//   - vault.go: what an operator does with what is kept
//   - audit.go: what happened
package connect
