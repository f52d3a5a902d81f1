package main

import (
	"context"
	"fmt"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/form"
	"github.com/seed38e7925c/parley/mcp"
)

// message is the input of tools that pass on what they are to say.
type message struct {
	Message string `json:"message" jsonschema:"what to ask"`
}

type prompt struct {
	Prompt string `json:"prompt" jsonschema:"what to ask the model"`
}

type name struct {
	Name string `json:"name" jsonschema:"your name"`
}

type color struct {
	Color string `json:"color" jsonschema:"your favourite colour"`
}

type consent struct {
	OK bool `json:"ok" jsonschema:"whether to go on"`
}

type background struct {
	Context string `json:"context" jsonschema:"what the prompt should know"`
}

type account struct {
	Username string `json:"username" jsonschema:"user's response"`
	Email    string `json:"email" jsonschema:"user's email address" format:"email"`
}

type defaults struct {
	Name     string  `json:"name" default:"John Doe"`
	Age      int     `json:"age" default:"30"`
	Score    float64 `json:"score" default:"95.5"`
	Status   string  `json:"status" enum:"active,inactive,pending" default:"active"`
	Verified bool    `json:"verified" default:"true"`
}

// enums is a form with every way that a choice can be written.
var enums = mustForm(form.New(
	form.Field{Name: "untitledSingle", Kind: form.Choice, Required: true, Options: []form.Option{{Value: "option1"}, {Value: "option2"}, {Value: "option3"}}},
	form.Field{Name: "titledSingle", Kind: form.Choice, Required: true, Options: titled("value")},
	form.Field{Name: "legacyEnum", Kind: form.Choice, Required: true, Options: titled("opt"), EnumNames: true},
	form.Field{Name: "untitledMulti", Kind: form.MultiChoice, Required: true, Options: []form.Option{{Value: "option1"}, {Value: "option2"}, {Value: "option3"}}},
	form.Field{Name: "titledMulti", Kind: form.MultiChoice, Required: true, Options: titled("value")},
))

func titled(prefix string) []form.Option {
	var options []form.Option
	for i, title := range []string{"First", "Second", "Third"} {
		options = append(options, form.Option{Value: fmt.Sprint(prefix, i+1), Title: title + " option"})
	}
	return options
}

func mustForm(f *form.Form, err error) *form.Form {
	must(err)
	return f
}

func addAsking(srv *mcp.Server) {
	tool := func(name, description string, h func(context.Context, *mcp.Call, none) (string, error), asks ...ask.Asked) {
		mcp.AddTool(srv, &mcp.Tool{Name: name, Description: description, Asks: ask.Declare(asks...)}, h)
	}
	mcp.AddTool(srv, &mcp.Tool{Name: "test_sampling", Description: "Asks the client's model."},
		func(ctx context.Context, call *mcp.Call, in prompt) (string, error) {
			return sampled(ctx, call, "sample", in.Prompt)
		})
	mcp.AddTool(srv, &mcp.Tool{Name: "test_elicitation", Description: "Asks for a user name and an address."}, askAccount)
	tool("test_elicitation_sep1034_defaults", "Asks a form with a default in every field.", askDefaults, ask.FormItem[defaults]("defaults", askedDefaults))
	tool("test_elicitation_sep1330_enums", "Asks a form with every kind of choice.", askEnums, ask.FieldsItem("enums", askedEnums, enums))
	tool("test_missing_capability", "Needs a client that lets it sample.", askSample, ask.SampleItem("capital", question("?")))
	tool("test_streaming_elicitation", "Asks for a name.", askName, ask.FormItem[name]("user_name", askedName))
	tool("test_input_required_result_elicitation", "Asks for a name.", askName, ask.FormItem[name]("user_name", askedName))
	tool("test_input_required_result_sampling", "Asks the client's model.", askSample, ask.SampleItem("capital", question("?")))
	tool("test_input_required_result_list_roots", "Asks for the client's roots.", askRoots, ask.RootsItem("roots"))
	tool("test_input_required_result_request_state", "Asks for consent and remembers something meanwhile.", askWithState, ask.FormItem[consent]("confirm", askedConsent))
	tool("test_input_required_result_tampered_state", "Asks for consent and remembers something meanwhile.", askWithState, ask.FormItem[consent]("confirm", askedConsent))
	tool("test_input_required_result_multiple_inputs", "Asks three things at once.", askThree)
	tool("test_input_required_result_multi_round", "Asks one thing after the other.", askTwice, ask.FormItem[name]("user_name", askedName), ask.FormItem[color]("color", askedColor))
	tool("test_input_required_result_capabilities", "Asks what the client can be asked.", askPossible,
		ask.FormItem[name]("user_name", askedName).Optional(), ask.SampleItem("capital", question("?")).Optional())
	mcp.AddPrompt(srv, &mcp.Prompt{Name: "test_input_required_result_prompt", Description: "A prompt that asks for context.", Asks: ask.Declare(ask.FormItem[background]("user_context", askedContext))},
		func(ctx context.Context, call *mcp.Call, _ none) (*mcp.GetPromptResult, error) {
			b, err := ask.Form[background](ctx, call, "user_context", askedContext)
			if err != nil {
				return nil, err
			}
			return say(&mcp.TextContent{Text: "Prompt with context: " + b.Context}), nil
		})
}

