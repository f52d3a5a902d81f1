//go:build mcp_modern_only

package mcphttp_test

// methodsServed is what the endpoint takes.
const methodsServed = "POST"

// inEachEra returns a call for each era.
func (s *site) inEachEra(tool, args string) []*request {
	return []*request{callTool("1", tool, args).withToken()}
}
