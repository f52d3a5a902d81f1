package mcp

import "encoding/json"

// LoggingLevel is how severe a log message is, as in RFC 5424.
type LoggingLevel string

// The levels, from the least severe on.
const (
	LevelDebug     LoggingLevel = "debug"
	LevelInfo      LoggingLevel = "info"
	LevelNotice    LoggingLevel = "notice"
	LevelWarning   LoggingLevel = "warning"
	LevelError     LoggingLevel = "error"
	LevelCritical  LoggingLevel = "critical"
	LevelAlert     LoggingLevel = "alert"
	LevelEmergency LoggingLevel = "emergency"
)

// Severity returns 1 for LevelDebug up to 8 for LevelEmergency, and 0 for anything that is no level.
func (l LoggingLevel) Severity() int {
	switch l {
	case LevelDebug:
		return 1
	case LevelInfo:
		return 2
	case LevelNotice:
		return 3
	case LevelWarning:
		return 4
	case LevelError:
		return 5
	case LevelCritical:
		return 6
	case LevelAlert:
		return 7
	case LevelEmergency:
		return 8
	}
	return 0
}

// Valid reports whether l is one of the levels.
func (l LoggingLevel) Valid() bool { return l.Severity() > 0 }

// SetLevelParams are the params of logging/setLevel. Up to 2025-11-25.
type SetLevelParams struct {
	Meta Meta `json:"_meta,omitzero"`
	// Level is the least severe level to send.
	Level LoggingLevel `json:"level"`
}

// LoggingMessageParams are the params of notifications/message.
type LoggingMessageParams struct {
	Meta  Meta         `json:"_meta,omitzero"`
	Level LoggingLevel `json:"level"`
	// Logger names where the message comes from.
	Logger string `json:"logger,omitzero"`
	// Data is any JSON value; nil is sent as null.
	Data json.RawMessage `json:"data"`
}
