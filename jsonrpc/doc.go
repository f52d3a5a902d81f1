// Package jsonrpc has the messages of JSON-RPC 2.0 as the Model Context
// Protocol uses them: requests, notifications and responses, their ids and
// errors, with a strict decoder and an encoder that never re-encodes what it
// was given raw.
//
// # Strictness
//
// [Decode] accepts exactly what the protocol allows, so that two hops can never
// read one message differently:
//
//   - member names are compared exactly ("Method" is not "method");
//   - a name that occurs twice in one object, anywhere in the message, is
//     refused with [CodeInvalidRequest]; escapes do not hide a duplicate;
//   - an id is a string or an integer that fits into an int64; null, fractions,
//     booleans, objects and arrays are refused. Type and value are kept: 0, "",
//     -1 and 9007199254740993 are ids like any other and 1 is not "1";
//   - invalid UTF-8 and unpaired surrogates are refused with [CodeParseError];
//   - a response has exactly one of result and error, and a message is a
//     response or has a method, never both;
//   - values are nested at most [MaxDepth] deep.
//
// Members that are not known are ignored. Params, results and error data are
// kept as the bytes that came; what is inside is the method's business, so
// "params":[] or "params":null pass here.
//
// # When decoding fails
//
// The error is an [*Error] whose code says whether the bytes were JSON at all.
// The Message returned beside it carries what could still be read safely, the
// id above all, so that the sender can be answered and a caller that waits for
// a response can be told instead of waiting for ever.
//
// # Files
//
//	id.go       ID
//	error.go    Code, Error
//	message.go  Message, Kind
//	decode.go   Decode
//	envelope.go the members of a message and the rules for them
//	salvage.go  what can be learnt from a message that was refused
//	batch.go    DecodeBatch, IsBatch (revision 2025-03-26 only)
//	encode.go   Append
//	depth.go    the nesting bound
//	methods.go  method names that need no allocation
package jsonrpc
