#!/usr/bin/env bash
# Lints every module with .golangci.yml and with the project's own analyzers, then proves both alive on bad samples.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
failed=0
for module in $(scripts/modules.sh); do
	echo "== $module: golangci-lint, parleylint"
	(cd "$module" && "$root/bin/golangci-lint" run --allow-parallel-runners --config "$root/.golangci.yml" ./...) || failed=1
	(cd "$module" && "${GO:-go}" vet -vettool="$root/bin/parleylint" ./...) || failed=1
done
echo "== bad samples: each rule of ours must find its own"
"${GO:-go}" -C tools test -count=1 ./... || failed=1
exit "$failed"
