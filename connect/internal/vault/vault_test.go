package vault_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/mac"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/seed38e7925c/parley/connect/internal/vault"
)

func open(t *testing.T, path string, kms tink.AEAD) *vault.Ring {
	t.Helper()
	r, err := vault.OpenFile(path, kms)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func seal(t *testing.T, r *vault.Ring, plain string, names ...string) []byte {
	t.Helper()
	sealed, err := r.Seal([]byte(plain), names...)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func opens(t *testing.T, r *vault.Ring, sealed []byte, want string, names ...string) {
	t.Helper()
	if plain, err := r.Open(sealed, names...); err != nil || string(plain) != want {
		t.Fatalf("Open = %q, %v; want %q", plain, err, want)
	}
}

func TestSealOpen(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "keys"), nil)
	sealed := seal(t, r, "a key", "credential", "1", "owner")
	opens(t, r, sealed, "a key", "credential", "1", "owner")
	opens(t, r, seal(t, r, ""), "")
	if bytes.Contains(sealed, []byte("a key")) {
		t.Error("it is not sealed")
	}
	if bytes.Equal(sealed, seal(t, r, "a key", "credential", "1", "owner")) {
		t.Error("the same is sealed the same way twice")
	}
}

// TestThreat22SealedForItsPlace: what is sealed for a place opens nowhere else, and not after a change.
func TestThreat22SealedForItsPlace(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "keys"), nil)
	sealed := seal(t, r, "a key", "ab", "c")
	for _, names := range [][]string{nil, {"ab"}, {"abc"}, {"a", "bc"}, {"ab", "c", ""}, {"", "ab", "c"}, {"c", "ab"}, {"ab\x00c"}, {"ab", "d"}} {
		if plain, err := r.Open(sealed, names...); !errors.Is(err, vault.ErrTampered) {
			t.Errorf("opened for %q: %q, %v", names, plain, err)
		}
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if _, err := r.Open(bad, "ab", "c"); !errors.Is(err, vault.ErrTampered) && !errors.Is(err, vault.ErrUnknownKey) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if _, err := r.Open(sealed[:i], "ab", "c"); err == nil {
			t.Errorf("opened when cut to %d bytes", i)
		}
	}
	other := open(t, filepath.Join(t.TempDir(), "keys"), nil)
	if _, err := other.Open(sealed, "ab", "c"); !errors.Is(err, vault.ErrUnknownKey) {
		t.Errorf("opened with another ring: %v", err)
	}
}

func TestFileIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("not on Windows: files have no mode there")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "keys")
	open(t, path, nil)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("the file has mode %v, %v", info.Mode(), err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := vault.OpenFile(path, nil)
		if err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil { // as a secret is mounted
		t.Fatal(err)
	}
	open(t, path, nil)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 { // the file and its lock
		t.Errorf("%d files are left, %v", len(entries), err)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty": "", "garbage": "not a keyset", "truncated": `{"primaryKeyId":1,`, "no keys": `{"primaryKeyId":1,"key":[]}`,
		"huge": strings.Repeat(" ", 1<<20+1), "encrypted": `{"encryptedKeyset":"AAAA"}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := vault.OpenFile(path, nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%s was changed", name)
		}
	}
	if _, err := vault.OpenFile(dir, nil); err == nil {
		t.Error("a directory was opened")
	}
	if _, err := vault.OpenFile(filepath.Join(dir, "missing", "keys"), nil); err == nil {
		t.Error("a missing directory was made")
	}
	if _, err := vault.OpenFile("", nil); err == nil {
		t.Error("a file without a name was opened")
	}
}

const startEnv = "PARLEY_TEST_VAULT_FILE"

// TestProcess is a process of TestProcessesMakeOneFile, and passes otherwise.
func TestProcess(t *testing.T) {
	path := os.Getenv(startEnv)
	if path == "" {
		return
	}
	fmt.Printf("sealed=%x\n", seal(t, open(t, path, nil), "hello", "names"))
}

// TestProcessesMakeOneFile: processes that start at once make one file, so that each opens what another has sealed.
func TestProcessesMakeOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	type result struct {
		out []byte
		err error
	}
	results := make(chan result)
	const n = 6
	for range n {
		go func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$", "-test.v")
			cmd.Env = append(os.Environ(), startEnv+"="+path)
			out, err := cmd.CombinedOutput()
			results <- result{out, err}
		}()
	}
	var sealed [][]byte
	for range n {
		r := <-results
		_, rest, _ := strings.Cut(string(r.out), "sealed=")
		text, _, _ := strings.Cut(rest, "\n")
		b, err := hex.DecodeString(text)
		if r.err != nil || err != nil || len(b) == 0 {
			t.Errorf("%v %v: %s", r.err, err, r.out)
		}
		sealed = append(sealed, b)
	}
	ring := open(t, path, nil)
	for _, s := range sealed {
		opens(t, ring, s, "hello", "names")
	}
}

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	a, b := open(t, path, nil), open(t, path, nil)
	old := seal(t, a, "old")
	oldID, _ := vault.KeyID(old)
	id, err := b.Rotate(t.Context())
	if err != nil || id == oldID {
		t.Fatalf("Rotate: %08x, %v", id, err)
	}
	recent := seal(t, b, "new")
	opens(t, b, old, "old")
	opens(t, a, recent, "new") // a notices by itself
	if fresh, err := a.Fresh(old); err != nil || fresh {
		t.Errorf("what the old key sealed is fresh: %v, %v", fresh, err)
	}
	if fresh, err := a.Fresh(seal(t, a, "newer")); err != nil || !fresh {
		t.Errorf("what the new key sealed is not fresh: %v, %v", fresh, err)
	}
	if err := a.Drop(t.Context(), id); err == nil {
		t.Error("the primary key was dropped")
	}
	if err := a.Drop(t.Context(), oldID); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Open(old); !errors.Is(err, vault.ErrUnknownKey) || !strings.Contains(err.Error(), fmt.Sprintf("%08x", oldID)) {
		t.Errorf("opened with a key that is gone: %v", err)
	}
	opens(t, open(t, path, nil), recent, "new")
	if keys, err := b.Keys(); err != nil || len(keys) != 1 || keys[0] != (vault.Key{ID: id, Primary: true, Enabled: true}) {
		t.Errorf("keys: %v, %v", keys, err)
	}
}

// TestRotationByCopies: with copies of the file, a new key opens everywhere before it seals anywhere.
func TestRotationByCopies(t *testing.T) {
	here, there := filepath.Join(t.TempDir(), "keys"), filepath.Join(t.TempDir(), "keys")
	a := open(t, here, nil)
	id, err := a.Add(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := seal(t, a, "first")
	if got, _ := vault.KeyID(first); got == id {
		t.Fatal("a key seals before it is promoted")
	}
	data, err := os.ReadFile(here)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(there, data, 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, there, nil)
	if err := a.Promote(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	opens(t, b, seal(t, a, "second"), "second")
	opens(t, a, seal(t, b, "third"), "third")
	for name, err := range map[string]error{"Promote": a.Promote(t.Context(), id+1), "Drop": a.Drop(t.Context(), id+1)} {
		if !errors.Is(err, vault.ErrUnknownKey) {
			t.Errorf("%s of no key: %v", name, err)
		}
	}
}

// TestRotationAtOnce: rotations at the same time lose no key.
func TestRotationAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	first := seal(t, open(t, path, nil), "first")
	const n = 5
	errs := make(chan error)
	for range n {
		go func() {
			r, err := vault.OpenFile(path, nil)
			if err == nil {
				_, err = r.Rotate(t.Context())
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	r := open(t, path, nil)
	if keys, err := r.Keys(); err != nil || len(keys) != n+1 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	opens(t, r, first, "first")
}

func handle(t *testing.T) *keyset.Handle {
	t.Helper()
	h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestKMS: the keyset in the file is encrypted by another key.
func TestKMS(t *testing.T) {
	kms, err := aead.New(handle(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keys")
	r := open(t, path, kms)
	sealed := seal(t, r, "hello")
	if _, err := r.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	opens(t, open(t, path, kms), sealed, "hello")
	if data, err := os.ReadFile(path); err != nil || !bytes.Contains(data, []byte("encryptedKeyset")) || bytes.Contains(data, []byte(`"key"`)) {
		t.Errorf("the file holds %s, %v", data, err)
	}
	if _, err := vault.OpenFile(path, nil); err == nil || !strings.Contains(err.Error(), "KMS") {
		t.Errorf("opened without the KMS: %v", err)
	}
	other, err := aead.New(handle(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vault.OpenFile(path, other); err == nil {
		t.Error("opened with another key of the KMS")
	}
	plain := filepath.Join(t.TempDir(), "plain")
	open(t, plain, nil)
	if _, err := vault.OpenFile(plain, kms); err == nil || !strings.Contains(err.Error(), "not encrypted") {
		t.Errorf("a file in the clear was taken for an encrypted one: %v", err)
	}
}

func TestHandle(t *testing.T) {
	h := handle(t)
	r, err := vault.FromHandle(h)
	if err != nil {
		t.Fatal(err)
	}
	opens(t, r, seal(t, r, "hello", "a"), "hello", "a")
	if _, err := r.Rotate(t.Context()); err == nil {
		t.Error("a keyset of somebody else was rotated")
	}
	signing, err := keyset.NewHandle(mac.HMACSHA256Tag256KeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	bare, err := keyset.NewHandle(aead.AES256GCMNoPrefixKeyTemplate())
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]*keyset.Handle{"nil": nil, "another primitive": signing, "no prefix": bare} {
		if _, err := vault.FromHandle(h); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	// The file is Tink's own format, so that its tools can be used.
	path := filepath.Join(t.TempDir(), "keys")
	var buf bytes.Buffer
	if err := insecurecleartextkeyset.Write(h, keyset.NewJSONWriter(&buf)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	opens(t, open(t, path, nil), seal(t, r, "hello", "a"), "hello", "a")
}

// TestFileThroughLink: a path that is a symbolic link stays one when the file is replaced.
func TestFileThroughLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	open(t, target, nil)
	if err := os.Symlink(target, link); err != nil {
		t.Skipf("not on this file system: %v", err)
	}
	r := open(t, link, nil)
	if _, err := r.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	opens(t, open(t, target, nil), seal(t, r, "hello"), "hello")
}

func FuzzOpen(f *testing.F) {
	r, err := vault.OpenFile(filepath.Join(f.TempDir(), "keys"), nil)
	if err != nil {
		f.Fatal(err)
	}
	good, err := r.Seal([]byte("plain"), "a", "b")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, "a", "b")
	f.Add(good[:7], "ab", "")
	f.Fuzz(func(t *testing.T, sealed []byte, a, b string) {
		plain, err := r.Open(sealed, a, b)
		if err == nil && (!bytes.Equal(sealed, good) || a != "a" || b != "b") {
			t.Errorf("opened %x for %q %q: %q", sealed, a, b, plain)
		}
		again, err := r.Seal(sealed, a, b)
		if err != nil {
			t.Fatal(err)
		}
		opens(t, r, again, string(sealed), a, b)
	})
}
