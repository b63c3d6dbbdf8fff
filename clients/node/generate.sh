#!/bin/sh
# Generates src/gen from proto/ with the pinned tools in .venv-protos and package-lock.json.
#   generate.sh            into the tree
#   generate.sh --check    into a temporary folder, and says what is stale
#   generate.sh --to DIR   into DIR
set -eu
cd "$(dirname "$0")"
root=../..

python=$root/.venv-protos/bin/python
plugin=$PWD/node_modules/.bin/protoc-gen-es
[ -x "$python" ] || { echo "generate: .venv-protos is missing: run 'make protos'" >&2; exit 2; }
[ -x "$plugin" ] || { echo "generate: node_modules is missing: run 'npm ci' in clients/node" >&2; exit 2; }

generate() {
  google=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  mkdir -p "$1"
  # Statuses carry google.rpc messages, for which the run-time has no code of its own.
  "$python" -m grpc_tools.protoc "-I$root/proto" "-I$google" "--plugin=protoc-gen-es=$plugin" \
    "--es_out=$1" --es_opt=target=ts,import_extension=js \
    loopguard/v1/guard.proto loopguard/v1/error_reason.proto google/rpc/status.proto google/rpc/error_details.proto
}

case "${1:-}" in
  --check)
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    generate "$fresh"
    diff -rq src/gen "$fresh" || { echo "generate: clients/node/src/gen is stale: run 'make protos'" >&2; exit 1; }
    ;;
  --to) generate "$2" ;;
  *) rm -rf src/gen && generate src/gen ;;
esac
