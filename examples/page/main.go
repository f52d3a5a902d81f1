// Page is a server whose tool sends the person to a page of somebody else, a payment perhaps, and goes on when they have come back from
// it. What the person brings back is a claim: the server asks whoever runs the page.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/sqlite"
	"github.com/seed38e7925c/parley/mcp"
)

// shop is where payments are made: people at /pay, this server asks at /paid.
var shop, client = os.Getenv("SHOP"), &http.Client{Timeout: 10 * time.Second}

type order struct {
	Item string `json:"item"`
}

type delivery struct {
	Text string `json:"text"`
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	store, err := sqlite.Open("page.db")
	if err != nil {
		return err
	}
	defer store.Close()
	desk, err := connect.OpenLocal(ctx, &connect.Options{ServerName: "Book shop", Store: store, Keys: connect.KeysFromFile("page.keys")})
	if err != nil {
		return err
	}
	defer desk.Close()
	_, host, _ := strings.Cut(shop, "://")
	payment := desk.Page(&connect.PageSpec{Name: "payment", Title: "Payment", Host: host, Start: start, Finish: finish})
	srv := mcp.NewServer("books", "1.0.0", nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "buy", Description: "Buy a book."},
		func(ctx context.Context, call *mcp.Call, in order) (delivery, error) {
			_, err := payment.Wait(ctx, call, in)
			return delivery{Text: in.Item + " is on its way"}, err
		})
	return srv.ServeStdio(ctx)
}

// start says where the person goes.
func start(_ context.Context, v *connect.Visit) (string, error) {
	return fmt.Sprintf("%s/pay?%s", shop, url.Values{"order": {v.Reference}, "back": {v.ReturnURL}}.Encode()), nil
}

// finish asks the shop whether it has been paid.
func finish(ctx context.Context, v *connect.Visit, _ url.Values) (any, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, shop+"/paid?order="+url.QueryEscape(v.Reference), nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, errors.Join(connect.ErrNotYet, res.Body.Close())
	}
	return "paid", res.Body.Close()
}
