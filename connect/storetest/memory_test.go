package storetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/connect/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) connect.Store {
		m := storetest.NewMemory()
		t.Cleanup(func() { _ = m.Close() })
		return m
	})
}

func TestMemoryClosed(t *testing.T) {
	m := storetest.NewMemory()
	ended := make(chan error)
	go func() { ended <- m.Watch(t.Context(), func(string, string) { _ = m.Close() }) }()
	if err := <-ended; err == nil {
		t.Error("Watch of a closed store returned nil")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.Get(t.Context(), "k", "1"); err == nil {
		t.Error("a closed store answers")
	}
}

func TestMemoryExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storetest.NewMemory()
		defer m.Close()
		if _, err := m.Insert(t.Context(), &connect.Row{Kind: "k", ID: "1", Expires: time.Now().Add(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - time.Microsecond)
		if _, err := m.Get(t.Context(), "k", "1"); err != nil {
			t.Errorf("before its time: %v", err)
		}
		time.Sleep(time.Microsecond)
		if _, err := m.Get(t.Context(), "k", "1"); err == nil {
			t.Error("an expired row is there")
		}
	})
}
