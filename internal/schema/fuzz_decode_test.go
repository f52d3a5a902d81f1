package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed38e7925c/parley/internal/schema"
)

type level int8

type everything struct {
	S   string             `json:"s" minLength:"1" maxLength:"5"`
	P   string             `json:"p,omitempty" pattern:"^[a-z]+$"`
	E   string             `json:"e,omitempty" enum:"x,y,zé"`
	I   int64              `json:"i"`
	U   uint64             `json:"u,omitempty" maximum:"18446744073709551614"`
	L   level              `json:"l,omitempty" minimum:"-3" maximum:"9"`
	NE  int                `json:"ne,omitempty" enum:"1,2,9007199254740993"`
	F   float64            `json:"f,omitempty" minimum:"-1.5" maximum:"1e3"`
	F32 float32            `json:"f32,omitempty"`
	B   bool               `json:"b,omitempty" default:"true"`
	T   time.Time          `json:"t,omitzero"`
	By  []byte             `json:"by,omitempty"`
	A   []int              `json:"a,omitempty" minItems:"1" maxItems:"3" maximum:"7"`
	Fix *[2]string         `json:"fix,omitempty"`
	M   map[string]float64 `json:"m,omitempty"`
	MI  map[int8]bool      `json:"mi,omitempty"`
	Any any                `json:"any,omitempty"`
	Raw json.RawMessage    `json:"raw,omitempty"`
	Q   int                `json:"q,string,omitempty"`
	In  struct {
		X *int    `json:"x"`
		Y []*bool `json:"y,omitempty"`
		Z string  `json:"z" default:"zed"`
	} `json:"in,omitzero"`
	Next []everything `json:"next,omitempty" maxItems:"2"`
	Tree *tree        `json:"tree,omitempty"`
}

// subject is a type under test without its type parameter.
type subject struct {
	name     string
	schema   json.RawMessage
	compiled *schema.Compiled
	rule     *schema.Rule
	decode   func([]byte) (any, error)
	encode   func(any) ([]byte, error)
}

func subjectOf[T any](tb testing.TB) subject {
	tb.Helper()
	typed := schema.For[T]()
	raw, err := typed.Schema()
	if err != nil {
		tb.Fatal(err)
	}
	compiled, err := schema.Compile(raw, nil)
	if err != nil {
		tb.Fatal(err)
	}
	rule, err := typed.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return subject{
		name: reflect.TypeFor[T]().String(), schema: raw, compiled: compiled, rule: rule,
		decode: func(raw []byte) (any, error) {
			v := new(T)
			return v, typed.Decode(raw, v)
		},
		encode: func(v any) ([]byte, error) { return typed.Encode(nil, v.(*T)) },
	}
}

func subjects(tb testing.TB) []subject {
	tb.Helper()
	return []subject{
		subjectOf[booking](tb), subjectOf[tree](tb), subjectOf[everything](tb), subjectOf[map[string][]booking](tb),
		subjectOf[[]*int8](tb), subjectOf[string](tb), subjectOf[struct{}](tb), subjectOf[any](tb),
	}
}

// What our checks know and the library does not: formats, the range of Go types, what types' own methods refuse, and names that occur twice.
var beyondLibrary = map[string]bool{"format": true, "range": true, "value": true, "json": true, "depth": true}

// longFraction matches numbers that float64, which the library compares bounds in, cannot tell from their neighbours.
var longFraction = regexp.MustCompile(`[0-9]{15}[0-9.eE+-]*[.eE]|\.[0-9]{15}|[eE][+-]?[0-9]{3}|[0-9]{20}`)

