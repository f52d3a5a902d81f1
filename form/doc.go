// Package form is the model of the forms that a server puts to a person through an MCP client (elicitation, form mode).
//
// A server makes a form from a flat Go struct with [Of], or from fields with [New], and writes it as a requestedSchema with
// [Form.Schema]. A client reads it with [Parse], which accepts every shape that any revision has published, shows its fields in the
// order in which they were sent, and turns what was typed into values with [Field.ParseText]. Both sides judge answers with
// [Form.Check] and [Form.Normalize]; [Decode] turns them into the server's struct.
//
//	struct ──Of──┐                           ┌──Schema──► requestedSchema
//	fields ──New─┼──► Form{Fields} ──────────┤
//	JSON ─Parse──┘        │                  └──LooksSecret
//	                      ▼
//	answers ──Check, Normalize──► answers ──Decode──► struct
//
// What a revision can express is a [Dialect]. Forms never carry secrets: [Form.LooksSecret] finds fields that ask for one.
//
// Texts in a parsed form come from a server and are kept as they were sent. [Field.Label], [Option.Label] and [Field.Help] return
// them fit for display: one line, without characters that act on a terminal or change how text reads.
//
// Forms do not change after they were made and are safe for concurrent use.
package form
