#!/usr/bin/env bash
# Runs a command beside a server of its own: with-server.sh COMMAND… finds its address in LOOPGUARD_ADDRESS.
# The server listens on a free loopback port, has the configuration `{}`, and is gone when the command ends.
set -euo pipefail
loopguard=$(dirname "$(realpath "$0")")/../.venv/bin/loopguard
scratch=$(mktemp -d)
echo '{}' >"$scratch/loopguard.json"
: >"$scratch/said"
"$loopguard" serve --address 127.0.0.1:0 --config "$scratch/loopguard.json" --log-level error >"$scratch/said" 2>"$scratch/log" &
server=$!
stop() { kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$scratch"; }
trap stop EXIT

for _ in $(seq 600); do
  address=$(sed -n 's/^loopguard listening on //p' "$scratch/said")
  [ -n "$address" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$scratch/log" >&2; echo "with-server: the server did not start" >&2; exit 1; }
  sleep 0.1
done
[ -n "$address" ] || { echo "with-server: the server said no address in a minute" >&2; exit 1; }
LOOPGUARD_ADDRESS=$address "$@"
