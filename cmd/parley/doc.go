// Command parley speaks the Model Context Protocol for people and scripts: it lists, calls and reads what servers offer, and lets the
// questions that servers have be answered in the terminal, in the browser, or from a file.
//
//	parley demo                                            one tool, one form, one page, in this terminal
//	parley ls 'stdio:npx -y @modelcontextprotocol/server-everything'
//	parley call https://travel.example/mcp book from=Bern to=Wien
//	parley read TARGET URI, parley prompt TARGET NAME
//
// docs/command.md describes it in full.
package main
