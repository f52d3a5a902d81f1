// Package pages renders what people see of the desk: the pages on which they type a secret, agree to a connection or approve an
// action, and those that show what is stored for them. It knows nothing of how interactions come about.
//
//	Frame (who runs the server, who is signed in) + Page (what is shown) ─► Renderer ─► HTML in the reader's language
//
// The pages need no script and no style of their own, so that the strictest content security policy holds. Every text that comes from
// elsewhere (a server's, a client's, a provider's) is made safe to read before it is escaped for HTML.
//
//   - pages.go: the pages
//   - render.go: the renderer, and the one stylesheet
//   - texts.go, texts.json: the words, all languages in one file
//   - *.html, style.css: the templates and the stylesheet
package pages
