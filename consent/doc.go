// Package consent is what stands between a link or a text from a server and the person who is to see it.
//
// [Review] looks at a URL without fetching it and says what a person must know before opening it: the host in ASCII, the
// registrable domain to stress, and findings. What must never be opened is refused. [Open] opens a reviewed URL in the
// person's browser, without a shell. [Text] and [Line] make text from a server safe to display.
//
//	raw URL ─► Review ─┬─ Refused: show why, open nothing
//	                   └─ Display + Findings ─► the person agrees ─► Open ─┬─ nil
//	                                                                      └─ *OpenError: show the URL for copying
//
// A host that asks for consent shows, in this order: which server asks (Line), its message (Text), the address
// (Result.Display with the domain stressed), the findings, and only then the question. The address is shown in full and
// stays on the screen, since the opener of an operating system cannot tell whether a page appeared.
//
// Nothing here reads from the network, and everything is safe for concurrent use.
//
//   - review.go: Review, its options and result
//   - finding.go: codes and severities
//   - host.go, ip.go: the host, canonical, with its disguises
//   - lookalike.go, script.go: names made to be mistaken for others
//   - encode.go: the rest of the URL in ASCII
//   - text.go, escape.go: text for display
//   - open.go: the browser
package consent
