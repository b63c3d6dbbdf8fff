#!/bin/sh
# Generates the stubs from proto/ with the pinned tools: protoc of .venv-protos, tonic-prost-build of Cargo.lock.
#   generate.sh            into the tree
#   generate.sh --check    into a temporary folder, and says what is stale
#   generate.sh --to DIR   into DIR
set -eu
cd "$(dirname "$0")"
root=../..

python=$root/.venv-protos/bin/python
[ -x "$python" ] || { echo "generate: .venv-protos is missing: run 'make protos'" >&2; exit 2; }

generate() {
  google=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  mkdir -p "$1/src/generated" "$1/conformance/src/generated"
  # The vectors' JSON needs the descriptors at run time, those of a status' details too.
  descriptors=$1/conformance/src/generated/protocol.binpb
  "$python" -m grpc_tools.protoc "-I$root/proto" "-I$google" --include_imports "--descriptor_set_out=$descriptors" \
    loopguard/v1/guard.proto loopguard/v1/error_reason.proto google/rpc/error_details.proto
  # Documentation comes from comments, which the set above is too small to hold.
  commented=$(mktemp)
  "$python" -m grpc_tools.protoc "-I$root/proto" "-I$google" --include_imports --include_source_info \
    "--descriptor_set_out=$commented" loopguard/v1/guard.proto loopguard/v1/error_reason.proto
  cargo run --locked --quiet --package stubs -- "$commented" "$1/src/generated"
  rm "$commented"
}

case "${1:-}" in
  --check)
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    generate "$fresh"
    for folder in src/generated conformance/src/generated; do
      diff -rq "$folder" "$fresh/$folder" || { echo "generate: clients/rust/$folder is stale: run 'make protos'" >&2; exit 1; }
    done
    ;;
  --to) generate "$2" ;;
  *) generate . ;;
esac
