#!/usr/bin/env bash
# Installs the pinned TypeScript SDKs and servers (with a Node of their own, from npm) and runs the matrix on loopback.
set -euo pipefail
cd "$(dirname "$0")"
if [ ! -x node_modules/node/bin/node ] || ! cmp -s package-lock.json node_modules/.installed-lock; then
  echo "interop: installing the pinned SDKs, servers and Node 22 from npm into interop/node_modules"
  npm ci --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.installed-lock
fi
echo "interop: the other peers are Go modules, installed into Go's module cache"
go test -count=1 -run '^TestLogin' . # logins at protected servers, both ways
go build -o ../bin/interop .
exec ../bin/interop "$@"
