package mcp

import (
	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/jsonrpc"
)

// Error is the error object of a JSON-RPC response: what the peer answered, or what a handler wants it to be answered.
// Its text crosses the wire. errors.Is compares codes only.
type Error = jsonrpc.Error

// Code is the number that classifies an Error. Codes of one's own lie outside -32768 to -32000.
type Code = jsonrpc.Code

// The codes of JSON-RPC and of the protocol. Which revision uses which is in their comments; a server chooses the right
// one by itself for what the library detects.
const (
	// CodeParseError: the message is not JSON.
	CodeParseError = jsonrpc.CodeParseError
	// CodeInvalidRequest: the message is JSON, but no message of this protocol.
	CodeInvalidRequest = jsonrpc.CodeInvalidRequest
	// CodeMethodNotFound: the method is unknown, or the capability it belongs to is not offered.
	CodeMethodNotFound = jsonrpc.CodeMethodNotFound
	// CodeInvalidParams: the params do not fit: an unknown tool or prompt, a bad cursor, missing _meta; since 2026-07-28
	// also a resource that does not exist.
	CodeInvalidParams = jsonrpc.CodeInvalidParams
	// CodeInternalError: the receiver failed.
	CodeInternalError = jsonrpc.CodeInternalError

	// CodeHeaderMismatch: an HTTP header is missing or contradicts the body. Since 2026-07-28.
	CodeHeaderMismatch = era.CodeHeaderMismatch
	// CodeMissingCapability: the request needs a client capability that it did not declare; Data is a
	// MissingCapabilityData. Since 2026-07-28.
	CodeMissingCapability = era.CodeMissingCapability
	// CodeUnsupportedVersion: the revision is not served; Data is an UnsupportedVersionData. Since 2026-07-28.
	CodeUnsupportedVersion = era.CodeUnsupportedVersion
	// CodeResourceNotFound: no such resource. Up to 2025-11-25.
	CodeResourceNotFound = era.CodeResourceNotFound
	// CodeURLElicitationRequired: the person must visit a link first; Data is a URLElicitationRequiredData. 2025-11-25 only.
	CodeURLElicitationRequired = era.CodeURLElicitationRequired
	// CodeUserRejected: the person refused a sampling request. Up to 2025-11-25.
	CodeUserRejected = era.CodeUserRejected
)

// UnsupportedVersionData is the data of an error with CodeUnsupportedVersion.
type UnsupportedVersionData struct {
	// Supported names the revisions the server speaks, newest first.
	Supported []string `json:"supported"`
	// Requested is the revision that was asked for.
	Requested string `json:"requested"`
}

// MissingCapabilityData is the data of an error with CodeMissingCapability.
type MissingCapabilityData struct {
	// RequiredCapabilities are those the request would have had to declare.
	RequiredCapabilities ClientCapabilities `json:"requiredCapabilities"`
}

// URLElicitationRequiredData is the data of an error with CodeURLElicitationRequired.
type URLElicitationRequiredData struct {
	// Elicitations are the links to visit, each in URL mode.
	Elicitations []*ElicitParams `json:"elicitations"`
}
