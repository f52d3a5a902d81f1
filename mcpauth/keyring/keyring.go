// Package keyring keeps credentials of clients with the keyring of the system: Keychain on macOS, Credential Manager on Windows, the Secret
// Service (GNOME Keyring, KWallet, KeePassXC) elsewhere.
//
//	store, err := keyring.New(ctx, dir, nil)
//	if errors.Is(err, keyring.ErrUnavailable) {
//		store, err = mcpauth.NewFileStore(dir) // say so to the person: tokens are then in files that only they can read
//	}
//	auth, err := mcpauth.NewTransport(url, nil, &mcpauth.ClientOptions{Store: store})
//
// The keyring holds one random key, and each record is a file that is sealed with it (AES-256-GCM, bound to the record's name): keyrings
// bound the size of what they take (2560 bytes on Windows, about 3000 on macOS, less than one token of many providers), and know neither locks between
// processes nor replacing in one step, which rotating refresh tokens need. Who copies the files without the keyring has nothing.
//
// The package stands apart from mcpauth so that only programs that use a keyring link it.
package keyring

import (
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	system "github.com/zalando/go-keyring"

	"github.com/seed38e7925c/parley/mcpauth"
)

// ErrUnavailable is the error of [New] where there is no keyring, or none that can be used: on a computer without a desktop session, above
// all. [mcpauth.NewFileStore] does without.
var ErrUnavailable = errors.New("keyring: the system has no keyring that this program can use")

// Options tune [New]. Nil and zero values mean the defaults.
type Options struct {
	// Service is the name under which the person sees the entry in the keyring. Default "Parley".
	Service string
	// Timeout bounds how long the keyring may take, which asks the person to unlock it if need be. Default 1 minute.
	Timeout time.Duration
}

const (
	keyBytes     = 32
	lockRecord   = "keyring key" // of the files: who makes a key holds it
	damagedMark  = "damaged "
	recordPrefix = "v1."
)

// New returns a [mcpauth.Store] in a folder of its own, see [mcpauth.NewFileStore], whose files are sealed with a key in the keyring. The key is
// made when there is none; it is found again by Service and the absolute path of the folder. The keyring is asked once, by New.
//
// A record that the key does not open, because the keyring's entry is gone, the folder was moved or the file was changed, is reported
// once, kept aside in the folder, and not used. The Store is a [mcpauth.Lister].
func New(ctx context.Context, dir string, o *Options) (mcpauth.Store, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.Service = cmp.Or(opts.Service, "Parley")
	opts.Timeout = cmp.Or(opts.Timeout, time.Minute)
	if opts.Timeout < 0 {
		return nil, errors.New("keyring: Options.Timeout must not be negative")
	}
	files, err := mcpauth.NewFileStore(dir)
	if err != nil {
		return nil, err
	}
	account, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(account); err == nil {
		account = real
	}
	ctx, cancel := context.WithTimeoutCause(ctx, opts.Timeout, fmt.Errorf("it did not answer within %v; it may be waiting for somebody to unlock it", opts.Timeout))
	defer cancel()
	key, err := rootKey(ctx, files, opts.Service, account)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &store{files: files, aead: aead, dir: dir}, nil
}

// rootKey returns the key, and makes it if there is none. Processes that begin at the same time make one.
func rootKey(ctx context.Context, files mcpauth.Store, service, account string) ([]byte, error) {
	key, err := fetch(ctx, service, account)
	if !errors.Is(err, system.ErrNotFound) {
		return key, err
	}
	err = files.Update(ctx, lockRecord, func(old []byte) ([]byte, error) {
		key, err = fetch(ctx, service, account)
		if !errors.Is(err, system.ErrNotFound) {
			return old, err
		}
		fresh := make([]byte, keyBytes)
		_, _ = rand.Read(fresh) // never fails
		text := base64.StdEncoding.EncodeToString(fresh)
		if err := ask(ctx, func() error { return system.Set(service, account, text) }); err != nil {
			return nil, unavailable(err)
		}
		key, err = fetch(ctx, service, account) // some take a value and do not keep it
		if err == nil && !bytes.Equal(key, fresh) {
			err = unavailable(errors.New("it returns another value than was put in"))
		}
		return old, err
	})
	if errors.Is(err, system.ErrNotFound) {
		err = unavailable(errors.New("it does not keep what is put in"))
	}
	return key, err
}

