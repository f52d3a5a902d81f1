package idp

import (
	"strconv"
	"testing"
	"time"
)

func TestTableIsBounded(t *testing.T) {
	var tab table[int]
	now := time.Now()
	for i := range maxEntries + 5 {
		tab.put(strconv.Itoa(i), i, now.Add(time.Minute))
	}
	if len(tab.rows) != maxEntries {
		t.Errorf("%d rows", len(tab.rows))
	}
	if _, ok := tab.get(now, "4"); ok {
		t.Error("the oldest stayed")
	}
	if v, ok := tab.take(now, "5"); !ok || v != 5 {
		t.Error("a younger one is gone")
	}
	if _, ok := tab.take(now, "5"); ok {
		t.Error("taken twice")
	}
	if _, ok := tab.get(now.Add(time.Minute), "6"); ok {
		t.Error("a row outlived its time")
	}
}

// What was seen is never forgotten before its time, however much is shown: something new is refused instead.
func TestOnceForgetsNothingEarly(t *testing.T) {
	o := once{}
	now := time.Now()
	for i := range maxEntries {
		if !o.first(now, strconv.Itoa(i), now.Add(time.Minute)) {
			t.Fatal("new, and refused")
		}
	}
	if o.first(now, "more", now.Add(time.Minute)) {
		t.Error("taken beyond the bound")
	}
	if o.first(now, "0", now.Add(time.Minute)) {
		t.Error("seen, and taken again")
	}
	later := now.Add(time.Minute)
	if !o.first(later, "more", later.Add(time.Minute)) || len(o) != 1 {
		t.Errorf("the old ones stay: %d", len(o))
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []*Options{
		nil, {Issuer: "x"}, {Issuer: "ftp://a.example"}, {Issuer: "https://a.example/"}, {Issuer: "https://a.example/t/"}, {Issuer: "https://a.example?x"}, {Issuer: "https://u@a.example"},
		{Issuer: "https://a.example", Users: []User{{}}}, {Issuer: "https://a.example", Users: []User{{Subject: "a"}, {Subject: "a"}}},
		{Issuer: "https://a.example", Algorithm: "HS256"}, {Issuer: "https://a.example", Clients: []Client{{}}}, {Issuer: "https://a.example", Clients: []Client{{ID: "a", AuthMethod: AuthBasic}}},
		{Issuer: "https://a.example", Trust: []Trust{{}}}, {Issuer: "https://a.example", AuthMethods: []string{AuthNone}, Clients: []Client{{ID: "a", Secret: "s"}}},
	} {
		if p, err := New(o); err == nil {
			t.Errorf("%+v: %v", o, p.Issuer())
		}
	}
	p, err := New(&Options{Issuer: "https://a.example/t"})
	if err != nil || p.cookie(&session{}).Name[:7] != "__Host-" || !p.cookie(&session{}).Secure {
		t.Errorf("error %v", err)
	}
}
