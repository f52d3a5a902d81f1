package main

import (
	"context"

	"github.com/seed38e7925c/parley/mcp"
)

// text makes a handler for a resource that is always the same text.
func text(uri, s string) mcp.ResourceHandler {
	return func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
		return contents(uri, "text/plain", s), nil
	}
}

func contents(uri, mimeType, s string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mimeType, Text: s}}}
}

func addResources(srv *mcp.Server) {
	mcp.AddResource(srv, &mcp.Resource{URI: "test://static-text", Name: "Static text", Description: "A text.", MIMEType: "text/plain"},
		text("test://static-text", "This is the content of the static text resource."))
	mcp.AddResource(srv, &mcp.Resource{URI: "test://static-binary", Name: "Static binary", Description: "An image.", MIMEType: "image/png"},
		func(context.Context, *mcp.Call) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://static-binary", MIMEType: "image/png", Blob: pixel}}}, nil
		})
	mcp.AddResource(srv, &mcp.Resource{URI: "test://watched-resource", Name: "Watched", Description: "A resource to subscribe to.", MIMEType: "text/plain"},
		text("test://watched-resource", "Nothing has happened yet."))
	mcp.AddResourceTemplate(srv, &mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "Template", Description: "Data by id.", MIMEType: "application/json"},
		func(_ context.Context, call *mcp.Call, vars mcp.TemplateVars) (*mcp.ReadResourceResult, error) {
			return contents(call.Name(), "application/json", `{"id":"`+vars.Get("id")+`","data":"Data for id `+vars.Get("id")+`"}`), nil
		})
}
