// Package archtest holds tests of what packages link, transitively. The direct imports are depguard's (.golangci.yml).
package archtest
