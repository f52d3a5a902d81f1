#!/usr/bin/env bash
# Runs each fuzz target of each module for FUZZTIME (30s).
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
for module in $(scripts/modules.sh); do
	for package in $(cd "$module" && "$go" list ./...); do
		for target in $(cd "$module" && "$go" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
			echo "== $package $target"
			(cd "$module" && "$go" test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 1s "$package")
		done
	done
done
