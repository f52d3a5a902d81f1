package era_test

import (
	"slices"
	"testing"

	"github.com/seed38e7925c/parley/internal/era"
	"github.com/seed38e7925c/parley/internal/spectest"
)

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// TestSchemaMethods compares the method tables with the unions of the published schemas.
func TestSchemaMethods(t *testing.T) {
	for _, rev := range era.All() {
		doc := spectest.Load(t, rev.String())
		r := rev.Rules()
		for union, got := range map[string][]string{
			"ClientRequest":      r.Requests(era.ClientToServer),
			"ServerRequest":      r.Requests(era.ServerToClient),
			"ClientNotification": r.Notifications(era.ClientToServer),
			"ServerNotification": r.Notifications(era.ServerToClient),
			"InputRequest":       r.InputRequests(),
		} {
			if want := doc.Methods(union); !slices.Equal(sorted(got), want) {
				t.Errorf("%s %s:\n got %v\nwant %v", rev, union, sorted(got), want)
			}
		}
	}
}

// TestSchemaRules compares what the table says to exist with the published schemas.
func TestSchemaRules(t *testing.T) {
	for _, rev := range era.All() {
		doc := spectest.Load(t, rev.String())
		def := func(name string) bool { return doc.Defs[name] != nil }
		prop := func(name string, path ...string) bool {
			s := doc.Defs[name]
			for _, p := range path {
				props, _ := doc.Object(s)
				if s = props[p]; s == nil {
					return false
				}
			}
			return s != nil
		}
		// A member of the params of a request or notification, wherever the revision defines them.
		param := func(message string, path ...string) bool {
			return prop(message, append([]string{"params"}, path...)...)
		}
		required := func(name, member string) bool {
			_, req := doc.Object(doc.Defs[name])
			return req[member]
		}
		r := rev.Rules()
		for _, c := range []struct {
			rule string
			got  bool
			want bool
		}{
			{"Handshake", r.Handshake, def("InitializeRequest")},
			{"Batch", r.Batch, def("JSONRPCBatchRequest")},
			{"AskByResult", r.AskByResult, def("InputRequiredResult")},
			{"Elicitation.Form", r.Elicitation.Form, def("ElicitRequest")},
			{"Elicitation.URL", r.Elicitation.URL, def("ElicitRequestURLParams")},
			{"Elicitation.ID", r.Elicitation.ID, prop("ElicitRequestURLParams", "elicitationId")},
			{"Elicitation.CompleteNotice", r.Elicitation.CompleteNotice, def("ElicitationCompleteNotification")},
			{"Elicitation.RequiredError", r.Elicitation.RequiredError, def("URLElicitationRequiredError")},
			{"Elicitation.Defaults", r.Elicitation.Defaults, prop("StringSchema", "default")},
			{"Elicitation.Titles", r.Elicitation.Titles, def("TitledSingleSelectEnumSchema")},
			{"Elicitation.Multi", r.Elicitation.Multi, def("UntitledMultiSelectEnumSchema")},
			{"SamplingTools", r.SamplingTools, param("CreateMessageRequest", "tools")},
			{"ListenOnly", r.ListenOnly, def("SubscriptionsListenRequest")},
			{"LogByRequest", r.LogByRequest, !def("SetLevelRequest")},
			{"ProgressBothWays", r.ProgressBothWays, slices.Contains(doc.Methods("ClientNotification"), era.NotificationProgress)},
			{"Structured", r.Structured != era.StructuredNone, prop("CallToolResult", "structuredContent")},
			{"StructuredAny", r.Structured == era.StructuredAny, prop("CallToolResult", "structuredContent") && doc.Defs["CallToolResult"].Properties["structuredContent"].Type == nil},
			{"Fields.Title", r.Fields.Title, prop("Tool", "title")},
			{"Fields.Title of Implementation", r.Fields.Title, prop("Implementation", "title")},
			{"Fields.Title of PromptArgument", r.Fields.Title, prop("PromptArgument", "title")},
			{"Fields.Icons", r.Fields.Icons, prop("Tool", "icons")},
			{"Fields.Icons of Implementation", r.Fields.Icons, prop("Implementation", "icons")},
			{"Fields.Icons of Prompt", r.Fields.Icons, prop("Prompt", "icons")},
			{"Fields.Icons of Resource", r.Fields.Icons, prop("Resource", "icons")},
			{"Fields.Icons of ResourceTemplate", r.Fields.Icons, prop("ResourceTemplate", "icons")},
			{"Fields.Implementation", r.Fields.Implementation, prop("Implementation", "websiteUrl")},
			{"Fields.Implementation description", r.Fields.Implementation, prop("Implementation", "description")},
			{"Fields.Meta", r.Fields.Meta, prop("Tool", "_meta")},
			{"Fields.Meta of TextContent", r.Fields.Meta, prop("TextContent", "_meta")},
			{"Fields.Meta of ResourceContents", r.Fields.Meta, prop("ResourceContents", "_meta")},
			{"Fields.Meta of Root", r.Fields.Meta, prop("Root", "_meta")},
			{"Fields.ToolAnnotations", r.Fields.ToolAnnotations, prop("Tool", "annotations")},
			{"Fields.OutputSchema", r.Fields.OutputSchema, prop("Tool", "outputSchema")},
			{"Fields.AnyOutputSchema", r.Fields.AnyOutputSchema, prop("Tool", "outputSchema") && !prop("Tool", "outputSchema", "type")},
			{"Fields.Execution", r.Fields.Execution, prop("Tool", "execution")},
			{"Fields.LastModified", r.Fields.LastModified, prop("Annotations", "lastModified")},
			{"Fields.CompletionContext", r.Fields.CompletionContext, param("CompleteRequest", "context")},
			{"Fields.ProgressMessage", r.Fields.ProgressMessage, param("ProgressNotification", "message")},
			{"Fields.SchemaDialect", r.Fields.SchemaDialect, prop("Tool", "inputSchema", "$schema")},
			{"Fields.ReferenceTitle", r.Fields.ReferenceTitle, prop("PromptReference", "title")},
			{"Fields.AskMeta", r.Fields.AskMeta, prop("ListRootsResult", "_meta")},
			{"Capabilities.Completions", r.Capabilities.Completions, prop("ServerCapabilities", "completions")},
			{"Capabilities.Elicitation", r.Capabilities.Elicitation, prop("ClientCapabilities", "elicitation")},
			{"Capabilities.ElicitationModes", r.Capabilities.ElicitationModes, prop("ClientCapabilities", "elicitation", "url")},
			{"Capabilities.SamplingParts", r.Capabilities.SamplingParts, prop("ClientCapabilities", "sampling", "tools")},
			{"Capabilities.RootsListChanged", r.Capabilities.RootsListChanged, prop("ClientCapabilities", "roots", "listChanged")},
			{"Capabilities.Tasks", r.Capabilities.Tasks, prop("ServerCapabilities", "tasks")},
			{"Capabilities.Extensions", r.Capabilities.Extensions, prop("ServerCapabilities", "extensions")},
			{"ResultType", r.ResultType, required("Result", "resultType")},
			{"ServerInfo", r.ServerInfo, prop("ResultMetaObject", era.MetaServerInfo)},
			{"CacheHints", r.CacheHints, def("CacheableResult")},
			{"Tasks", r.Tasks == era.TasksCore, def("Task")},
			{"KindAudio", r.Content.Has(era.KindAudio), def("AudioContent")},
			{"KindResourceLink", r.Content.Has(era.KindResourceLink), def("ResourceLink")},
			{"KindToolUse", r.Sampling.Has(era.KindToolUse | era.KindToolResult), def("ToolUseContent")},
		} {
			if c.got != c.want {
				t.Errorf("%s: %s is %v, the schema says %v", rev, c.rule, c.got, c.want)
			}
		}
	}
}

// TestSchemaCacheable compares the cacheable methods with the results that demand ttlMs.
func TestSchemaCacheable(t *testing.T) {
	results := map[string]string{
		era.MethodDiscover: "DiscoverResult", era.MethodToolsList: "ListToolsResult", era.MethodToolsCall: "CallToolResult",
		era.MethodResourcesList: "ListResourcesResult", era.MethodResourcesTemplatesList: "ListResourceTemplatesResult",
		era.MethodResourcesRead: "ReadResourceResult", era.MethodPromptsList: "ListPromptsResult",
		era.MethodPromptsGet: "GetPromptResult", era.MethodComplete: "CompleteResult", era.MethodListen: "SubscriptionsListenResult",
	}
	for _, rev := range era.All() {
		doc := spectest.Load(t, rev.String())
		for method, name := range results {
			_, required := doc.Object(doc.Defs[name])
			if got, want := rev.Rules().Cacheable(method), required["ttlMs"] && required["cacheScope"]; got != want {
				t.Errorf("%s: Cacheable(%s) is %v, the schema says %v", rev, method, got, want)
			}
		}
	}
}
