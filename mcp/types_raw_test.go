package mcp_test

import stdjson "encoding/json"

// jsonRaw is the raw type of the public API.
type jsonRaw = stdjson.RawMessage
