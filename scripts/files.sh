#!/usr/bin/env bash
# Prints the project's files with one extension (no argument: all), one a line; nothing that was installed or built.
set -euo pipefail
cd "$(dirname "$0")/.."
find . \( -name .git -o -name node_modules -o -path ./bin -o -path ./.cache -o -path ./conformance/results \) -prune \
	-o -type f -name "*${1:+.$1}" -print | sed 's|^\./||' | LC_ALL=C sort
