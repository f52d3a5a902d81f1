#!/usr/bin/env bash
# Prints the directory of each Go module of the repository, the root first. There is no go.work: each stands alone.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/files.sh mod | grep -E '(^|/)go\.mod$' | grep -v /testdata/ | xargs -n1 dirname | LC_ALL=C sort
