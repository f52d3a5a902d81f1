#!/usr/bin/env bash
# Tests a copy of the main module against the newest versions of everything it depends on, to hear of breakage early.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
scripts/files.sh | tar -cf - -T - | tar -xf - -C "$copy"
cd "$copy"
"$go" get -u ./...
"$go" mod tidy
diff "$OLDPWD/go.mod" go.mod || true
"$go" build ./...
"$go" test ./...
