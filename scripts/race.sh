#!/usr/bin/env bash
# Tests under the race detector. A test with a deliberate race, run with the same flags, must fail with a report: when
# it passes, the detector is off and the green before it means nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
flags=(-race)
scripts/test.sh "${flags[@]}"
if report=$("${GO:-go}" test "${flags[@]}" -tags racecanary ./internal/racecanary 2>&1); then
	echo "race: the deliberate race was not reported: the race detector is off" >&2
	exit 1
fi
if ! grep -q 'WARNING: DATA RACE' <<<"$report"; then
	printf 'race: the canary failed for another reason than a race:\n%s\n' "$report" >&2
	exit 1
fi
echo "race: the detector is on (the deliberate race was reported)"
