//go:build !mcp_modern_only

package mcp

import (
	"encoding/json"

	"github.com/seed38e7925c/parley/jsonrpc"
)

// This file is the wire form of the User Interaction draft of June 2025, from which URL questions came: capability userInteraction,
// request interaction/create of the server, error -32003, request interaction/track of the client. ask_draft.go is the server's half,
// client_legacy_draft.go the client's. Both are off unless their options say otherwise, and need a revision with a handshake.
//
// Of the types, "ua" (a page) is a URL question and "prompt", of earlier versions of the draft, a form. "oob", of the same, only tells
// the person of something that the server learns of by itself: no question is like it, so it is neither declared nor sent.

const (
	methodInteractionCreate = "interaction/create"
	methodInteractionTrack  = "interaction/track"

	interactionPage   = "ua"
	interactionPrompt = "prompt"

	// codeNoConsent answers interaction/create when the person declined or dismissed it; the draft does not tell the two apart.
	codeNoConsent jsonrpc.Code = -32099
	// codeInteractionRequired refuses a request until the person has visited the page in its data.
	codeInteractionRequired jsonrpc.Code = -32003
)

// interactionCapability is the client's capability userInteraction.
type interactionCapability struct {
	Types []string `json:"types"`
}

// interactionParams are the params of interaction/create.
type interactionParams struct {
	ID          string          `json:"id"`
	Type        string          `json:"type"`
	Interaction interactionBody `json:"interaction"`
}

// interactionBody says what the person is asked: URL for pages, Schema for prompts.
type interactionBody struct {
	URL     string           `json:"url,omitzero"`
	Message *interactionText `json:"message,omitzero"`
	Schema  json.RawMessage  `json:"schema,omitzero"`
}

// interactionText is a TextContent.
type interactionText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// textInteraction wraps a text; the empty one is left out.
func textInteraction(s string) *interactionText {
	if s == "" {
		return nil
	}
	return &interactionText{"text", s}
}

// text returns what is said, "" for nothing.
func (t *interactionText) text() string {
	if t == nil {
		return ""
	}
	return t.Text
}

// interactionRequiredData is the data of an error with codeInteractionRequired. It names one page.
type interactionRequiredData struct {
	ID      string           `json:"id"`
	Type    string           `json:"type"`
	URL     string           `json:"url"`
	Message *interactionText `json:"message,omitzero"`
}

// interactionTrackParams are the params of interaction/track.
type interactionTrackParams struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
	ID   string          `json:"id"`
}
