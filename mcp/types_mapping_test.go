package mcp_test

import (
	"reflect"

	"github.com/seed38e7925c/parley/mcp"
)

// definitions maps the definitions of the published schemas to Go types. A Go type stands for every definition, of every
// revision, that is mapped to it.
var definitions = map[string]reflect.Type{
	"Annotated":                                   reflect.TypeFor[annotated](),
	"Annotations":                                 reflect.TypeFor[mcp.Annotations](),
	"AudioContent":                                reflect.TypeFor[mcp.AudioContent](),
	"BlobResourceContents":                        reflect.TypeFor[mcp.ResourceContents](),
	"CallToolRequestParams":                       reflect.TypeFor[mcp.CallToolParams](),
	"CallToolResult":                              reflect.TypeFor[mcp.CallToolResult](),
	"CancelTaskResult":                            reflect.TypeFor[mcp.CancelTaskResult](),
	"CancelledNotificationParams":                 reflect.TypeFor[mcp.CancelledParams](),
	"ClientCapabilities":                          reflect.TypeFor[mcp.ClientCapabilities](),
	"CompleteRequestParams":                       reflect.TypeFor[mcp.CompleteParams](),
	"CompleteResult":                              reflect.TypeFor[mcp.CompleteResult](),
	"CreateMessageRequestParams":                  reflect.TypeFor[mcp.CreateMessageParams](),
	"CreateMessageResult":                         reflect.TypeFor[mcp.CreateMessageResult](),
	"CreateTaskResult":                            reflect.TypeFor[mcp.CreateTaskResult](),
	"DiscoverResult":                              reflect.TypeFor[mcp.DiscoverResult](),
	"ElicitRequestFormParams":                     reflect.TypeFor[mcp.ElicitParams](),
	"ElicitRequestParams":                         reflect.TypeFor[mcp.ElicitParams](),
	"ElicitRequestURLParams":                      reflect.TypeFor[mcp.ElicitParams](),
	"ElicitResult":                                reflect.TypeFor[mcp.ElicitResult](),
	"EmbeddedResource":                            reflect.TypeFor[mcp.EmbeddedResource](),
	"EmptyResult":                                 reflect.TypeFor[mcp.EmptyResult](),
	"GetPromptRequestParams":                      reflect.TypeFor[mcp.GetPromptParams](),
	"GetPromptResult":                             reflect.TypeFor[mcp.GetPromptResult](),
	"GetTaskResult":                               reflect.TypeFor[mcp.GetTaskResult](),
	"Icon":                                        reflect.TypeFor[mcp.Icon](),
	"ImageContent":                                reflect.TypeFor[mcp.ImageContent](),
	"Implementation":                              reflect.TypeFor[mcp.Implementation](),
	"InitializeRequestParams":                     reflect.TypeFor[mcp.InitializeParams](),
	"InitializeResult":                            reflect.TypeFor[mcp.InitializeResult](),
	"InputRequests":                               reflect.TypeFor[mcp.InputRequests](),
	"InputRequiredResult":                         reflect.TypeFor[mcp.InputRequiredResult](),
	"InputResponses":                              reflect.TypeFor[mcp.InputResponses](),
	"ListPromptsResult":                           reflect.TypeFor[mcp.ListPromptsResult](),
	"ListResourceTemplatesResult":                 reflect.TypeFor[mcp.ListResourceTemplatesResult](),
	"ListResourcesResult":                         reflect.TypeFor[mcp.ListResourcesResult](),
	"ListRootsResult":                             reflect.TypeFor[mcp.ListRootsResult](),
	"ListTasksResult":                             reflect.TypeFor[mcp.ListTasksResult](),
	"ListToolsResult":                             reflect.TypeFor[mcp.ListToolsResult](),
	"LoggingMessageNotificationParams":            reflect.TypeFor[mcp.LoggingMessageParams](),
	"ModelHint":                                   reflect.TypeFor[mcp.ModelHint](),
	"ModelPreferences":                            reflect.TypeFor[mcp.ModelPreferences](),
	"NotificationParams":                          reflect.TypeFor[mcp.NotificationParams](),
	"PaginatedRequestParams":                      reflect.TypeFor[mcp.PaginatedParams](),
	"ProgressNotificationParams":                  reflect.TypeFor[mcp.ProgressParams](),
	"Prompt":                                      reflect.TypeFor[mcp.Prompt](),
	"PromptArgument":                              reflect.TypeFor[mcp.PromptArgument](),
	"PromptMessage":                               reflect.TypeFor[mcp.PromptMessage](),
	"PromptReference":                             reflect.TypeFor[mcp.Reference](),
	"ReadResourceRequestParams":                   reflect.TypeFor[mcp.ReadResourceParams](),
	"ReadResourceResult":                          reflect.TypeFor[mcp.ReadResourceResult](),
	"RelatedTaskMetadata":                         reflect.TypeFor[mcp.RelatedTask](),
	"RequestParams":                               reflect.TypeFor[mcp.RequestParams](),
	"Resource":                                    reflect.TypeFor[mcp.Resource](),
	"ResourceContents":                            reflect.TypeFor[mcp.ResourceContents](),
	"ResourceLink":                                reflect.TypeFor[mcp.ResourceLink](),
	"ResourceReference":                           reflect.TypeFor[mcp.Reference](),
	"ResourceTemplate":                            reflect.TypeFor[mcp.ResourceTemplate](),
	"ResourceTemplateReference":                   reflect.TypeFor[mcp.Reference](),
	"ResourceUpdatedNotificationParams":           reflect.TypeFor[mcp.ResourceUpdatedParams](),
	"Root":                                        reflect.TypeFor[mcp.Root](),
	"SamplingMessage":                             reflect.TypeFor[mcp.SamplingMessage](),
	"ServerCapabilities":                          reflect.TypeFor[mcp.ServerCapabilities](),
	"SetLevelRequestParams":                       reflect.TypeFor[mcp.SetLevelParams](),
	"SubscribeRequestParams":                      reflect.TypeFor[mcp.SubscribeParams](),
	"SubscriptionFilter":                          reflect.TypeFor[mcp.SubscriptionFilter](),
	"SubscriptionsAcknowledgedNotificationParams": reflect.TypeFor[mcp.AcknowledgedParams](),
	"SubscriptionsListenRequestParams":            reflect.TypeFor[mcp.ListenParams](),
	"SubscriptionsListenResult":                   reflect.TypeFor[mcp.ListenResult](),
	"Task":                                        reflect.TypeFor[mcp.Task](),
	"TaskMetadata":                                reflect.TypeFor[mcp.TaskMetadata](),
	"TaskStatusNotificationParams":                reflect.TypeFor[mcp.TaskStatusParams](),
	"TextContent":                                 reflect.TypeFor[mcp.TextContent](),
	"TextResourceContents":                        reflect.TypeFor[mcp.ResourceContents](),
	"Tool":                                        reflect.TypeFor[mcp.Tool](),
	"ToolAnnotations":                             reflect.TypeFor[mcp.ToolAnnotations](),
	"ToolChoice":                                  reflect.TypeFor[mcp.ToolChoice](),
	"ToolExecution":                               reflect.TypeFor[mcp.ToolExecution](),
	"ToolResultContent":                           reflect.TypeFor[mcp.ToolResultContent](),
	"ToolUseContent":                              reflect.TypeFor[mcp.ToolUseContent](),
	"UnsubscribeRequestParams":                    reflect.TypeFor[mcp.UnsubscribeParams](),
}

