#!/usr/bin/env bash
# Installs the pinned conformance suite (with a Node of its own, from npm), builds the server and the client, and runs both roles.
set -euo pipefail
cd "$(dirname "$0")"
if [ ! -x node_modules/node/bin/node ] || ! cmp -s package-lock.json node_modules/.installed-lock; then
  echo "conformance: installing the pinned suite and Node 22 from npm into conformance/node_modules"
  npm ci --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.installed-lock
fi
go build -o ../bin/ ./cmd/...
../bin/suite -prove -out results/prove
exec ../bin/suite -server ../bin/conformance-server -client ../bin/conformance-client -out results/run
