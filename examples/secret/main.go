// Secret is a server whose tool needs an API key of the person. They type it on a page of this computer, once: it passes through neither
// the client nor the model, is tried before it is saved, and is kept encrypted in secret.db, with the keys in secret.keys.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/mcp"
)

// api is the service that the key is for.
var api, client = os.Getenv("STATIONS_API"), &http.Client{Timeout: 10 * time.Second}

type stations struct {
	Answer string `json:"answer"`
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	store, err := sqlite.Open("secret.db")
	if err != nil {
		return err
	}
	defer store.Close()
	desk, err := connect.OpenLocal(ctx, &connect.Options{ServerName: "Stations", Store: store, Keys: connect.KeysFromFile("secret.keys")})
	if err != nil {
		return err
	}
	defer desk.Close()
	key := desk.Secret(&connect.SecretSpec{
		Name: "stations", Title: "Stations API key", Reason: "The stations are not free.", Validate: try,
	})
	srv := mcp.NewServer("stations", "1.0.0", nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "stations", Description: "List the stations.", Asks: desk.Asks("stations")},
		func(ctx context.Context, call *mcp.Call, _ struct{}) (stations, error) {
			value, err := key.Get(ctx, call)
			if err != nil {
				return stations{}, err
			}
			status, err := ask(ctx, "/stations", value)
			return stations{Answer: status}, err
		})
	return srv.ServeStdio(ctx)
}

// try asks the service whose key it is, before it is saved.
func try(ctx context.Context, value connect.Value) error {
	status, err := ask(ctx, "/key", value)
	if err == nil && status != "200 OK" {
		return connect.Refuse("the service answers %s", status)
	}
	return err
}

// ask sends a request with the key.
func ask(ctx context.Context, path string, value connect.Value) (status string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, api+path, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("X-API-Key", value.Reveal())
	res, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("the stations cannot be reached: %w", err)
	}
	return res.Status, res.Body.Close()
}
