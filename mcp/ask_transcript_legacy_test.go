//go:build !mcp_modern_only

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

func TestTranscriptsOfSessions(t *testing.T) {
	mcptest.Transcripts(t, "testdata/transcripts/ask-2025*.txt", travel)
}

// draftTravel is the server of the transcripts, with the User Interaction draft.
func draftTravel() *mcp.Server {
	type booking struct {
		To string `json:"to"`
	}
	type seat struct {
		Class string `json:"class" enum:"first,second" default:"second"`
	}
	s := mcp.NewServer("travel", "1.0", &mcp.ServerOptions{
		Logger: slog.New(slog.DiscardHandler), Ask: &mcp.AskOptions{InteractionDraft: true},
	})
	mcp.AddTool(s, &mcp.Tool{Name: "book"}, func(ctx context.Context, c *mcp.Call, in booking) (string, error) {
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
		a, err := c.Ask(ctx, &mcp.Question{Key: "page", Kind: mcp.AskURL, Message: "Please sign in.", URL: "https://travel.example/connect"})
		if err != nil {
			return "", err
		}
		_, err = s.CompleteElicitation(a.ID)
		return "opened", err
	})
	return s
}

func TestTranscriptsOfTheDraft(t *testing.T) {
	mcptest.Transcripts(t, "testdata/transcripts/draft.txt", draftTravel)
}
