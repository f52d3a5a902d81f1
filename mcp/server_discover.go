package mcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/seed38e7925c/parley/internal/era"
)

// discover serves server/discover.
func (s *Server) discover(_ context.Context, c *Call) (any, error) {
	caps, err := s.capabilities(c.rev)
	if err != nil {
		return nil, err
	}
	return &DiscoverResult{
		SupportedVersions: s.served.Strings(),
		Capabilities:      *caps,
		Instructions:      s.options.Instructions,
	}, nil
}

// has reports whether a capability is declared: something was registered for it, or ServerOptions.Declare names it.
func (s *Server) has(capability string) bool {
	if slices.Contains(s.options.Declare, capability) {
		return true
	}
	switch capability {
	case "tools":
		return s.tools.everUsed()
	case "prompts":
		return s.prompts.everUsed()
	case "resources":
		return s.resources.everUsed() || s.templates.everUsed()
	case "completions":
		return s.completes.Load()
	}
	return false
}

// capabilities returns what the server declares at a revision.
func (s *Server) capabilities(rev Revision) (*ServerCapabilities, error) {
	rules := rev.Rules()
	caps := &ServerCapabilities{}
	if s.has("tools") {
		caps.Tools = &ToolsCapability{ListChanged: true}
	}
	if s.has("prompts") {
		caps.Prompts = &PromptsCapability{ListChanged: true}
	}
	if s.has("resources") {
		caps.Resources = &ResourcesCapability{ListChanged: true, Subscribe: true}
	}
	if s.has("completions") && rules.Capabilities.Completions {
		caps.Completions = &Supported{}
	}
	if !s.options.NoLogging {
		caps.Logging = &Supported{}
	}
	var err error
	if caps.Experimental, err = encodeSettings(s.options.Experimental); err != nil {
		return nil, err
	}
	caps.Extensions = s.extensions.all()
	return caps, nil
}

// encodeSettings encodes experimental capabilities; nil is {}.
func encodeSettings(settings map[string]any) (map[string]json.RawMessage, error) {
	if len(settings) == 0 {
		return nil, nil //nolint:nilnil // an absent member
	}
	out := make(map[string]json.RawMessage, len(settings))
	for id, v := range settings {
		if v == nil {
			out[id] = emptyObject
			continue
		}
		raw, err := marshalJSON(v)
		if err != nil {
			return nil, err
		}
		out[id] = raw
	}
	return out, nil
}

// fitImplementation returns an Implementation without what the revision lacks.
func fitImplementation(rules *era.Rules, info Implementation) Implementation {
	if !rules.Fields.Title {
		info.Title = ""
	}
	if !rules.Fields.Icons {
		info.Icons = nil
	}
	if !rules.Fields.Implementation {
		info.Description, info.WebsiteURL = "", ""
	}
	return info
}
