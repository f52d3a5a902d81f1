#!/usr/bin/env bash
# Installs what the tests need, and says what: Go modules into Go's module cache, npm packages into the repository, and
# what neither has from the system's package manager.
set -euo pipefail
cd "$(dirname "$0")/.."
echo "setup: Go modules of each module, through Go's module proxy"
for module in $(scripts/modules.sh); do
	(cd "$module" && "${GO:-go}" mod download)
done
for suite in conformance browser; do
	echo "setup: npm packages of $suite, into $suite/node_modules"
	npm ci --prefix "$suite" --no-audit --no-fund --loglevel=error
done
scripts/system.sh
