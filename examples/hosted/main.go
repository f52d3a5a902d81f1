// Hosted is a server on the network. Its callers have access tokens of an issuer; the same people sign in there at the pages of the
// server, and each page is for the one who started the call. The server is registered at the issuer, with the redirect URI
// URL + "connect/signin/callback". Where several machines share the work, use connect/postgres, and set Ask.Keys and Ask.Store.
package main

import (
	"context"
	"log"
	"os"
	"strings"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcphttp"
)

// url is where the server is reached, such as https://notes.example/, and issuer where its people sign in. TLS is a proxy's business.
var url, issuer = os.Getenv("URL"), os.Getenv("ISSUER")

type answer struct {
	Text string `json:"text"`
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	resource, err := mcpauth.NewResource(url+"mcp", mcpauth.JWT(issuer, nil), &mcpauth.ResourceOptions{Name: "Notes"})
	if err != nil {
		return err
	}
	store, err := sqlite.Open("hosted.db")
	if err != nil {
		return err
	}
	defer store.Close()
	keys := connect.KeysFromFile("hosted.keys")
	desk, err := connect.Open(ctx, &connect.Options{
		ServerName: "Notes", BaseURL: url + "connect/", Store: store, Keys: keys,
		Identity: connect.OIDC(issuer, os.Getenv("CLIENT_ID"), os.Getenv("CLIENT_SECRET"), &connect.OIDCOptions{Resource: resource}),
	})
	if err != nil {
		return err
	}
	defer desk.Close()
	phrase := desk.Secret(&connect.SecretSpec{Name: "phrase", Title: "secret phrase", Reason: "Your notes are locked with it."})
	srv := mcp.NewServer("notes", "1.0.0", resource.Protect(&mcp.ServerOptions{Ask: &mcp.AskOptions{Store: connect.StateStore(store, keys)}}))
	mcp.AddTool(srv, &mcp.Tool{Name: "unlock", Description: "Unlock your notes.", Asks: desk.Asks("phrase")},
		func(ctx context.Context, call *mcp.Call, _ struct{}) (answer, error) {
			value, err := phrase.Get(ctx, call) // asks on a page, the first time
			if err != nil {
				return answer{}, err
			}
			if !strings.Contains(value.Reveal(), " ") {
				return answer{}, mcp.ToolErrorf("that is one word, and no phrase")
			}
			return answer{Text: "the notes of " + call.Principal().Subject + " are open"}, nil
		})
	return mcphttp.ListenAndServe(os.Getenv("LISTEN"), srv, resource.HTTP(&mcphttp.Options{Fallback: desk}))
}
