#!/usr/bin/env bash
# Looks every module up in Go's vulnerability database. A vulnerability that the code can reach is a failure. Where the
# database cannot be reached the check says so and does not run; PARLEY_REQUIRE_VULNDB=1 makes that a failure too.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
for module in $(scripts/modules.sh); do
	[ "$module" = tools ] && continue # the linters' own graph never reaches a user
	status=0
	out=$(cd "$module" && "$root/bin/govulncheck" ./... 2>&1) || status=$?
	if [ "$status" -eq 0 ]; then
		echo "vuln: $module: no known vulnerability is reachable"
	elif [ "$status" -ne 3 ] && grep -qE 'fetching vulnerabilities|dial tcp|no such host|proxyconnect|connection refused|i/o timeout|Forbidden' <<<"$out"; then
		echo "vuln: THIS CHECK DID NOT RUN: Go's vulnerability database could not be reached ($(tail -n1 <<<"$out"))"
		[ -z "${PARLEY_REQUIRE_VULNDB:-}" ]
		exit
	else
		printf 'vuln: %s:\n%s\n' "$module" "$out" >&2
		exit 1
	fi
done
