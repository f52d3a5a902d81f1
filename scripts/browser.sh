#!/usr/bin/env bash
# Installs the pinned accessibility rules and tests the pages in a headless Chromium. With CI set, a skipped test is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
mkdir -p bin
"$go" -C tools build -o ../bin/ ./testlog
testlog=$PWD/bin/testlog
cd browser
if ! cmp -s package-lock.json node_modules/.installed-lock; then
	echo "browser: installing the pinned accessibility rules (axe-core) from npm into browser/node_modules"
	npm ci --no-audit --no-fund --loglevel=error
	cp package-lock.json node_modules/.installed-lock
fi
"$go" vet ./...
"$go" test -json ./... | "$testlog"
