#!/usr/bin/env bash
# Coverage of each library package by all tests of the main module; fails under 85 %. Commands, and what only tests import, are no library.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
packages=$("$go" list ./... | grep -vE '/(cmd|internal/(doctest|racecanary|spectest|ptytest|archtest))(/|$)' | paste -sd, -)
"$go" test -coverpkg="$packages" -coverprofile=coverage.out ./... | grep -v 'no test files' | sed -E 's/[ \t]*coverage: .*//'
"$go" -C tools run ./cover -min 85 ../coverage.out
