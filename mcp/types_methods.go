package mcp

import "github.com/seed38e7925c/parley/internal/era"

// Methods of requests. Which of them exist depends on the revision.
const (
	MethodInitialize             = era.MethodInitialize
	MethodPing                   = era.MethodPing
	MethodDiscover               = era.MethodDiscover
	MethodToolsList              = era.MethodToolsList
	MethodToolsCall              = era.MethodToolsCall
	MethodResourcesList          = era.MethodResourcesList
	MethodResourcesTemplatesList = era.MethodResourcesTemplatesList
	MethodResourcesRead          = era.MethodResourcesRead
	MethodResourcesSubscribe     = era.MethodResourcesSubscribe
	MethodResourcesUnsubscribe   = era.MethodResourcesUnsubscribe
	MethodPromptsList            = era.MethodPromptsList
	MethodPromptsGet             = era.MethodPromptsGet
	MethodComplete               = era.MethodComplete
	MethodSetLevel               = era.MethodSetLevel
	MethodListen                 = era.MethodListen
	MethodCreateMessage          = era.MethodCreateMessage
	MethodRootsList              = era.MethodRootsList
	MethodElicit                 = era.MethodElicit
	MethodTasksGet               = era.MethodTasksGet
	MethodTasksResult            = era.MethodTasksResult
	MethodTasksList              = era.MethodTasksList
	MethodTasksCancel            = era.MethodTasksCancel
	MethodTasksUpdate            = era.MethodTasksUpdate
)

// Methods of notifications. Which of them exist depends on the revision.
const (
	NotificationInitialized          = era.NotificationInitialized
	NotificationCancelled            = era.NotificationCancelled
	NotificationProgress             = era.NotificationProgress
	NotificationMessage              = era.NotificationMessage
	NotificationToolsListChanged     = era.NotificationToolsListChanged
	NotificationPromptsListChanged   = era.NotificationPromptsListChanged
	NotificationResourcesListChanged = era.NotificationResourcesListChanged
	NotificationResourceUpdated      = era.NotificationResourceUpdated
	NotificationRootsListChanged     = era.NotificationRootsListChanged
	NotificationElicitationComplete  = era.NotificationElicitationComplete
	NotificationTasksStatus          = era.NotificationTasksStatus
	NotificationTasks                = era.NotificationTasks
	NotificationAcknowledged         = era.NotificationAcknowledged
)

// Keys of _meta that the specification reserves; see Meta.
const (
	MetaProtocolVersion        = era.MetaProtocolVersion
	MetaClientCapabilities     = era.MetaClientCapabilities
	MetaClientInfo             = era.MetaClientInfo
	MetaLogLevel               = era.MetaLogLevel
	MetaServerInfo             = era.MetaServerInfo
	MetaSubscriptionID         = era.MetaSubscriptionID
	MetaProgressToken          = era.MetaProgressToken
	MetaRelatedTask            = era.MetaRelatedTask
	MetaModelImmediateResponse = era.MetaModelImmediateResponse
	MetaTraceParent            = era.MetaTraceParent
	MetaTraceState             = era.MetaTraceState
	MetaBaggage                = era.MetaBaggage
)

// Values of resultType. Extensions add their own.
const (
	ResultComplete      = era.ResultComplete
	ResultInputRequired = era.ResultInputRequired
	ResultTask          = era.ResultTask
)