// differ fails when our checks and the library's disagree about raw.
func differ(t *testing.T, s subject, raw []byte) {
	t.Helper()
	v, err := s.decode(raw)
	if longFraction.Match(raw) {
		return
	}
	if err == nil {
		normal, nerr := s.rule.Normalize(raw)
		if nerr != nil {
			t.Fatalf("%s: decoded but not normalized: %v\n%s", s.name, nerr, raw)
		}
		if lerr := s.compiled.Validate(normal); lerr != nil {
			t.Fatalf("%s: we accept, the library does not: %v\n%s\n%s", s.name, lerr, raw, normal)
		}
		if again, nerr := s.rule.Normalize(normal); nerr != nil || string(again) != string(normal) {
			t.Fatalf("%s: normalizing is not idempotent: %s %v, was %s", s.name, again, nerr, normal)
		}
		roundTrip(t, s, v)
		return
	}
	var ve *schema.ValidationError
	if !errors.As(err, &ve) || len(ve.Problems) == 0 {
		t.Fatalf("%s: %v is no ValidationError", s.name, err)
	}
	for _, p := range ve.Problems {
		if beyondLibrary[p.Keyword] {
			return
		}
	}
	if lerr := s.compiled.Validate(raw); lerr == nil {
		t.Fatalf("%s: the library accepts, we do not: %v\n%s", s.name, err, raw)
	}
}

