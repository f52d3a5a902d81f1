package schema_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/schema"
	"github.com/seed38e7925c/parley/internal/spectest"
)

// The schemas of all revisions compile within the default limits, and the published examples satisfy the definitions that they are named for.
func TestPublishedSchemas(t *testing.T) {
	t.Parallel()
	dir := spectest.Dir(t)
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		raw, err := os.ReadFile(filepath.Join(dir, revision, "schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schema.Compile(raw, nil); err != nil {
			t.Errorf("%s: %v", revision, err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "2026-07-28", "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob(filepath.Join(dir, "2026-07-28", "examples", "*", "*.json"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	names := map[string]bool{}
	for _, file := range examples {
		names[filepath.Base(filepath.Dir(file))] = true
	}
	var properties strings.Builder
	for name := range names {
		fmt.Fprintf(&properties, `,"%s":{"$ref":"#/$defs/%[1]s"}`, name)
	}
	c, err := schema.Compile([]byte(strings.Replace(string(raw), "{", `{"properties":{`+properties.String()[1:]+`},`, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range examples {
		example, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Validate([]byte(`{"` + filepath.Base(filepath.Dir(file)) + `":` + string(example) + `}`)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The schema that the conformance suite expects to come through verbatim is one that can also be validated with.
func TestConformanceSchema(t *testing.T) {
	t.Parallel()
	const raw = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
		`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
		`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`
	c := compile(t, raw)
	if string(c.Raw()) != raw {
		t.Error("the schema is not kept verbatim")
	}
	for in, ok := range map[string]bool{
		`{"contactMethod":"phone","phone":"1"}`: true, `{"contactMethod":"phone","email":"a"}`: false, `{"email":"a","address":{"street":"s"}}`: true,
		`{"email":"a","address":{"street":5}}`: false, `{"email":"a","x":1}`: false, `{}`: false,
	} {
		if err := c.Validate([]byte(in)); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestTooManyValues(t *testing.T) {
	t.Parallel()
	err := compile(t, `true`).Validate([]byte("[" + strings.Repeat("0,", 1_000_000) + "0]"))
	var ve *schema.ValidationError
	if !errors.As(err, &ve) || !strings.Contains(err.Error(), "more than 1000000 values") {
		t.Errorf("got %v", err)
	}
}
