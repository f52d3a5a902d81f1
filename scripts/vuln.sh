#!/usr/bin/env bash
# Looks every module up in Go's vulnerability database. A vulnerability that the code can reach is a failure. Where the
# database cannot be reached the check says so and does not run; PARLEY_REQUIRE_VULNDB=1 makes that a failure too.
# For the test of this script: VULNDB is another database, VULN_MODULES other directories.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
failed=0
for module in ${VULN_MODULES:-$(scripts/modules.sh)}; do
	[ "$module" = tools ] && continue # the linters' own graph never reaches a user
	out=$(cd "$module" && "$root/bin/govulncheck" ${VULNDB:+-db "$VULNDB"} ./... 2>&1)
	status=$?
	if [ "$status" -eq 0 ]; then
		echo "vuln: $module: no known vulnerability is reachable"
	elif [ "$status" -ne 3 ] && grep -qE '^govulncheck: fetching vulnerabilities: ' <<<"$out"; then
		echo "vuln: THIS CHECK DID NOT RUN: Go's vulnerability database could not be reached"
		echo "vuln: $(tail -n1 <<<"$out")"
		[ -z "${PARLEY_REQUIRE_VULNDB:-}" ]
		exit
	else
		printf 'vuln: %s:\n%s\n' "$module" "$out" >&2
		failed=1
	fi
done
exit "$failed"
