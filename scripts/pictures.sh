#!/usr/bin/env bash
# Makes the pictures of docs/img anew: the browser tests take them, ImageMagick makes them small. Look at each before committing it.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v convert >/dev/null || { echo "pictures: install ImageMagick" >&2; exit 1; }
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
PARLEY_PICTURES=$raw "${GO:-go}" -C browser test -count=1 -run '^(TestDesk|TestIntruder|TestDemo|TestDemoOnThisComputer)$' .
mkdir -p docs/img
for picture in "$raw"/*.png "$raw"/demo-*.png; do # of two pictures of a page that of the demo
	name=$(basename "$picture")
	corner=$(convert "$picture" -format '%[pixel:p{2,2}]' info:)
	convert "$picture" -fuzz 1% -trim +repage -bordercolor "$corner" -border 16 -dither None -colors 48 -strip \
		-define png:compression-level=9 "docs/img/${name#demo-}"
done
du -sh docs/img
