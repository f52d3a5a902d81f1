package era

import "github.com/seed38e7925c/parley/jsonrpc"

// Error codes that the protocol adds to those of JSON-RPC. Which of them a revision uses is in its [Rules].
const (
	// CodeHeaderMismatch: an HTTP header is missing or does not say what the body says (2026-07-28).
	CodeHeaderMismatch jsonrpc.Code = -32020
	// CodeMissingCapability: the request needs a client capability that it did not declare (2026-07-28).
	CodeMissingCapability jsonrpc.Code = -32021
	// CodeUnsupportedVersion: the request's revision is not served (2026-07-28).
	CodeUnsupportedVersion jsonrpc.Code = -32022
	// CodeResourceNotFound: no such resource, up to 2025-11-25. Since 2026-07-28 it is jsonrpc.CodeInvalidParams.
	CodeResourceNotFound jsonrpc.Code = -32002
	// CodeURLElicitationRequired: the person must visit a URL before the request can be served (2025-11-25 only).
	CodeURLElicitationRequired jsonrpc.Code = -32042
	// CodeUserRejected: the person refused a sampling request, up to 2025-11-25.
	CodeUserRejected jsonrpc.Code = -1
)

// HTTP status codes that the verdicts use; this package does not import net/http.
const (
	statusOK          = 200
	statusBadRequest  = 400
	statusNotFound    = 404
	statusServerError = 500
)

// HTTPStatus returns the HTTP status of a JSON answer that carries an error of the given code.
//
// Since 2026-07-28 an unknown method is 404; messages that fail validation are 400. An error that a feature
// answers with (an unknown tool, a missing resource, a failure inside) is an answer like any other, so 200: a client
// may take a 400 for an older server. Whoever refuses a request for its _meta uses the status of its [Verdict].
// Before 2026-07-28 only bodies that are no message are 400.
func HTTPStatus(rev Revision, code jsonrpc.Code) int {
	switch code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest:
		return statusBadRequest
	case jsonrpc.CodeMethodNotFound:
		if rev.Modern() {
			return statusNotFound
		}
	case CodeHeaderMismatch, CodeMissingCapability, CodeUnsupportedVersion:
		if rev.Modern() {
			return statusBadRequest
		}
	}
	return statusOK
}
