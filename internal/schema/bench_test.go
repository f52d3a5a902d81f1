package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed38e7925c/parley/internal/schema"
)

type echo struct {
	Text  string   `json:"text"`
	Count int      `json:"count"`
	Tags  []string `json:"tags"`
}

func echoJSON(size int) []byte {
	const rest = `{"text":"","count":42,"tags":["alpha","beta","gamma"]}`
	return []byte(`{"text":"` + strings.Repeat("x", size-len(rest)) + `","count":42,"tags":["alpha","beta","gamma"]}`)
}

func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		raw := echoJSON(size)
		b.Run(fmt.Sprintf("plain/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				var v echo
				if err := jsonv2.Unmarshal(raw, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("typed/%d", size), func(b *testing.B) {
			typed := schema.For[echo]()
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				var v echo
				if err := typed.Decode(raw, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeConstrained(b *testing.B) {
	typed := schema.For[booking]()
	raw := []byte(`{"from":"Bern","to":"Wien","class":"first","seats":2,"tags":["a"],"mail":"a@b.example"}`)
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v booking
			if err := jsonv2.Unmarshal(raw, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("typed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v booking
			if err := typed.Decode(raw, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("typed/default", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v booking
			if err := typed.Decode([]byte(`{"from":"Bern","to":"Wien"}`), &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	v := echo{Text: strings.Repeat("x", 50), Count: 42, Tags: []string{"alpha", "beta", "gamma"}}
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := jsonv2.Marshal(&v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("typed", func(b *testing.B) {
		typed := schema.For[echo]()
		buf := make([]byte, 0, 1024)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := typed.Encode(buf, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// structOf makes a distinct type for each n.
func structOf(n int) reflect.Type {
	str, num := reflect.TypeFor[string](), reflect.TypeFor[int]()
	return reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: str, Tag: reflect.StructTag(fmt.Sprintf(`json:"a%d" jsonschema:"the first"`, n))},
		{Name: "B", Type: num, Tag: `json:"b,omitempty"`},
		{Name: "C", Type: reflect.SliceOf(str), Tag: `json:"c,omitempty"`},
		{Name: "D", Type: reflect.TypeFor[*bool](), Tag: `json:"d,omitempty"`},
		{Name: "E", Type: reflect.TypeFor[map[string]string](), Tag: `json:"e,omitempty"`},
	})
}

func BenchmarkInfer1000(b *testing.B) {
	n := 0
	b.Run("typed", func(b *testing.B) {
		for b.Loop() {
			for range 1000 {
				n++
				if _, err := schema.SchemaOf(structOf(n)); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			for range 1000 {
				n++
				s, err := jsonschema.ForType(structOf(n), nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := json.Marshal(s); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkValidateRaw(b *testing.B) {
	c, err := schema.Compile([]byte(`{"type":"object","properties":{"text":{"type":"string"},"count":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}},"required":["text"],"additionalProperties":false}`), nil)
	if err != nil {
		b.Fatal(err)
	}
	raw := echoJSON(100)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Validate(raw); err != nil {
			b.Fatal(err)
		}
	}
}
