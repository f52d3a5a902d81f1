package mcp

// This file has the task types of 2025-11-25 as they are on the wire. The tasks extension of 2026-07-28 has its own.

// TaskStatus is the state of a task.
type TaskStatus string

// The states; the last three are final.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Terminal reports whether the state is final.
func (s TaskStatus) Terminal() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// Task is the state of one task. 2025-11-25 only.
type Task struct {
	TaskID string     `json:"taskId"`
	Status TaskStatus `json:"status"`
	// StatusMessage says more to a person.
	StatusMessage string `json:"statusMessage,omitzero"`
	// CreatedAt and LastUpdatedAt are ISO 8601 times.
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	// TTL is for how many milliseconds from its creation the task is kept; nil, on the wire null, is for ever.
	TTL *int64 `json:"ttl"`
	// PollInterval is how many milliseconds to leave between two polls; nil says nothing.
	PollInterval *int64 `json:"pollInterval,omitzero"`
}

// TaskMetadata makes a request a task. 2025-11-25 only.
type TaskMetadata struct {
	// TTL is for how many milliseconds the task is wanted; nil is for ever.
	TTL *int64 `json:"ttl,omitzero"`
}

// RelatedTask is the value under MetaRelatedTask. 2025-11-25 only.
type RelatedTask struct {
	TaskID string `json:"taskId"`
}

// CreateTaskResult answers a request that became a task. 2025-11-25 only.
type CreateTaskResult struct {
	Meta Meta `json:"_meta,omitzero"`
	Task Task `json:"task"`
}

// TaskParams are the params of tasks/get, tasks/result and tasks/cancel. 2025-11-25 only.
type TaskParams struct {
	Meta   Meta   `json:"_meta,omitzero"`
	TaskID string `json:"taskId"`
}

// GetTaskResult is the result of tasks/get. 2025-11-25 only.
type GetTaskResult struct {
	Meta Meta `json:"_meta,omitzero"`
	Task
}

// CancelTaskResult is the result of tasks/cancel. 2025-11-25 only.
type CancelTaskResult = GetTaskResult

// ListTasksParams are the params of tasks/list. 2025-11-25 only.
type ListTasksParams = PaginatedParams

// ListTasksResult is the result of tasks/list. 2025-11-25 only.
type ListTasksResult struct {
	Meta  Meta    `json:"_meta,omitzero"`
	Tasks []*Task `json:"tasks"`
	// NextCursor asks for the next page; nil says that this was the last.
	NextCursor *Cursor `json:"nextCursor,omitzero"`
}

// TaskStatusParams are the params of notifications/tasks/status. 2025-11-25 only.
type TaskStatusParams = GetTaskResult
