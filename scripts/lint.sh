#!/usr/bin/env bash
# Lints every module with .golangci.yml and with the project's own analyzers, then proves both alive on bad samples.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
for module in $(scripts/modules.sh); do
	echo "== $module: golangci-lint, parleylint"
	(
		cd "$module"
		"$root/bin/golangci-lint" run --config "$root/.golangci.yml" ./...
		"${GO:-go}" vet -vettool="$root/bin/parleylint" ./...
	)
done
echo "== bad samples: each rule of ours must find its own"
"${GO:-go}" -C tools test -count=1 ./...