func roundTrip(t *testing.T, s subject, v any) {
	t.Helper()
	out, err := s.encode(v)
	if err != nil {
		// A zero value that was absent may violate what present values must satisfy; nothing else may.
		var ve *schema.ValidationError
		if !errors.As(err, &ve) {
			t.Fatalf("%s: %v", s.name, err)
		}
		return
	}
	again, err := s.decode(out)
	if err != nil {
		t.Fatalf("%s: what was encoded is refused: %v\n%s", s.name, err, out)
	}
	if _, err := s.encode(again); err != nil {
		t.Fatalf("%s: what was encoded and decoded is refused: %v\n%s", s.name, err, out)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"from":"Bern","to":"Wien","seats":2.0,"mail":null,"tags":["a"]}`, `{"s":"a","i":9007199254740993,"u":18446744073709551615,"any":{"x":[1]}}`,
		`{"s":"a","i":-0,"next":[{"s":"b","i":1e2,"in":{"x":null,"y":[null,true]}}]}`, `{"name":"n","items":[null,{"up":{"name":"","items":[]}}]}`,
		`"x"`, `[1,null,-128]`, `{"a":[]}`, `{}`, `{"s":"\u00e9\ud83d\ude00","i":1,"mi":{"-1":true,"01":false}}`, ` { "s" : "a" , "i" : 1 } `, `{"s":"a","i":1,}`, `{"s":"a" "i":1}`,
		"{\"s\":\"\xff\",\"i\":1}", `{"i":1,"i":2,"s":"a"}`, `{"S":"a","i":1}`,
	} {
		f.Add([]byte(seed))
	}
	all := subjects(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		seed := uint64(len(raw))
		for i, b := range raw {
			seed = seed*31 + uint64(b) + uint64(i)
		}
		for _, s := range all {
			differ(t, s, raw)
			g := generator{rng: rand.New(rand.NewPCG(seed, 1))}
			root, err := schema.ParseValue(s.schema, 100)
			if err != nil {
				t.Fatal(err)
			}
			g.root = root
			var b strings.Builder
			g.value(&b, root, 0)
			differ(t, s, []byte(b.String()))
		}
	})
}

func TestDecodeAgreesWithLibrary(t *testing.T) {
	t.Parallel()
	rounds := 600
	if testing.Short() {
		rounds = 100
	}
	for _, s := range subjects(t) {
		root, err := schema.ParseValue(s.schema, 100)
		if err != nil {
			t.Fatal(err)
		}
		accepted := 0
		for i := range rounds {
			g := generator{rng: rand.New(rand.NewPCG(uint64(i), 7)), root: root}
			var b strings.Builder
			g.value(&b, root, 0)
			differ(t, s, []byte(b.String()))
			if _, err := s.decode([]byte(b.String())); err == nil {
				accepted++
			}
		}
		if accepted == 0 {
			t.Errorf("%s: no value was accepted", s.name)
		}
	}
}

// generator makes values that mostly satisfy a schema.
type generator struct {
	rng  *rand.Rand
	root *schema.Value
}

func (g *generator) odd(n int) bool { return g.rng.IntN(n) == 0 }

func (g *generator) pick(list ...string) string { return list[g.rng.IntN(len(list))] }

func (g *generator) value(b *strings.Builder, s *schema.Value, depth int) {
	if ref := s.Get("$ref"); ref != nil {
		s = g.root
		if name, ok := strings.CutPrefix(ref.Text, "#/$defs/"); ok {
			s = g.root.Get("$defs").Get(name)
		}
	}
	typ := ""
	if t := s.Get("type"); t != nil {
		typ = t.Text
		if len(t.Items) > 0 {
			typ = t.Items[g.rng.IntN(len(t.Items))].Text
		}
	}
	if union := s.Get("anyOf"); union != nil {
		g.value(b, union.Items[g.rng.IntN(len(union.Items))], depth)
		return
	}
	if g.odd(60) || typ == "" || depth > 6 {
		b.WriteString(g.pick("null", "true", "1", "1.5", `"x"`, "[]", "{}", `[1,{"a":null}]`, `{"q":[2]}`, "12345678901234567890"))
		return
	}
	if e := s.Get("enum"); e != nil && !g.odd(12) {
		b.Write(e.Items[g.rng.IntN(len(e.Items))].Raw)
		return
	}
	switch typ {
	case "null", "boolean":
		b.WriteString(map[string]string{"null": "null", "boolean": g.pick("true", "false")}[typ])
	case "integer":
		b.WriteString(g.pick("0", "1", "-1", "2.0", "3e0", "7", "8", "-3", "127", "-128", "128", "9007199254740993", "-0", "0.0", "5", strconv.Itoa(g.rng.IntN(300)-100)))
	case "number":
		b.WriteString(g.pick("0", "-1.5", "-1.51", "1e3", "1000.1", "0.25", "2E+1", "-0.0", "1e-5"))
	case "string":
		g.text(b, s)
	case "array":
		g.array(b, s, depth)
	case "object":
		g.object(b, s, depth)
	}
}

func (g *generator) text(b *strings.Builder, s *schema.Value) {
	switch {
	case s.Get("format") != nil:
		b.WriteString(g.pick(`"2026-07-28T10:00:00Z"`, `"a@b.c"`, `"x"`))
	case s.Get("contentEncoding") != nil:
		b.WriteString(g.pick(`""`, `"AAAA"`, `"AA=="`, `"!"`))
	case s.Get("pattern") != nil:
		b.WriteString(g.pick(`"abc"`, `"12"`, `"-7"`, `"A"`, `""`))
	default:
		b.WriteString(g.pick(`""`, `"ab"`, `"\u0061b"`, `"日本語"`, `"\ud83d\ude00"`, `"a longer text"`, `"\n"`))
	}
}

func (g *generator) array(b *strings.Builder, s *schema.Value, depth int) {
	b.WriteString(g.pick("[", "[ "))
	for i := range g.rng.IntN(4) {
		if i > 0 {
			b.WriteString(g.pick(",", " , "))
		}
		g.value(b, s.Get("items"), depth+1)
	}
	b.WriteString("]")
}

func (g *generator) object(b *strings.Builder, s *schema.Value, depth int) {
	required := map[string]bool{}
	if r := s.Get("required"); r != nil {
		for _, name := range r.Items {
			required[name.Text] = true
		}
	}
	first := true
	member := func(name string, sub *schema.Value) {
		if !first {
			b.WriteString(g.pick(",", "\n,"))
		}
		first = false
		fmt.Fprintf(b, "%q%s", name, g.pick(":", " : "))
		g.value(b, sub, depth+1)
	}
	b.WriteString("{")
	if p := s.Get("properties"); p != nil {
		list := p.Members
		g.rng.Shuffle(min(3, len(list)), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, m := range list {
			if required[m.Name] && !g.odd(40) || !required[m.Name] && g.odd(4) {
				member(m.Name, m.Value)
			}
		}
	}
	if extra := s.Get("additionalProperties"); extra != nil && extra.Kind != 'f' || g.odd(30) {
		if extra == nil || extra.Kind != '{' {
			extra = &schema.Value{Kind: 't'}
		}
		for range g.rng.IntN(3) {
			member(g.pick("k", "1", "-7", "other", "")+strconv.Itoa(g.rng.IntN(1000)), extra)
		}
	}
	b.WriteString("}")
}
