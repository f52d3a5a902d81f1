// Package filelock takes the lock of a file that processes share. Closing the file, or the end of its process, frees it.
package filelock
