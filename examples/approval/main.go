// Approval is a server whose tool does something that cannot be undone. The person sees on a page exactly what will be done, says yes or
// no, and it is done exactly as approved, once, however often the client repeats the call.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/mcp"
)

type transfer struct {
	To     string `json:"to" jsonschema:"who gets the money"`
	Amount int    `json:"amount" jsonschema:"in whole euros" minimum:"1"`
}

type receipt struct {
	Text string `json:"text"`
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	store, err := sqlite.Open("approval.db")
	if err != nil {
		return err
	}
	defer store.Close()
	desk, err := connect.OpenLocal(ctx, &connect.Options{ServerName: "Household bank", Store: store, Keys: connect.KeysFromFile("approval.keys")})
	if err != nil {
		return err
	}
	defer desk.Close()
	srv := mcp.NewServer("bank", "1.0.0", nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "transfer", Description: "Send money."},
		func(ctx context.Context, call *mcp.Call, in transfer) (receipt, error) {
			action := connect.Action{
				Title:   fmt.Sprintf("Send %d EUR to %s", in.Amount, in.To),
				Details: []connect.Detail{{Label: "To", Value: in.To}, {Label: "Amount", Value: fmt.Sprintf("%d.00 EUR", in.Amount)}},
			}
			return connect.Do(ctx, desk, call, action, func(a connect.Approved) (receipt, error) {
				return receipt{Text: "sent, with reference " + a.IdempotencyKey}, nil // the bank would be called here, with that key
			})
		})
	return srv.ServeStdio(ctx)
}
