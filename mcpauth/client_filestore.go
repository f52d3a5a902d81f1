package mcpauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed38e7925c/parley/internal/filelock"
)

const (
	firstLockPause  = time.Millisecond // between attempts at a lock that somebody holds; growing
	lastLockPause   = 20 * time.Millisecond
	maxStoredRecord = 1 << 20
)

// NewFileStore returns a [Store] in a folder of its own, which is made if it does not exist, readable by its owner only. Each record is a file,
// replaced in one step, so that a process that dies leaves the old one or the new one. Updates hold a lock of the operating system,
// which ends with the process that holds it: processes that share the folder take turns. It must be on a file system with such locks.
//
// A file that is not one of the store's, or that others may read, is never used or overwritten: what is damaged is renamed, with an error
// that says to what, and the next use goes on without it.
func NewFileStore(dir string) (Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mcpauth: NewFileStore: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("mcpauth: NewFileStore: %w", err)
	}
	if !info.IsDir() || exposed(info) {
		return nil, fmt.Errorf("mcpauth: NewFileStore: %s must be a folder that nobody else can use (it is %v, expected drwx------)", dir, info.Mode())
	}
	return &fileStore{dir: dir}, nil
}

// exposed reports whether others than the owner have any right. Windows keeps rights elsewhere, where a user's folders are private.
func exposed(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

type fileStore struct{ dir string }

// A storedFile is the content of a file. The key shows that it is what its name says.
type storedFile struct {
	Key   string         `json:"key"`
	Value jsontext.Value `json:"value"`
}

func (s *fileStore) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

// errDamaged says that a file is not what it should be.
var errDamaged = errors.New("the file is damaged")

func (s *fileStore) read(key string) ([]byte, error) {
	f, err := s.open(s.path(key))
	if f == nil || err != nil {
		return nil, err
	}
	if f.Key != key || len(f.Value) == 0 {
		return nil, fmt.Errorf("%w: %s holds %q, expected %q", errDamaged, s.path(key), clip(f.Key), key)
	}
	return f.Value, nil
}

// Keys implements [Lister]. Damaged files have none.
func (s *fileStore) Keys(context.Context) ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, e := range entries {
		path := filepath.Join(s.dir, e.Name())
		if filepath.Ext(path) != ".json" {
			continue
		}
		f, err := s.open(path)
		switch {
		case errors.Is(err, errDamaged):
		case err != nil:
			return nil, err
		case f != nil && s.path(f.Key) == path:
			keys = append(keys, f.Key)
		}
	}
	return keys, nil
}

// open reads a file; nil if there is none.
func (s *fileStore) open(path string) (*storedFile, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || exposed(info):
		return nil, fmt.Errorf("%s must be a file that nobody else can read (it is %v, expected -rw-------); see who has changed it", path, info.Mode())
	case info.Size() > maxStoredRecord:
		return nil, fmt.Errorf("%w: %s has %d bytes", errDamaged, path, info.Size())
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var f storedFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errDamaged, path, err)
	}
	return &f, nil
}

// Load implements [Store]. It takes no lock unless a file is damaged.
func (s *fileStore) Load(ctx context.Context, key string) ([]byte, error) {
	data, err := s.read(key)
	if !errors.Is(err, errDamaged) {
		return data, err
	}
	unlock, err := s.lock(ctx, key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.readOrSetAside(key)
}

// readOrSetAside renames a damaged file. The lock is held.
func (s *fileStore) readOrSetAside(key string) ([]byte, error) {
	data, err := s.read(key)
	if !errors.Is(err, errDamaged) {
		return data, err
	}
	aside := s.path(key) + ".damaged-" + newID()[:8]
	if moved := os.Rename(s.path(key), aside); moved != nil {
		return nil, errors.Join(err, moved)
	}
	return nil, fmt.Errorf("%w; it is now %s, and what was in it is not used: log in anew", err, aside)
}

// lock waits for the lock of a key.
func (s *fileStore) lock(ctx context.Context, key string) (unlock func(), err error) {
	f, err := os.OpenFile(s.path(key)+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for pause := firstLockPause; ; pause = min(2*pause, lastLockPause) {
		ok, err := filelock.Try(f)
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
		}
		if ok {
			return func() { _ = f.Close() }, nil // which ends the lock
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("waiting for the lock of %s: %w", f.Name(), context.Cause(ctx))
		}
	}
}

// Update implements [Store].
func (s *fileStore) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	unlock, err := s.lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	old, err := s.readOrSetAside(key)
	if err != nil {
		return err
	}
	data, err := change(old)
	if err != nil {
		return err
	}
	if data == nil {
		if err := os.Remove(s.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	content, err := json.Marshal(&storedFile{Key: key, Value: data})
	if err != nil {
		return err
	}
	return s.replace(s.path(key), content)
}

// replace writes a file in one step.
func (s *fileStore) replace(path string, content []byte) (err error) {
	f, err := os.CreateTemp(s.dir, "new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