const (
	askedName     = "What is your name?"
	askedConsent  = "Shall we go on?"
	askedContext  = "What context should the prompt use?"
	askedColor    = "What is your favourite colour?"
	askedDefaults = "Please review and update the form fields with defaults"
	askedEnums    = "Please select options from the enum fields"
	capital       = "What is the capital of France?"
)

func question(text string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent(mcp.Text(text))}}}
}

func sampled(ctx context.Context, call *mcp.Call, key, text string) (string, error) {
	r, err := ask.Sample(ctx, call, key, question(text))
	if err != nil {
		return "", err
	}
	return "LLM response: " + mcp.ContentBlocks(r.Content).Text(), nil
}

func askAccount(ctx context.Context, call *mcp.Call, in message) (string, error) {
	a, err := ask.Form[account](ctx, call, "account", in.Message)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("user response: %s <%s>", a.Username, a.Email), nil
}

func askDefaults(ctx context.Context, call *mcp.Call, _ none) (string, error) {
	d, err := ask.Form[defaults](ctx, call, "defaults", askedDefaults)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("elicitation completed: %+v", d), nil
}

func askEnums(ctx context.Context, call *mcp.Call, _ none) (string, error) {
	content, err := ask.Fields(ctx, call, "enums", askedEnums, enums)
	if err != nil {
		return "", err
	}
	return "elicitation completed: " + string(content), nil
}

func askName(ctx context.Context, call *mcp.Call, _ none) (string, error) {
	n, err := ask.Form[name](ctx, call, "user_name", askedName)
	if err != nil {
		return "", err
	}
	return "Hello, " + n.Name + "!", nil
}

func askSample(ctx context.Context, call *mcp.Call, _ none) (string, error) {
	return sampled(ctx, call, "capital", capital)
}

func askRoots(ctx context.Context, call *mcp.Call, _ none) (string, error) {
	roots, err := ask.Roots(ctx, call, "roots")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the client has %d roots", len(roots)), nil
}

// askWithState does something before it asks that is not to be done twice, so that the request state carries it.
func askWithState(ctx context.Context, call *mcp.Call, _ none) (string, error) {
	ticket, err := mcp.Once(ctx, call, "ticket", func() (string, error) { return fmt.Sprintf("ticket for request %v", call.ID()), nil })
	if err != nil {
		return "", err
	}
	c, err := ask.Form[consent](ctx, call, "confirm", askedConsent)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("state-ok: %s, consent %v", ticket, c.OK), nil
}

func askThree(ctx context.Context, call *mcp.Call, _ none) (string, error) {
	who, what, where := ask.FormItem[name]("user_name", askedName), ask.SampleItem("capital", question(capital)), ask.RootsItem("roots")
	if err := ask.All(ctx, call, who, what, where); err != nil {
		return "", err
	}
	n, err := who.Get()
	if err != nil {
		return "", err
	}
	roots, err := where.Get()
	return fmt.Sprintf("Hello, %s with %d roots!", n.Name, len(roots)), err
}

func askTwice(ctx context.Context, call *mcp.Call, _ none) (string, error) {
	n, err := ask.Form[name](ctx, call, "user_name", askedName)
	if err != nil {
		return "", err
	}
	c, err := ask.Form[color](ctx, call, "color", askedColor)
	if err != nil {
		return "", err
	}
	return n.Name + " likes " + c.Color, nil
}

// askPossible asks what the client can be asked, and makes do with what it gets.
func askPossible(ctx context.Context, call *mcp.Call, _ none) (string, error) {
	who, what := ask.FormItem[name]("user_name", askedName).Optional(), ask.SampleItem("capital", question(capital)).Optional()
	if err := ask.All(ctx, call, who, what); err != nil {
		return "", err
	}
	_, noName := who.Get()
	_, noCapital := what.Get()
	return fmt.Sprintf("name asked: %v, model asked: %v", noName == nil, noCapital == nil), nil
}
