#!/bin/sh
# What needs a server (LOOPGUARD_ADDRESS): the examples, random documents, the vectors.
set -eu
cd "$(dirname "$0")"

node build/example/gateway.js "$LOOPGUARD_ADDRESS" >/dev/null || { echo "the gateway example was not stopped" >&2; exit 1; }
node build/example/guard-command.js "$LOOPGUARD_ADDRESS" "echo 'no such host'; false" >/dev/null ||
  { echo "the command of the example was not blocked" >&2; exit 1; }
node build/conformance/differential.js 3000
exec node build/conformance/main.js ../../conformance/canon.jsonl ../../conformance/wire.jsonl ../../conformance/detect.jsonl
