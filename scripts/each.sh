#!/usr/bin/env bash
# Runs a command in each Go module, and fails when it fails in one.   scripts/each.sh go vet ./...
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
for module in $(scripts/modules.sh); do
	echo "== $module: $*"
	(cd "$module" && "$@") || failed=1
done
exit "$failed"
