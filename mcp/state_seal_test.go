package mcp_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/mcp"
)

func alice() *mcp.Principal {
	return &mcp.Principal{Issuer: "https://issuer.example", Subject: "alice", ClientID: "host"}
}

func TestSealOpens(t *testing.T) {
	ring := mcp.NewKeyRing()
	for _, plain := range []string{"", "x", strings.Repeat("long", 20_000)} {
		b := &mcp.Binding{Purpose: "p", Audience: "a", Principal: alice(), Parts: []string{"m", ""}}
		sealed, err := ring.Seal(b, []byte(plain))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ring.Open(&mcp.Binding{Purpose: "p", Audience: "a", Principal: alice(), Parts: []string{"m", ""}}, sealed)
		if err != nil || string(got) != plain {
			t.Fatalf("Open gave %d bytes, %v", len(got), err)
		}
		if again, _ := ring.Seal(b, []byte(plain)); again == sealed {
			t.Error("two messages look the same")
		}
	}
}

func TestSealIsBound(t *testing.T) {
	ring := mcp.NewKeyRing()
	base := mcp.Binding{Purpose: "p", Audience: "a", Principal: alice(), Parts: []string{"tools/call", "book"}}
	sealed, err := ring.Seal(&base, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	anonymous := base
	anonymous.Principal = nil
	openSealed, err := ring.Seal(&anonymous, []byte("anonymous"))
	if err != nil {
		t.Fatal(err)
	}
	who := func(issuer, subject, client string) *mcp.Principal {
		return &mcp.Principal{Issuer: issuer, Subject: subject, ClientID: client}
	}
	for name, change := range map[string]func(b *mcp.Binding){
		"purpose":             func(b *mcp.Binding) { b.Purpose = "q" },
		"audience":            func(b *mcp.Binding) { b.Audience = "b" },
		"purpose to audience": func(b *mcp.Binding) { b.Purpose, b.Audience = "pa", "" },
		"anonymous":           func(b *mcp.Binding) { b.Principal = nil },
		"empty principal":     func(b *mcp.Binding) { b.Principal = &mcp.Principal{} },
		"subject":             func(b *mcp.Binding) { b.Principal = who("https://issuer.example", "bob", "host") },
		"issuer":              func(b *mcp.Binding) { b.Principal = who("https://other.example", "alice", "host") },
		"client":              func(b *mcp.Binding) { b.Principal = who("https://issuer.example", "alice", "other") },
		"subject to client":   func(b *mcp.Binding) { b.Principal = who("https://issuer.example", "alicehost", "") },
		"parts joined":        func(b *mcp.Binding) { b.Parts = []string{"tools/callbook"} },
		"parts shifted":       func(b *mcp.Binding) { b.Parts = []string{"tools/cal", "lbook"} },
		"part more":           func(b *mcp.Binding) { b.Parts = []string{"tools/call", "book", ""} },
		"part less":           func(b *mcp.Binding) { b.Parts = b.Parts[:1] },
	} {
		b := base
		change(&b)
		if got, err := ring.Open(&b, sealed); err == nil {
			t.Errorf("%s: opened %q", name, got)
		}
	}
	if _, err := ring.Open(&base, openSealed); err == nil {
		t.Error("a principal opened what was sealed for anonymous callers")
	}
}

func TestSealRefusesEveryAlteration(t *testing.T) {
	ring := mcp.NewKeyRing()
	b := &mcp.Binding{Purpose: "p"}
	sealed, err := ring.Seal(b, []byte("some state"))
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := base64.RawURLEncoding.DecodeString(sealed)
	for i := range raw {
		for bit := range 8 {
			altered := bytes.Clone(raw)
			altered[i] ^= 1 << bit
			if _, err := ring.Open(b, base64.RawURLEncoding.EncodeToString(altered)); err == nil {
				t.Fatalf("bit %d of byte %d flipped, and it opens", bit, i)
			}
		}
	}
	for i := range len(sealed) {
		if _, err := ring.Open(b, sealed[:i]); err == nil {
			t.Fatalf("opens when cut to %d characters", i)
		}
	}
	for _, text := range []string{
		sealed + "A", sealed + "=", "A" + sealed, sealed + "\n", sealed[:20] + "\r\n" + sealed[20:], sealed + "-TAMPERED", " " + sealed, sealed + sealed,
		strings.ReplaceAll(strings.ReplaceAll(sealed, "-", "+"), "_", "/") + "+", "{}", "null", "é",
	} {
		if _, err := ring.Open(b, text); err == nil {
			t.Errorf("%q opens", text)
		}
	}
}

func TestKeyRotation(t *testing.T) {
	before, after, stranger := mcp.NewKey(), mcp.NewKey(), mcp.NewKey()
	b := &mcp.Binding{Purpose: "p"}
	ring := func(keys ...mcp.Key) *mcp.KeyRing {
		r, err := mcp.KeyRingOf(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	steps := []*mcp.KeyRing{ring(before), ring(before, after), ring(after, before), ring(after)}
	for i, from := range steps {
		sealed, err := from.Seal(b, []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		for j, to := range steps {
			_, err := to.Open(b, sealed)
			if neighbours := i-j <= 1 && j-i <= 1; neighbours && err != nil {
				t.Errorf("sealed at step %d, not opened at step %d: %v", i, j, err)
			}
		}
		if _, err := ring(stranger).Open(b, sealed); err == nil || !strings.Contains(err.Error(), "not on the ring") {
			t.Errorf("a stranger's ring: %v", err)
		}
	}
	live := ring(before)
	sealed, _ := live.Seal(b, []byte("x"))
	if err := live.Replace(after, before); err != nil {
		t.Fatal(err)
	}
	if _, err := live.Open(b, sealed); err != nil {
		t.Errorf("after Replace: %v", err)
	}
	if err := live.ReplaceText([]byte("rubbish")); err == nil {
		t.Error("rubbish replaces keys")
	}
	if _, err := live.Open(b, sealed); err != nil {
		t.Errorf("after a failed ReplaceText: %v", err)
	}
	if err := live.ReplaceText(ring(after).Text()); err != nil {
		t.Fatal(err)
	}
	if _, err := live.Open(b, sealed); err == nil {
		t.Error("a dropped key still opens")
	}
}

func TestKeyText(t *testing.T) {
	one, two := mcp.NewKey(), mcp.NewKey()
	ring, err := mcp.ParseKeyRing([]byte("# keys\n\n  " + one.Text() + "  \n" + two.Text() + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := one.Text() + "\n" + two.Text() + "\n"; string(ring.Text()) != want {
		t.Error("the text of a ring does not read back")
	}
	if want := "key ring [" + one.ID() + " " + two.ID() + "]"; ring.String() != want {
		t.Errorf("String is %s", ring)
	}
	same := make([]byte, 32)
	for name, text := range map[string]string{
		"empty": "# nothing\n", "no prefix": one.Text()[5:], "short": one.Text()[:40], "not base64": "parley-key-1:" + strings.Repeat("!", 43),
		"twice": one.Text() + "\n" + one.Text(), "zero": "parley-key-1:" + base64.RawURLEncoding.EncodeToString(same),
		"too many": strings.Repeat("x", 70_000),
	} {
		if _, err := mcp.ParseKeyRing([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		} else if secret := strings.TrimPrefix(one.Text(), "parley-key-1:"); strings.Contains(err.Error(), secret[:20]) {
			t.Errorf("%s: the error quotes the key: %v", name, err)
		}
	}
	if _, err := mcp.KeyFromBytes(make([]byte, 16)); err == nil {
		t.Error("16 bytes make a key")
	}
	if _, err := mcp.KeyRingOf(mcp.Key{}); err == nil {
		t.Error("an empty key is accepted")
	}
	many := make([]mcp.Key, 17)
	for i := range many {
		many[i] = mcp.NewKey()
	}
	if _, err := mcp.KeyRingOf(many...); err == nil {
		t.Error("17 keys are accepted")
	}
	if _, err := new(mcp.KeyRing).Seal(&mcp.Binding{}, nil); err == nil {
		t.Error("a ring without keys seals")
	}
}

func TestKeysDoNotPrint(t *testing.T) {
	key := mcp.NewKey()
	ring, err := mcp.KeyRingOf(key)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("x", "key", key, "keys", ring)
	fmt.Fprintf(&log, "%v %+v %#v %s %q %x %d", key, key, key, key, key, key, key)
	fmt.Fprintf(&log, "%v %s %+v", ring, ring, struct{ K mcp.Key }{key})
	raw, _ := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(key.Text(), "parley-key-1:"))
	for _, form := range []string{key.Text()[15:30], fmt.Sprintf("%x", raw[:8]), fmt.Sprintf("%d %d %d", raw[0], raw[1], raw[2])} {
		if strings.Contains(log.String(), form) {
			t.Errorf("the key is in the log: %s", log.String())
		}
	}
	if !strings.Contains(log.String(), key.ID()) {
		t.Errorf("the id of the key is not in the log: %s", log.String())
	}
}

func TestKeyRingFromFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys")
	key := mcp.NewKey()
	if err := os.WriteFile(name, []byte(key.Text()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := mcp.KeyRingFromFile(name); err != nil {
		t.Error(err)
	}
	if os.PathSeparator == '/' {
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := mcp.KeyRingFromFile(name); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a file open to all: %v", err)
		}
	}
	if err := os.WriteFile(name+"2", []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{name + "2", name + "3"} {
		if _, err := mcp.KeyRingFromFile(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// FuzzOpen: nothing that was not sealed opens, and nothing makes Open panic.
func FuzzOpen(f *testing.F) {
	ring := mcp.NewKeyRing()
	b := &mcp.Binding{Purpose: "p", Audience: "a"}
	sealed, err := ring.Seal(b, []byte("state"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add("")
	f.Add(sealed[:80])
	f.Add(sealed + "\n")
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(sealed) - 1
	f.Add(sealed[:last] + alphabet[strings.IndexByte(alphabet, sealed[last])^1:][:1]) // the same bytes, with a bit behind them
	f.Add(strings.Repeat("A", 60))
	f.Fuzz(func(t *testing.T, text string) {
		if plain, err := ring.Open(b, text); err == nil && text != sealed {
			t.Fatalf("%q opens to %q", text, plain)
		}
	})
}
