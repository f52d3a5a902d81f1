package main

import (
	"context"

	"github.com/seed38e7925c/parley/mcp"
)

type twoArgs struct {
	Arg1 string `json:"arg1" jsonschema:"first test argument"`
	Arg2 string `json:"arg2" jsonschema:"second test argument"`
}

type withResource struct {
	ResourceURI string `json:"resourceUri" jsonschema:"URI of the resource to embed"`
}

// say makes the result of a prompt of messages of the user.
func say(content ...mcp.Content) *mcp.GetPromptResult {
	r := &mcp.GetPromptResult{}
	for _, c := range content {
		r.Messages = append(r.Messages, &mcp.PromptMessage{Role: mcp.RoleUser, Content: c})
	}
	return r
}

func simplePrompt(context.Context, *mcp.Call, none) (*mcp.GetPromptResult, error) {
	return say(&mcp.TextContent{Text: "This is a simple prompt."}), nil
}

func addPrompts(srv *mcp.Server) {
	mcp.AddPrompt(srv, &mcp.Prompt{Name: "test_simple_prompt", Description: "A prompt without arguments."}, simplePrompt)
	mcp.AddPrompt(srv, &mcp.Prompt{Name: "test_prompt_with_arguments", Description: "A prompt with two arguments."},
		func(_ context.Context, _ *mcp.Call, in twoArgs) (*mcp.GetPromptResult, error) {
			return say(&mcp.TextContent{Text: "Prompt with arguments: arg1='" + in.Arg1 + "', arg2='" + in.Arg2 + "'"}), nil
		})
	mcp.AddPrompt(srv, &mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "A prompt that embeds a resource."},
		func(_ context.Context, _ *mcp.Call, in withResource) (*mcp.GetPromptResult, error) {
			return say(embedded(in.ResourceURI, "text/plain", "The resource that was asked for."), &mcp.TextContent{Text: "Please look at the resource."}), nil
		})
	mcp.AddPrompt(srv, &mcp.Prompt{Name: "test_prompt_with_image", Description: "A prompt with an image."},
		func(context.Context, *mcp.Call, none) (*mcp.GetPromptResult, error) {
			return say(&mcp.ImageContent{Data: pixel, MIMEType: "image/png"}, &mcp.TextContent{Text: "Please look at the image."}), nil
		})
	must(srv.CompletePrompt("test_prompt_with_arguments", mcp.CompleteFrom(map[string][]string{
		"arg1": {"test", "testing", "tested"},
		"arg2": {"value", "values"},
	})))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
