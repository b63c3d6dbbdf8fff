#!/bin/sh
# Talks to a server with nothing but its reflection: no proto file, no stubs.
#   loopguard serve & examples/reflection.sh 127.0.0.1:50051
# `buf` comes from the package buf-bin (PyPI) or @bufbuild/buf (npm). grpcio wants --protocol grpc.
set -eu
[ $# -eq 1 ] || { echo "usage: reflection.sh HOST:PORT" >&2; exit 2; }
buf=${BUF:-buf}

echo "is it serving?"
"$buf" curl --protocol grpc --data '{"service": "loopguard.v1.LoopGuardService"}' "http://$1/grpc.health.v1.Health/Check"

echo "the canonical form and digest of a value (bytes are base64 in JSON)"
value=$(printf '{"b": 1.0, "a": []}' | base64)
"$buf" curl --protocol grpc --data "{\"json\": \"$value\", \"includeCanonical\": true}" "http://$1/loopguard.v1.LoopGuardService/Fingerprint"

echo "a run: the frames of one stream, one after another"
arguments=$(printf '{"command": "make"}' | base64)
"$buf" curl --protocol grpc --data @- "http://$1/loopguard.v1.LoopGuardService/Guard" <<FRAMES
{"seq": 0, "open": {"runId": "reflection", "config": {"enabled": true}}}
{"seq": 1, "calls": {"calls": [{"callId": "a", "tool": "exec", "argsJson": "$arguments"}]}}
{"seq": 2, "close": {}}
FRAMES
