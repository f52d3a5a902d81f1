package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
)

// extensions are the protocol extensions that a server declares.
type extensions struct {
	mu       sync.RWMutex
	settings map[string]json.RawMessage
}

// DeclareExtension declares a protocol extension by its id, as in "com.example/thing", with its settings, which must encode to an
// object; nil settings are {}. Packages that implement an extension call it when they are added to a server; what they add are methods
// ([HandleMethod]), middleware ([Server.Use]) and results. An extension that is declared already is declared anew.
//
// Declaring says only that this side is able: whether a client is, [Call.Extension] tells for each request. An extension is used when
// both are.
//
// Specification: basic/versioning, extensions.
func (s *Server) DeclareExtension(id string, settings any) error {
	if err := checkExtensionID(id); err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	raw := emptyObject
	if settings != nil {
		var err error
		if raw, err = encodeParams(settings); err != nil {
			return fmt.Errorf("mcp: extension %s: settings must encode to a JSON object: %w", id, err)
		}
	}
	s.extensions.mu.Lock()
	defer s.extensions.mu.Unlock()
	if s.extensions.settings == nil {
		s.extensions.settings = make(map[string]json.RawMessage)
	}
	s.extensions.settings[id] = raw
	return nil
}

// all returns the declared extensions, nil if there are none.
func (e *extensions) all() map[string]json.RawMessage {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return maps.Clone(e.settings)
}

// checkExtensionID holds an id to the form prefix/name, where the prefix is a reverse domain name.
func checkExtensionID(id string) error {
	prefix, name, ok := strings.Cut(id, "/")
	if !ok || name == "" || !strings.Contains(prefix, ".") || strings.HasPrefix(prefix, ".") || strings.HasSuffix(prefix, ".") {
		return fmt.Errorf("extension id %q must be a reverse domain name, a slash and a name, as in com.example/thing", clip(id, maxQuotedName))
	}
	return nil
}

// Extension returns the settings with which the client declared an extension, and whether it did: for this request in revision
// 2026-07-28, in its handshake before.
func (c *Call) Extension(id string) (settings json.RawMessage, declared bool) {
	settings, declared = c.ClientCapabilities().Extensions[id]
	return settings, declared
}

// RequireExtension returns nil if the client declared an extension, and otherwise the error that refuses the request for it: -32021
// with the extension's id in revision 2026-07-28.
func (c *Call) RequireExtension(id string) error {
	if _, ok := c.Extension(id); ok {
		return nil
	}
	return missingExtension(c.rev, id)
}

// declareExtensions declares those of the options.
func (s *Server) declareExtensions(settings map[string]any) error {
	var errs []error
	for id, v := range settings {
		if err := s.DeclareExtension(id, v); err != nil {
			errs = append(errs, fmt.Errorf("ServerOptions.Extensions: %w", err))
		}
	}
	return errors.Join(errs...)
}
