package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// none is the input of tools without arguments.
type none struct{}

// step is the pause between the messages of tools that report as they go.
const step = 50 * time.Millisecond

// A picture of one red pixel and a fraction of a second of silence.
var (
	pixel   = decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	silence = decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==")
)

func decode(s string) []byte {
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return data
}

// fixed adds a tool that always answers with the same content.
func fixed(srv *mcp.Server, name, description string, content ...mcp.Content) {
	mcp.AddTool(srv, &mcp.Tool{Name: name, Description: description},
		func(context.Context, *mcp.Call, none) (mcp.ContentBlocks, error) { return content, nil })
}

func addTools(srv *mcp.Server) {
	text := &mcp.TextContent{Text: "This is a simple text response."}
	image := &mcp.ImageContent{Data: pixel, MIMEType: "image/png"}
	fixed(srv, "test_simple_text", "Answers with a text.", text)
	fixed(srv, "test_image_content", "Answers with an image.", image)
	fixed(srv, "test_audio_content", "Answers with a sound.", &mcp.AudioContent{Data: silence, MIMEType: "audio/wav"})
	fixed(srv, "test_embedded_resource", "Answers with a resource.", embedded("test://embedded-resource", "text/plain", "An embedded resource."))
	fixed(srv, "test_multiple_content_types", "Answers with a text, an image and a resource.",
		text, image, embedded("test://mixed-content-resource", "application/json", `{"mixed":true}`))
	mcp.AddTool(srv, &mcp.Tool{Name: "test_error_handling", Description: "Always fails."}, fail)
	mcp.AddTool(srv, &mcp.Tool{Name: "test_tool_with_progress", Description: "Reports progress in three steps."}, progress)
	mcp.AddTool(srv, &mcp.Tool{Name: "test_tool_with_logging", Description: "Logs three messages as it works."}, logging)
	mcp.AddTool(srv, &mcp.Tool{Name: "test_logging_tool", Description: "Logs three messages as it works, if the request asks for them."}, logging)
	mcp.AddTool(srv, &mcp.Tool{Name: "test_reconnection", Description: "Lets go of its connection before it answers."}, reconnection)
	mcp.AddTool(srv, &mcp.Tool{Name: "json_schema_2020_12_tool", Description: "Has an input schema with much of JSON Schema 2020-12.", InputSchema: richSchema},
		func(_ context.Context, _ *mcp.Call, args json.RawMessage) (string, error) {
			return "valid: " + string(args), nil
		})
	mcp.AddTool(srv, &mcp.Tool{Name: "test_x_mcp_header", Description: "Has an argument that is mirrored in a header."},
		func(_ context.Context, _ *mcp.Call, in struct {
			Region string `json:"region" header:"Region"`
		}) (string, error) {
			return "region " + in.Region, nil
		})
	mcp.AddTool(srv, &mcp.Tool{Name: "test_trigger_tool_change", Description: "Changes the list of tools."}, triggerToolChange(srv))
	mcp.AddTool(srv, &mcp.Tool{Name: "test_trigger_prompt_change", Description: "Changes the list of prompts."}, triggerPromptChange(srv))
}

func embedded(uri, mimeType, text string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mimeType, Text: text}}
}

func fail(context.Context, *mcp.Call, none) (string, error) {
	return "", mcp.ToolErrorf("this tool fails on purpose")
}

func progress(ctx context.Context, call *mcp.Call, _ none) (string, error) {
	for _, done := range []float64{0, 50, 100} {
		if err := call.Progress(ctx, done, 100, ""); err != nil {
			return "", err
		}
		if err := pause(ctx); err != nil {
			return "", err
		}
	}
	return "done in three steps", nil
}

func logging(ctx context.Context, call *mcp.Call, _ none) (string, error) {
	for _, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if err := call.Log(ctx, mcp.LevelInfo, "conformance", message); err != nil {
			return "", err
		}
		if err := pause(ctx); err != nil {
			return "", err
		}
	}
	return "logged three messages", nil
}

func reconnection(ctx context.Context, _ *mcp.Call, _ none) (string, error) {
	mcphttp.CloseStream(ctx) // where that cannot be, the client just waits
	if err := pause(ctx); err != nil {
		return "", err
	}
	return "answered after the connection was let go", nil
}

func pause(ctx context.Context) error {
	t := time.NewTimer(step)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// triggerToolChange adds and removes a tool, which is a change that clients are told of although the list ends as it was.
func triggerToolChange(srv *mcp.Server) func(context.Context, *mcp.Call, none) (string, error) {
	return func(context.Context, *mcp.Call, none) (string, error) {
		const name = "test_passing_tool"
		fixed(srv, name, "Is there for a moment.")
		srv.RemoveTools(name)
		return "the list of tools has changed", nil
	}
}

func triggerPromptChange(srv *mcp.Server) func(context.Context, *mcp.Call, none) (string, error) {
	return func(context.Context, *mcp.Call, none) (string, error) {
		const name = "test_passing_prompt"
		mcp.AddPrompt(srv, &mcp.Prompt{Name: name, Description: "Is there for a moment."}, simplePrompt)
		srv.RemovePrompts(name)
		return "the list of prompts has changed", nil
	}
}

// richSchema is the one that the suite wants back unchanged.
var richSchema = json.RawMessage(`{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`)
