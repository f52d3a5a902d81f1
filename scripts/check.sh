#!/usr/bin/env bash
# Everything that can be said about the tree without running it. Goes on after a failed step, and names the failed ones
# at the end. Changes nothing but what go generate writes.
set -uo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
failed=()

step() { # NAME COMMAND...
	echo "== $1"
	"${@:2}" || failed+=("$1")
}

formatted() {
	local unformatted
	unformatted=$(scripts/files.sh go | xargs gofmt -l) || return 1
	[ -z "$unformatted" ] && return
	printf 'not formatted (make fmt):\n%s\n' "$unformatted" >&2
	return 1
}

generated() {
	local before
	before=$(sums)
	scripts/each.sh "$go" generate ./... || return 1
	diff <(echo "$before") <(sums) && return
	echo "generated files were out of date; they have been made anew (make generate): commit them" >&2
	return 1
}

sums() { scripts/files.sh | xargs -d '\n' cksum; }

elsewhere() {
	local os status=0
	for os in windows darwin; do
		GOOS=$os CGO_ENABLED=0 "$go" vet ./... || status=1
	done
	return "$status"
}

step gofmt formatted
step "go vet" scripts/each.sh "$go" vet ./...
step "go vet for Windows and macOS" elsewhere
step "go mod tidy" scripts/each.sh "$go" mod tidy -diff
step "generated files" generated
step "file norms" bin/norms
step lint scripts/lint.sh
step "known vulnerabilities" scripts/vuln.sh

if [ "${#failed[@]}" -gt 0 ]; then
	printf 'check: failed: %s\n' "${failed[@]}" >&2
	exit 1
fi
echo "check: all passed"
