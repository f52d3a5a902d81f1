package jsonrpc

// methods holds the method names of the protocol, so that decoding one of them
// does not allocate. A name that is missing here works just as well.
var methods = intern(
	"initialize", "ping", "server/discover",
	"tools/list", "tools/call",
	"resources/list", "resources/read", "resources/templates/list",
	"resources/subscribe", "resources/unsubscribe",
	"prompts/list", "prompts/get",
	"completion/complete", "logging/setLevel", "subscriptions/listen",
	"sampling/createMessage", "roots/list", "elicitation/create", "interaction/create",
	"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update",
	"notifications/initialized", "notifications/cancelled",
	"notifications/progress", "notifications/message",
	"notifications/tools/list_changed", "notifications/prompts/list_changed",
	"notifications/resources/list_changed", "notifications/resources/updated",
	"notifications/roots/list_changed", "notifications/elicitation/complete",
	"notifications/tasks", "notifications/tasks/status",
	"notifications/subscriptions/acknowledged",
)

// intern returns a map from each name to itself.
func intern(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, n := range names {
		m[n] = n
	}
	return m
}

// methodName returns the text of a valid JSON string literal.
func methodName(raw []byte) (string, error) {
	if s, ok := methods[string(raw[1:len(raw)-1])]; ok {
		return s, nil
	}
	return unquote(raw)
}
