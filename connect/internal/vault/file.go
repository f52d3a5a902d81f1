package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/seed38e7925c/parley/internal/filelock"
)

// maxFile bounds a key file: a ring of thousands of keys is smaller.
const maxFile = 1 << 20

// lockTimeout bounds the wait for another process that creates or changes the file.
const lockTimeout = 10 * time.Second

// A file keeps a keyset, in Tink's JSON.
type file struct {
	path string
	kms  tink.AEAD // encrypts the keyset; nil: it is in the clear
}

// A stamp tells two contents of a file apart.
type stamp struct {
	size     int64
	modified int64
	inode    uint64
}

// OpenFile opens the ring in a file, and creates it with one key if there is none; of processes that start at once one creates. Only
// its owner may be able to read the file. With a KMS the keyset in the file is encrypted by it.
func OpenFile(path string, kms tink.AEAD) (*Ring, error) {
	if path == "" {
		return nil, errors.New("the key file has no name")
	}
	f := &file{path: path, kms: kms}
	k, err := f.read()
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.create(); err == nil {
			k, err = f.read()
		}
	}
	if err != nil {
		return nil, err
	}
	return &Ring{file: f, keys: k, checked: time.Now()}, nil
}

func (f *file) create() error {
	return f.locked(context.Background(), func() error {
		if _, err := os.Lstat(f.path); !errors.Is(err, fs.ErrNotExist) {
			return err // another process was first
		}
		h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
		if err != nil {
			return err
		}
		return f.write(h)
	})
}

// stamp is that of the file now.
func (f *file) stamp() (stamp, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return stamp{}, fmt.Errorf("the key file: %w", err)
	}
	return stampOf(info), nil
}

func stampOf(info fs.FileInfo) stamp {
	return stamp{size: info.Size(), modified: info.ModTime().UnixNano(), inode: inode(info)}
}

func (f *file) read() (*keys, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("the key file: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("the key file: %w", err)
	}
	if err := f.permitted(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the key file: %w", err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("the key file %s is larger than a key file can be (%d bytes)", f.path, maxFile)
	}
	h, err := f.decode(data)
	if err != nil {
		return nil, err
	}
	k, err := keysOf(h)
	if err != nil {
		return nil, fmt.Errorf("the key file %s: %w", f.path, err)
	}
	k.stamp = stampOf(info)
	return k, nil
}

// permitted refuses what others can read or change.
func (f *file) permitted(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return fmt.Errorf("the key file %s is not a regular file", f.path)
	case runtime.GOOS != "windows" && mode.Perm()&0o077 != 0:
		return fmt.Errorf("the key file %s has mode %04o, so that others can read or change it; make it private (chmod 600 %s), and if others "+
			"may have read it, rotate the keys", f.path, mode.Perm(), f.path)
	}
	return nil
}

func (f *file) decode(data []byte) (*keyset.Handle, error) {
	encrypted := bytes.Contains(data, []byte(`"encryptedKeyset"`))
	var h *keyset.Handle
	var err error
	switch {
	case encrypted && f.kms == nil:
		return nil, fmt.Errorf("the key file %s is encrypted by a KMS: open it with that", f.path)
	case !encrypted && f.kms != nil:
		return nil, fmt.Errorf("the key file %s is not encrypted, but a KMS is given: name a new file to begin with, or leave the KMS out", f.path)
	case encrypted:
		h, err = keyset.Read(keyset.NewJSONReader(bytes.NewReader(data)), f.kms)
	default:
		h, err = insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(data)))
	}
	if err != nil {
		return nil, fmt.Errorf("the key file %s holds no keyset that can be read: %w", f.path, err)
	}
	return h, nil
}

// write replaces the file in one step. The lock is held.
func (f *file) write(h *keyset.Handle) (err error) {
	var buf bytes.Buffer
	if f.kms != nil {
		err = h.Write(keyset.NewJSONWriter(&buf), f.kms)
	} else {
		err = insecurecleartextkeyset.Write(h, keyset.NewJSONWriter(&buf))
	}
	if err != nil {
		return fmt.Errorf("the keyset cannot be written: %w", err)
	}
	path, err := f.target()
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("the key file %s: %w", f.path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("the key file %s: %w", f.path, err), os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(buf.Bytes())
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// target is where the file is, should its path be a link.
func (f *file) target() (string, error) {
	path, err := filepath.EvalSymlinks(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.path, nil
	}
	return path, err
}

// locked runs fn while no other process creates or changes the file.
func (f *file) locked(ctx context.Context, fn func() error) error {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	path, err := f.target()
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("the key file's lock: %w", err)
	}
	defer lock.Close()
	for {
		ok, err := filelock.Try(lock)
		if err != nil {
			return fmt.Errorf("the key file's lock: %w", err)
		}
		if ok {
			return fn()
		}
		retry := time.NewTimer(10 * time.Millisecond)
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return fmt.Errorf("the key file is being changed by another process (%s.lock): %w", path, ctx.Err())
		}
	}
}
