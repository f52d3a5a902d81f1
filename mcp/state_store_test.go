package mcp_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed38e7925c/parley/mcp"
)

func TestMemoryStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := mcp.NewMemoryStore(0)
		soon, later := time.Now().Add(time.Minute), time.Now().Add(time.Hour)
		if _, created, err := s.Create(ctx, "a", []byte("1"), soon); !created || err != nil {
			t.Fatalf("Create: %v, %v", created, err)
		}
		if v, created, err := s.Create(ctx, "a", []byte("2"), later); created || err != nil || string(v) != "1" {
			t.Fatalf("second Create: %q, %v, %v", v, created, err)
		}
		if err := s.Set(ctx, "b", []byte("3"), later); err != nil {
			t.Fatal(err)
		}
		if v, ok, _ := s.Get(ctx, "b"); !ok || string(v) != "3" {
			t.Errorf("Get: %q, %v", v, ok)
		}
		time.Sleep(time.Minute)
		if _, ok, _ := s.Get(ctx, "a"); ok {
			t.Error("an entry outlives its expiry")
		}
		if _, created, _ := s.Create(ctx, "a", []byte("4"), later); !created {
			t.Error("an expired entry is in the way")
		}
		if err := s.Set(ctx, "a", []byte("5"), later); err != nil {
			t.Fatal(err)
		}
		if v, _, _ := s.Get(ctx, "a"); string(v) != "5" {
			t.Errorf("after Set: %q", v)
		}
		_, _ = s.Delete(ctx, "a"), s.Delete(ctx, "a")
		if _, ok, _ := s.Get(ctx, "a"); ok || s.Len() != 1 {
			t.Errorf("after Delete: %v, %d entries", ok, s.Len())
		}
	})
}

func TestMemoryStoreIsBounded(t *testing.T) {
	ctx := context.Background()
	s := mcp.NewMemoryStore(1000)
	later := time.Now().Add(time.Hour)
	if err := s.Set(ctx, "a", make([]byte, 600), later); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(ctx, "b", make([]byte, 600), later); err == nil {
		t.Error("more than its bound fits")
	}
	if _, _, err := s.Create(ctx, "b", make([]byte, 600), later); err == nil {
		t.Error("more than its bound is created")
	}
	if err := s.Set(ctx, "a", make([]byte, 700), later); err != nil {
		t.Errorf("replacing what is there: %v", err)
	}
	if _, ok, _ := s.Get(ctx, "a"); !ok {
		t.Error("an entry was dropped before its time")
	}
}

func TestMemoryStoreCreatesOnce(t *testing.T) {
	s := mcp.NewMemoryStore(0)
	var created atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, ok, _ := s.Create(context.Background(), "k", nil, time.Now().Add(time.Hour)); ok {
				created.Add(1)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 {
		t.Errorf("created %d times", created.Load())
	}
}
