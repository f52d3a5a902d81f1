// Package railway is the API of another company, for tests and demonstrations: what an MCP server calls for its user. Part of it wants
// an access token of a provider such as package idp's, part of it an API key. Everything is invented and in memory.
//
//		GET  /me               who the token is for                          token
//		GET  /seats?from=&to=  free seats with prices                        token, scope seats.read
//		POST /bookings         {"seat": …}, once per Idempotency-Key         token, scope seats.book
//		GET  /bookings         one's own bookings                            token, scope seats.book
//		GET  /key              whose API key it is                           X-API-Key
//		GET  /stations         the names of stations                         X-API-Key
//
//	  - railway.go: the API
//	  - listen.go: its server
package railway
