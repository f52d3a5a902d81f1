package main

import (
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed38e7925c/parley/internal/pgtest"
)

// What a server keeps, as its operator sees and changes it: the files of a demo.
func TestVault(t *testing.T) {
	dir := t.TempDir()
	parley(t, "", "demo", "--auto", "--stdio", "--era", "modern", "--keep", dir).want(t, exitOK, "parley vault list --store "+dir)
	t.Setenv("PARLEY_STORE", filepath.Join(dir, demoStoreFile))
	t.Setenv("PARLEY_KEYS", filepath.Join(dir, demoKeysFile))
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	mine := []string{"--issuer", "local", "--subject", me.Uid}
	vault := func(args ...string) ran { return parley(t, "", append([]string{"vault"}, args...)...) }

	all := vault("list")
	all.want(t, exitOK, "stations", "rail", "alice@rail-ag.example", "book")
	if strings.Contains(all.out, "rk_demo_") {
		t.Error("the list has a key")
	}
	vault(append([]string{"list"}, mine...)...).want(t, exitOK, "stations", "rail")
	vault("list", "--issuer", "local", "--subject", "nobody").want(t, exitOK, "Nothing is kept.")
	vault("list", "--issuer", "local").want(t, exitUsage, "--issuer and --subject together")
	vault("list", "--json").want(t, exitOK, `"kind":"grant"`, `"scopes":["email",`)

	// The keys change, and everything can still be read.
	first := regexp.MustCompile(`^\d+`).FindString(vault("keys", "list").out)
	added := vault("keys", "add")
	added.want(t, exitOK, "vault keys promote")
	second := regexp.MustCompile(`\d+`).FindString(added.out)
	vault("keys", "drop", first).want(t, exitUsage, "promote another one first")
	vault("keys", "promote", second).want(t, exitOK, second+" seals now")
	vault("keys", "reseal").want(t, exitOK, "Sealed anew: ")
	vault("keys", "drop", first).want(t, exitOK, "Dropped: "+first)
	vault("keys", "drop", first).want(t, exitUsage, "there is no key "+first)
	vault("keys", "rotate").want(t, exitOK, "Sealed anew: ", "The old keys are gone")
	if after := vault("keys", "list").out; strings.Count(after, "\n") != 1 || strings.Contains(after, second) {
		t.Errorf("the keys are %q", after)
	}
	vault("list").want(t, exitOK, "stations", "rail")

	vault("rebind").want(t, exitUsage, "--to-issuer")
	vault(append([]string{"rebind"}, mine...)...).want(t, exitUsage, "--to-issuer")
	vault(append([]string{"rebind", "--to-issuer", "https://login.example"}, mine...)...).want(t, exitOK, "Moved: 2")
	vault(append([]string{"list"}, mine...)...).want(t, exitOK, "Nothing is kept.")
	moved := vault("list", "--issuer", "https://login.example", "--subject", me.Uid)
	moved.want(t, exitOK, "stations", "rail")

	vault("revoke").want(t, exitUsage, "say what to remove")
	vault("revoke", "--all", "x").want(t, exitUsage, "say what to remove")
	id := regexp.MustCompile(`\n(\S+)`).FindStringSubmatch(moved.out)[1]
	vault("revoke", "--", "x", id).want(t, exitLocal, "Removed: 1\n", `nothing is kept under the id "x"`)
	vault("revoke", "--issuer", "https://login.example", "--subject", me.Uid).want(t, exitOK, "Removed: 1\n")
	vault("revoke", "--all").want(t, exitOK, "Removed: 0\n")
	vault("list").want(t, exitOK, "Nothing is kept.")
	parley(t, "", "connect", "prune").want(t, exitOK, "Removed: ")
}

// Names that are mistyped make no new files.
func TestVaultNeedsItsFiles(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	parley(t, "", "vault", "list", "--store", missing, "--keys", missing).want(t, exitUsage, "--keys: there is no file")
	parley(t, "", "vault", "keys", "list", "--keys", missing).want(t, exitUsage, "--keys: there is no file")
	parley(t, "", "vault", "list", "--keys", missing).want(t, exitUsage, "--store")
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
		t.Errorf("new files: %v", files)
	}
}

// A database is named in the environment, where no list of processes shows its password.
func TestVaultOnPostgres(t *testing.T) {
	dir := t.TempDir()
	parley(t, "", "demo", "--auto", "--stdio", "--era", "modern", "--keep", dir).want(t, exitOK)
	t.Setenv("PARLEY_STORE", pgtest.Start(t).Database(t))
	t.Setenv("PARLEY_KEYS", filepath.Join(dir, demoKeysFile))
	parley(t, "", "vault", "list").want(t, exitOK, "Nothing is kept.")
	parley(t, "", "connect", "prune").want(t, exitOK, "Removed: 0")
}