// fetch asks the keyring for the key. Its error is system.ErrNotFound, or one that says what to do.
func fetch(ctx context.Context, service, account string) ([]byte, error) {
	var text string
	err := ask(ctx, func() (err error) {
		text, err = system.Get(service, account)
		return err
	})
	if errors.Is(err, system.ErrNotFound) {
		return nil, system.ErrNotFound
	}
	if err != nil {
		return nil, unavailable(err)
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("keyring: the entry %q of %q is not a key of this program; remove it from the keyring, and log in anew", account, service)
	}
	return key, nil
}

// ask calls the keyring, which knows no context. A call that is given up goes on, and ends with the keyring or the process.
func ask(ctx context.Context, call func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() { done <- call() }() // nobody can end it: see above
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func unavailable(err error) error {
	return fmt.Errorf("%w (%w); keep tokens in files instead, which only you can read: mcpauth.NewFileStore", ErrUnavailable, err)
}

// A store seals what a store of files keeps.
type store struct {
	files mcpauth.Store
	aead  cipher.AEAD
	dir   string
}

// Load implements [mcpauth.Store].
func (s *store) Load(ctx context.Context, key string) ([]byte, error) {
	sealed, err := s.files.Load(ctx, key)
	if err != nil || sealed == nil {
		return nil, err
	}
	if data, err := s.open(key, sealed); err == nil {
		return data, nil
	}
	var data []byte
	var aside error
	err = s.files.Update(ctx, key, func(sealed []byte) (left []byte, err error) {
		if data, err = s.open(key, sealed); err == nil {
			return sealed, nil // somebody has replaced it
		}
		aside, err = s.setAside(ctx, key, sealed)
		return nil, err
	})
	return data, errors.Join(err, aside)
}

// Update implements [mcpauth.Store].
func (s *store) Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	var aside error
	err := s.files.Update(ctx, key, func(sealed []byte) ([]byte, error) {
		old, err := s.open(key, sealed)
		if err != nil {
			aside, err = s.setAside(ctx, key, sealed)
			return nil, err
		}
		data, err := change(old)
		if err != nil || data == nil {
			return nil, err
		}
		return s.seal(key, data)
	})
	return errors.Join(err, aside)
}

// Keys implements [mcpauth.Lister].
func (s *store) Keys(ctx context.Context) ([]string, error) {
	keys, err := s.files.(mcpauth.Lister).Keys(ctx)
	return slices.DeleteFunc(keys, func(k string) bool { return k == lockRecord || strings.HasPrefix(k, damagedMark) }), err
}

// seal encrypts a record for its key.
func (s *store) seal(key string, data []byte) ([]byte, error) {
	sealed := s.aead.Seal(nil, nil, data, []byte(key))
	return json.Marshal(recordPrefix + base64.StdEncoding.EncodeToString(sealed))
}

// open decrypts a record; nil stays nil.
func (s *store) open(key string, sealed []byte) ([]byte, error) {
	if sealed == nil {
		return nil, nil
	}
	var text string
	err := json.Unmarshal(sealed, &text)
	text, ok := strings.CutPrefix(text, recordPrefix)
	if err == nil && ok {
		var raw, data []byte
		if raw, err = base64.StdEncoding.DecodeString(text); err == nil {
			if data, err = s.aead.Open(nil, nil, raw, []byte(key)); err == nil {
				return data, nil
			}
		}
	}
	return nil, errSealed
}

var errSealed = errors.New("keyring: the key does not open the record")

// setAside keeps what cannot be opened, and returns the error that says so.
func (s *store) setAside(ctx context.Context, key string, sealed []byte) (report, err error) {
	name := damagedMark + rand.Text()[:8] + " " + key
	err = s.files.Update(ctx, name, func([]byte) ([]byte, error) { return sealed, nil })
	return fmt.Errorf("keyring: the record %q in %s cannot be opened with the key that is in the keyring: that one is another than it was, or the file was changed. "+
		"It is kept there under the key %q, and not used: log in anew", key, s.dir, name), err
}
