package connect_test

import (
	"testing"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/storetest"
)

// BenchmarkToken is a token that is known: what a grant costs the calls that need no person.
func BenchmarkToken(b *testing.B) {
	b.Run("hit", func(b *testing.B) { benchmarkToken(b, func() {}) })
}

func benchmarkToken(b *testing.B, before func()) {
	desk, err := connect.Open(b.Context(), &connect.Options{
		ServerName: "Travel desk", BaseURL: "https://travel.test/connect/", Store: storetest.NewMemory(),
		Keys: connect.KeysFromFile(b.TempDir() + "/keys"), Identity: connect.CookieIdentity{},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer desk.Close()
	g := desk.OAuth(&connect.Provider{Name: "rail", Title: "Rail AG", AuthURL: "https://rail.test/a", TokenURL: "https://rail.test/t", ClientID: "desk", Scopes: []string{"seats.read"}})
	if err := g.Give(b.Context(), person("alice"), "access", "refresh", 0); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		before()
		if token, err := g.TokenOf(b.Context(), person("alice"), "seats.read"); err != nil || token == nil {
			b.Fatal(token, err)
		}
	}
}
