// Package vault seals what a desk keeps, with the keysets of Tink: authenticated encryption under a ring of keys, of which one is the
// primary that seals and all open.
//
// ring.go seals and opens, bound to names that must be the same both times; file.go keeps a ring in a file that only its owner can
// read, in the clear or encrypted by a KMS; rotate.go changes the keys of a file while others use it.
package vault
