#!/usr/bin/env bash
# Installs what the tests need, and says what. Nothing outside the repository and Go's own module cache.
set -euo pipefail
cd "$(dirname "$0")/.."
echo "setup: Go modules of each module, through Go's module proxy"
for module in $(scripts/modules.sh); do
	(cd "$module" && "${GO:-go}" mod download)
done
if [ -f conformance/package-lock.json ]; then
	echo "setup: npm packages of the conformance suite, into conformance/node_modules"
	npm ci --prefix conformance --no-audit --no-fund
fi
