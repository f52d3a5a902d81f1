package connect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	strict "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest"
)

const canary = "canary-5f2d"

type holder struct {
	Key    connect.Value
	hidden connect.Value
	ptr    *connect.Value
	list   []connect.Value
}

func TestThreat21SecretsShowNothing(t *testing.T) {
	v := connect.NewSecret(canary)
	h := holder{v, v, &v, []connect.Value{v}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s", "%T %[1]v"} {
		for _, arg := range []any{v, &v, h, &h, []any{v, h}, map[string]any{"k": h}, fmt.Errorf("wrapped: %w %v", errors.New("x"), v)} {
			fmt.Fprintf(&out, verb+"\n", arg)
		}
	}
	for _, arg := range []any{v, &v, h, &h, []connect.Value{v}, map[string]connect.Value{"k": v}} {
		a, err := json.Marshal(arg)
		if err != nil {
			t.Fatal(err)
		}
		b, err := strict.Marshal(arg)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(a)
		out.Write(b)
		slog.New(slog.NewTextHandler(&out, nil)).Info("text", "v", arg)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "v", arg)
	}
	fmt.Fprint(&out, v, h)
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary)} {
		if strings.Contains(out.String(), form) {
			t.Errorf("a secret is shown:\n%s", out.String())
		}
	}
	if v.Reveal() != canary || v.String() != "[secret]" || (connect.Value{}).Reveal() != "" {
		t.Error("Reveal does not return the value")
	}
}

func TestOnceRefusesSecrets(t *testing.T) {
	ctx, call := t.Context(), mcptest.NewCall(t, nil)
	_, plain := mcp.Once(ctx, call, "a", func() (connect.Value, error) { return connect.NewSecret(canary), nil })
	_, inside := mcp.Once(ctx, call, "b", func() (*holder, error) { return &holder{}, nil })
	_, other := mcp.Once(ctx, call, "c", func() (map[string]connect.Secret[int], error) { return nil, nil })
	for _, err := range []error{plain, inside, other} {
		if err == nil || !strings.Contains(err.Error(), "is a secret") {
			t.Errorf("Once took a secret: %v", err)
		}
	}
}
