#!/usr/bin/env bash
# Installs what Go and npm do not have, from the system's package manager: a PostgreSQL server (its programs only: tests start a
# cluster of their own) and a Chromium. Does nothing where they are. Where it cannot install it says what is missing and goes on:
# the tests that need it are then skipped, or fail in CI.
set -uo pipefail

have_postgres() {
	command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || compgen -G '/opt/homebrew/opt/postgresql*/bin/initdb' >/dev/null
}
have_chromium() {
	[ -n "${PARLEY_CHROMIUM:-}" ] && return
	local name
	for name in chromium chromium-browser google-chrome-stable google-chrome; do
		command -v "$name" >/dev/null && return
	done
	return 1
}

missing=()
have_postgres || missing+=(postgresql)
have_chromium || missing+=(chromium)
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	as_root=(sudo -n)
fi
install() {
	if command -v apt-get >/dev/null; then
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
			"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
	elif command -v dnf >/dev/null; then
		"${as_root[@]}" dnf install -y "${@/%postgresql/postgresql-server}"
	elif command -v apk >/dev/null; then
		"${as_root[@]}" apk add "$@"
	elif command -v pacman >/dev/null; then
		"${as_root[@]}" pacman -S --noconfirm "$@"
	elif command -v brew >/dev/null; then
		brew install "${@/%postgresql/postgresql@17}"
	else
		return 1
	fi
}

echo "setup: ${missing[*]}, from the system's package manager"
if ! install "${missing[@]}"; then
	echo "setup: could not install ${missing[*]}: install it by hand, or go without; the tests that need it say so" >&2
fi
