package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/seed38e7925c/parley/mcpauth"
	"github.com/seed38e7925c/parley/mcpauth/keyring"
)

// A loginStore keeps logins in the keyring, in files, or, with auto, each where it is already, and new ones in the keyring where there is one.
// It makes no folder and asks no keyring before there is something to keep or to find: most servers demand no login.
type loginStore struct {
	mode string
	dir  string
	ui   *ui

	mu     sync.Mutex
	opened map[string]mcpauth.Store // by kind
	told   bool                     // that there is no keyring
}

const (
	kindKeyring = "keyring"
	kindFile    = "file"
)

func newLoginStore(mode, dir string, u *ui) *loginStore {
	return &loginStore{mode: mode, dir: dir, ui: u, opened: map[string]mcpauth.Store{}}
}

// kinds are where to look, in order.
func (s *loginStore) kinds() []string {
	if s.mode == "auto" {
		return []string{kindKeyring, kindFile}
	}
	return []string{s.mode}
}

// place is the folder of a kind.
func (s *loginStore) place(kind string) string { return filepath.Join(s.dir, kind) }

// open opens a kind, once.
func (s *loginStore) open(ctx context.Context, kind string) (mcpauth.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.opened[kind]; st != nil {
		return st, nil
	}
	var st mcpauth.Store
	var err error
	if kind == kindKeyring {
		st, err = keyring.New(ctx, s.place(kind), nil)
	} else {
		st, err = mcpauth.NewFileStore(s.place(kind))
	}
	if err != nil {
		return nil, err
	}
	s.opened[kind] = st
	return st, nil
}

// has reports whether a kind has a record, without asking a keyring.
func (s *loginStore) has(ctx context.Context, kind, key string) (bool, error) {
	if _, err := os.Stat(s.place(kind)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	files, err := mcpauth.NewFileStore(s.place(kind))
	if err != nil {
		return false, err
	}
	data, err := files.Load(ctx, key)
	return data != nil, err
}

// find returns the store that has a record; nil if none has.
func (s *loginStore) find(ctx context.Context, key string) (mcpauth.Store, error) {
	for _, kind := range s.kinds() {
		switch found, err := s.has(ctx, kind, key); {
		case err != nil:
			return nil, err
		case found:
			st, err := s.open(ctx, kind)
			if errors.Is(err, keyring.ErrUnavailable) {
				err = fmt.Errorf("the login is kept with the keyring, which cannot be used here; to log in without it use --tokens file: %w", err)
			}
			return st, err
		}
	}
	return nil, nil
}

// Load implements [mcpauth.Store].
func (s *loginStore) Load(ctx context.Context, key string) ([]byte, error) {
	st, err := s.find(ctx, key)
	if st == nil || err != nil {
		return nil, err
	}
	return st.Load(ctx, key)
}

// Update implements [mcpauth.Store].
func (s *loginStore) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	st, err := s.find(ctx, key)
	if err == nil && st == nil {
		st, err = s.fresh(ctx)
	}
	if err != nil {
		return err
	}
	return st.Update(ctx, key, change)
}

// fresh is the store for new records.
func (s *loginStore) fresh(ctx context.Context) (mcpauth.Store, error) {
	st, err := s.open(ctx, s.kinds()[0])
	if s.mode != "auto" || !errors.Is(err, keyring.ErrUnavailable) {
		return st, err
	}
	s.mu.Lock()
	told := s.told
	s.told = true
	s.mu.Unlock()
	if !told {
		s.ui.line(wrapped(fmt.Sprintf("parley: there is no keyring here; the login is kept in files that only you can read, in %s (--tokens file does so without this note)",
			s.place(kindFile)), max(columns(s.ui.w)-len("  "), 0)))
	}
	return s.open(ctx, kindFile)
}

// Keys implements [mcpauth.Lister]. It asks no keyring: names are no secret.
func (s *loginStore) Keys(ctx context.Context) ([]string, error) {
	var all []string
	for _, kind := range s.kinds() {
		keys, err := s.keysOf(ctx, kind)
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	return all, nil
}

func (s *loginStore) keysOf(ctx context.Context, kind string) ([]string, error) {
	if _, err := os.Stat(s.place(kind)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	files, err := mcpauth.NewFileStore(s.place(kind))
	if err != nil {
		return nil, err
	}
	return files.(mcpauth.Lister).Keys(ctx)
}

// where says in which kind of place the login at a server is kept. Names of records end with the server.
func (s *loginStore) where(ctx context.Context, server string) string {
	for _, kind := range s.kinds() {
		keys, err := s.keysOf(ctx, kind)
		if err != nil || !slices.ContainsFunc(keys, func(key string) bool { return strings.HasSuffix(key, " "+server) }) {
			continue
		}
		if kind == kindKeyring {
			return "files in " + s.place(kind) + ", sealed with a key in the keyring"
		}
		return "files in " + s.place(kind)
	}
	return ""
}
