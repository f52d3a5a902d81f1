package era

import "slices"

// Methods of requests.
const (
	MethodInitialize             = "initialize"
	MethodPing                   = "ping"
	MethodDiscover               = "server/discover"
	MethodToolsList              = "tools/list"
	MethodToolsCall              = "tools/call"
	MethodResourcesList          = "resources/list"
	MethodResourcesTemplatesList = "resources/templates/list"
	MethodResourcesRead          = "resources/read"
	MethodResourcesSubscribe     = "resources/subscribe"
	MethodResourcesUnsubscribe   = "resources/unsubscribe"
	MethodPromptsList            = "prompts/list"
	MethodPromptsGet             = "prompts/get"
	MethodComplete               = "completion/complete"
	MethodSetLevel               = "logging/setLevel"
	MethodListen                 = "subscriptions/listen"
	MethodCreateMessage          = "sampling/createMessage"
	MethodRootsList              = "roots/list"
	MethodElicit                 = "elicitation/create"
	MethodTasksGet               = "tasks/get"
	MethodTasksResult            = "tasks/result"
	MethodTasksList              = "tasks/list"
	MethodTasksCancel            = "tasks/cancel"
	MethodTasksUpdate            = "tasks/update" // tasks extension only
)

// Methods of notifications.
const (
	NotificationInitialized          = "notifications/initialized"
	NotificationCancelled            = "notifications/cancelled"
	NotificationProgress             = "notifications/progress"
	NotificationMessage              = "notifications/message"
	NotificationToolsListChanged     = "notifications/tools/list_changed"
	NotificationPromptsListChanged   = "notifications/prompts/list_changed"
	NotificationResourcesListChanged = "notifications/resources/list_changed"
	NotificationResourceUpdated      = "notifications/resources/updated"
	NotificationRootsListChanged     = "notifications/roots/list_changed"
	NotificationElicitationComplete  = "notifications/elicitation/complete"
	NotificationTasksStatus          = "notifications/tasks/status"
	NotificationTasks                = "notifications/tasks" // tasks extension only
	NotificationAcknowledged         = "notifications/subscriptions/acknowledged"
)

// Direction says who sends a message.
type Direction uint8

// The two directions.
const (
	ClientToServer Direction = iota
	ServerToClient
)

// methodTable lists what each side may send, by Direction.
type methodTable struct {
	requests      [2][]string
	notifications [2][]string
	inputs        []string
}

// Requests returns the request methods that the specification defines for one direction. The slice must not be changed.
func (r *Rules) Requests(d Direction) []string { return r.methods.requests[d&1] }

// Notifications returns the notification methods defined for one direction. The slice must not be changed.
func (r *Rules) Notifications(d Direction) []string { return r.methods.notifications[d&1] }

// InputRequests returns the methods that may stand inside inputRequests; empty where a server asks by requests of its
// own. The slice must not be changed.
func (r *Rules) InputRequests() []string { return r.methods.inputs }

// HasRequest reports whether the revision defines the request method for that direction.
func (r *Rules) HasRequest(d Direction, method string) bool {
	return slices.Contains(r.methods.requests[d&1], method)
}

// HasNotification reports whether the revision defines the notification method for that direction.
func (r *Rules) HasNotification(d Direction, method string) bool {
	return slices.Contains(r.methods.notifications[d&1], method)
}

// CanAsk reports whether a server may put a request of this method to the client, by whichever way the revision has.
func (r *Rules) CanAsk(method string) bool {
	if r.AskByResult {
		return slices.Contains(r.methods.inputs, method)
	}
	return slices.Contains(r.methods.requests[ServerToClient], method)
}

// CanBeAsked reports whether a result of this method may ask the client for input (inputRequests).
func (r *Rules) CanBeAsked(method string) bool {
	return r.AskByResult && (method == MethodToolsCall || method == MethodPromptsGet || method == MethodResourcesRead)
}

// Cacheable reports whether complete results of this method carry ttlMs and cacheScope.
func (r *Rules) Cacheable(method string) bool {
	if !r.CacheHints {
		return false
	}
	switch method {
	case MethodDiscover, MethodToolsList, MethodPromptsList, MethodResourcesList, MethodResourcesTemplatesList, MethodResourcesRead:
		return true
	}
	return false
}

// NameParam returns the member of params that the Mcp-Name header repeats for this method, or "" where that header is
// not used. The tasks methods are those of the tasks extension.
func (r *Rules) NameParam(method string) string {
	if !r.HTTP.MirrorHeaders {
		return ""
	}
	switch method {
	case MethodToolsCall, MethodPromptsGet:
		return "name"
	case MethodResourcesRead:
		return "uri"
	case MethodTasksGet, MethodTasksUpdate, MethodTasksCancel:
		return "taskId"
	}
	return ""
}

var (
	legacyClientRequests = []string{
		MethodInitialize, MethodPing, MethodToolsList, MethodToolsCall,
		MethodResourcesList, MethodResourcesTemplatesList, MethodResourcesRead,
		MethodResourcesSubscribe, MethodResourcesUnsubscribe,
		MethodPromptsList, MethodPromptsGet, MethodComplete, MethodSetLevel,
	}
	taskRequests        = []string{MethodTasksGet, MethodTasksResult, MethodTasksList, MethodTasksCancel}
	legacyAsks          = []string{MethodPing, MethodCreateMessage, MethodRootsList}
	legacyClientNotices = []string{
		NotificationInitialized, NotificationCancelled, NotificationProgress, NotificationRootsListChanged,
	}
	legacyServerNotices = []string{
		NotificationCancelled, NotificationProgress, NotificationMessage, NotificationToolsListChanged,
		NotificationPromptsListChanged, NotificationResourcesListChanged, NotificationResourceUpdated,
	}

	methods2024 = methodTable{
		requests:      [2][]string{legacyClientRequests, legacyAsks},
		notifications: [2][]string{legacyClientNotices, legacyServerNotices},
	}
	methods20250618 = methodTable{
		requests:      [2][]string{legacyClientRequests, slices.Concat(legacyAsks, []string{MethodElicit})},
		notifications: [2][]string{legacyClientNotices, legacyServerNotices},
	}
	methods20251125 = methodTable{
		requests: [2][]string{
			slices.Concat(legacyClientRequests, taskRequests),
			slices.Concat(legacyAsks, []string{MethodElicit}, taskRequests),
		},
		notifications: [2][]string{
			slices.Concat(legacyClientNotices, []string{NotificationTasksStatus}),
			slices.Concat(legacyServerNotices, []string{NotificationElicitationComplete, NotificationTasksStatus}),
		},
	}
	methods20260728 = methodTable{
		requests: [2][]string{{
			MethodDiscover, MethodToolsList, MethodToolsCall,
			MethodResourcesList, MethodResourcesTemplatesList, MethodResourcesRead,
			MethodPromptsList, MethodPromptsGet, MethodComplete, MethodListen,
		}, {}},
		notifications: [2][]string{
			{NotificationCancelled},
			slices.Concat(legacyServerNotices, []string{NotificationAcknowledged}),
		},
		inputs: []string{MethodElicit, MethodCreateMessage, MethodRootsList},
	}
)