// annotated stands for a base of 2024-11-05 that has no Go type of its own.
type annotated struct {
	Annotations *mcp.Annotations `json:"annotations,omitzero"`
}

// params maps methods to the Go types of their params.
var params = map[string]reflect.Type{
	mcp.MethodInitialize:             reflect.TypeFor[mcp.InitializeParams](),
	mcp.MethodPing:                   reflect.TypeFor[mcp.RequestParams](),
	mcp.MethodDiscover:               reflect.TypeFor[mcp.RequestParams](),
	mcp.MethodToolsList:              reflect.TypeFor[mcp.ListToolsParams](),
	mcp.MethodToolsCall:              reflect.TypeFor[mcp.CallToolParams](),
	mcp.MethodResourcesList:          reflect.TypeFor[mcp.ListResourcesParams](),
	mcp.MethodResourcesTemplatesList: reflect.TypeFor[mcp.ListResourceTemplatesParams](),
	mcp.MethodResourcesRead:          reflect.TypeFor[mcp.ReadResourceParams](),
	mcp.MethodResourcesSubscribe:     reflect.TypeFor[mcp.SubscribeParams](),
	mcp.MethodResourcesUnsubscribe:   reflect.TypeFor[mcp.UnsubscribeParams](),
	mcp.MethodPromptsList:            reflect.TypeFor[mcp.ListPromptsParams](),
	mcp.MethodPromptsGet:             reflect.TypeFor[mcp.GetPromptParams](),
	mcp.MethodComplete:               reflect.TypeFor[mcp.CompleteParams](),
	mcp.MethodSetLevel:               reflect.TypeFor[mcp.SetLevelParams](),
	mcp.MethodListen:                 reflect.TypeFor[mcp.ListenParams](),
	mcp.MethodCreateMessage:          reflect.TypeFor[mcp.CreateMessageParams](),
	mcp.MethodRootsList:              reflect.TypeFor[mcp.RequestParams](),
	mcp.MethodElicit:                 reflect.TypeFor[mcp.ElicitParams](),
	mcp.MethodTasksGet:               reflect.TypeFor[mcp.TaskParams](),
	mcp.MethodTasksResult:            reflect.TypeFor[mcp.TaskParams](),
	mcp.MethodTasksList:              reflect.TypeFor[mcp.ListTasksParams](),
	mcp.MethodTasksCancel:            reflect.TypeFor[mcp.TaskParams](),

	mcp.NotificationInitialized:          reflect.TypeFor[mcp.NotificationParams](),
	mcp.NotificationCancelled:            reflect.TypeFor[mcp.CancelledParams](),
	mcp.NotificationProgress:             reflect.TypeFor[mcp.ProgressParams](),
	mcp.NotificationMessage:              reflect.TypeFor[mcp.LoggingMessageParams](),
	mcp.NotificationToolsListChanged:     reflect.TypeFor[mcp.NotificationParams](),
	mcp.NotificationPromptsListChanged:   reflect.TypeFor[mcp.NotificationParams](),
	mcp.NotificationResourcesListChanged: reflect.TypeFor[mcp.NotificationParams](),
	mcp.NotificationResourceUpdated:      reflect.TypeFor[mcp.ResourceUpdatedParams](),
	mcp.NotificationRootsListChanged:     reflect.TypeFor[mcp.NotificationParams](),
	mcp.NotificationElicitationComplete:  reflect.TypeFor[mcp.ElicitationCompleteParams](),
	mcp.NotificationTasksStatus:          reflect.TypeFor[mcp.TaskStatusParams](),
	mcp.NotificationAcknowledged:         reflect.TypeFor[mcp.AcknowledgedParams](),
}

