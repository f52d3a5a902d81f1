#!/usr/bin/env bash
# Runs a command in each Go module.   scripts/each.sh go vet ./...
set -euo pipefail
cd "$(dirname "$0")/.."
for module in $(scripts/modules.sh); do
	echo "== $module: $*"
	(cd "$module" && "$@")
done
