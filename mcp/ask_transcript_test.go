package mcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest"
)

// travel is the server of the transcripts.
func travel() *mcp.Server {
	type booking struct {
		To string `json:"to"`
	}
	type seat struct {
		Class string `json:"class" enum:"first=First class,second=Second class" default:"second"`
		Quiet bool   `json:"quiet,omitempty" title:"Quiet coach"`
	}
	s := mcp.NewServer("travel", "1.0", &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddTool(s, &mcp.Tool{Name: "book", Asks: ask.Declare(ask.FormItem[seat]("seat", "Where would you like to sit?"), ask.ConfirmItem("pay", "Pay now?"))},
		func(ctx context.Context, c *mcp.Call, in booking) (string, error) {
			where, err := ask.Form[seat](ctx, c, "seat", "Where would you like to sit?")
			if err != nil {
				return "", err
			}
			if ok, err := ask.Confirm(ctx, c, "pay", "Pay now?"); err != nil || !ok {
				return "nothing booked", err
			}
			return fmt.Sprintf("%s, %s class", in.To, where.Class), nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "page"}, func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return "opened", ask.Open(ctx, c, "page", "Please sign in.", "https://travel.example/connect")
	})
	return s
}

func TestTranscripts(t *testing.T) {
	mcptest.Transcripts(t, "testdata/transcripts/ask-modern*.txt", travel)
}