const (
	envelope = "a whole message or a union of them: package jsonrpc"
	base     = "a base whose members are checked in the types that extend it"
	meta     = "_meta is a map with helpers"
	union    = "a union that has an interface or a struct with the members of all"
	fieldOf  = "one field of a form: package form"
	rawJSON  = "any JSON"
	scalar   = "a scalar"
	failure  = "an error: TestSchemaErrors"
	result   = "the whole answer: its result is mapped"
)

// unmapped lists the definitions without a Go type of their own, with the reason.
var unmapped = map[string]string{
	"ClientNotification": envelope, "ClientRequest": envelope, "ClientResult": envelope,
	"ServerNotification": envelope, "ServerRequest": envelope, "ServerResult": envelope,
	"JSONRPCBatchRequest": envelope, "JSONRPCBatchResponse": envelope, "JSONRPCError": envelope,
	"JSONRPCErrorResponse": envelope, "JSONRPCMessage": envelope, "JSONRPCNotification": envelope,
	"JSONRPCRequest": envelope, "JSONRPCResponse": envelope, "JSONRPCResultResponse": envelope,
	"Request": envelope, "Notification": envelope, "PaginatedRequest": envelope, "RequestId": envelope, "Error": envelope,

	"CallToolResultResponse": result, "CompleteResultResponse": result, "DiscoverResultResponse": result,
	"GetPromptResultResponse": result, "ListPromptsResultResponse": result, "ListResourceTemplatesResultResponse": result,
	"ListResourcesResultResponse": result, "ListToolsResultResponse": result, "ReadResourceResultResponse": result,
	"SubscriptionsListenResultResponse": result,

	"BaseMetadata": base, "CacheableResult": base, "Icons": base, "InputResponseRequestParams": base,
	"PaginatedResult": base, "ResourceRequestParams": base, "Result": base, "TaskAugmentedRequestParams": base,

	"MetaObject": meta, "NotificationMetaObject": meta, "RequestMetaObject": meta, "ResultMetaObject": meta,
	"SubscriptionsListenResultMetaObject": meta,

	"ContentBlock": union, "SamplingMessageContentBlock": union, "InputRequest": union, "InputResponse": union,

	"BooleanSchema": fieldOf, "EnumSchema": fieldOf, "LegacyTitledEnumSchema": fieldOf, "MultiSelectEnumSchema": fieldOf,
	"NumberSchema": fieldOf, "PrimitiveSchemaDefinition": fieldOf, "SingleSelectEnumSchema": fieldOf,
	"StringSchema": fieldOf, "TitledMultiSelectEnumSchema": fieldOf, "TitledSingleSelectEnumSchema": fieldOf,
	"UntitledMultiSelectEnumSchema": fieldOf, "UntitledSingleSelectEnumSchema": fieldOf,

	"JSONArray": rawJSON, "JSONObject": rawJSON, "JSONValue": rawJSON,
	"GetTaskPayloadResult": "the result of whatever request became the task",

	"Cursor": scalar, "LoggingLevel": scalar, "ProgressToken": scalar, "ResultType": scalar, "Role": scalar,
	"TaskStatus": scalar,

	"HeaderMismatchError": failure, "InternalError": failure, "InvalidParamsError": failure, "InvalidRequestError": failure,
	"MethodNotFoundError": failure, "MissingRequiredClientCapabilityError": failure, "ParseError": failure,
	"UnsupportedProtocolVersionError": failure, "URLElicitationRequiredError": failure,
}

const (
	anyParams = "the params of every request and notification may have _meta"
	byServer  = "the server writes it into every result of this revision"
	byClient  = "the client writes it into every request of this revision"
)

// invented lists members of Go types that no schema has where the type stands, with the reason.
var invented = map[string]string{
	"mcp.SubscriptionFilter.taskIds":      "the tasks extension adds it",
	"mcp.TaskParams._meta":                anyParams,
	"mcp.ElicitationCompleteParams._meta": anyParams,
}

// stamped lists members that are mandatory in every revision that has the type, and that can be left out of the Go value
// all the same.
var stamped = map[string]string{
	"mcp.ListenResult._meta":        byServer,
	"mcp.ListenResult.resultType":   byServer,
	"mcp.DiscoverResult.resultType": byServer,
	"mcp.DiscoverResult.ttlMs":      byServer,
	"mcp.DiscoverResult.cacheScope": byServer,
	"mcp.ListenParams._meta":        byClient,
}
