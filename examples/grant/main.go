// Grant is a server whose tool uses the API of another company for the person, by OAuth. They sign in and agree there; the token passes
// through neither the client nor the model, and is renewed and kept encrypted in grant.db, with the keys in grant.keys. The server is
// registered there as an application on people's own computers, with the redirect URI http://127.0.0.1/callback/rail.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"golang.org/x/oauth2"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/mcp"
)

// api is the other company's API, issuer where people sign in there.
var api, issuer = os.Getenv("RAIL_API"), os.Getenv("RAIL_ISSUER")

type account struct {
	Answer string `json:"answer"`
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	store, err := sqlite.Open("grant.db")
	if err != nil {
		return err
	}
	defer store.Close()
	desk, err := connect.OpenLocal(ctx, &connect.Options{ServerName: "Train tickets", Store: store, Keys: connect.KeysFromFile("grant.keys")})
	if err != nil {
		return err
	}
	defer desk.Close()
	rail := desk.OAuth(&connect.Provider{
		Name: "rail", Title: "Rail AG", Issuer: issuer, ClientID: "tickets", Resource: api, Scopes: []string{"seats.read"},
		ScopeTexts: map[string]string{"seats.read": "See free seats and prices"},
	})
	srv := mcp.NewServer("tickets", "1.0.0", nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "account", Description: "Ask Rail AG who you are there.", Asks: desk.Asks("rail")},
		func(ctx context.Context, call *mcp.Call, _ struct{}) (account, error) {
			token, err := rail.Token(ctx, call) // asks on a page, the first time
			if err != nil {
				return account{}, err
			}
			answer, err := me(ctx, token)
			return account{Answer: answer}, err
		})
	return srv.ServeStdio(ctx)
}

// me asks the API. The token is renewed where that is needed.
func me(ctx context.Context, token oauth2.TokenSource) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/me", nil)
	if err != nil {
		return "", err
	}
	res, err := oauth2.NewClient(ctx, token).Do(req)
	if err != nil {
		return "", fmt.Errorf("the railway cannot be reached: %w", err)
	}
	return res.Status, res.Body.Close()
}
