// Package mcptest tests MCP servers and their handlers.
package mcptest
