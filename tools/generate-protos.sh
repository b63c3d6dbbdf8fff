#!/bin/sh
# Generates loopguard/v1 from proto/ with the pinned tools in .venv-protos.
#   generate-protos.sh            into the tree
#   generate-protos.sh --to DIR   into DIR
#   generate-protos.sh --lint     checks style, and that nothing breaks against proto/released.binpb
#   generate-protos.sh --release  makes the present protocol the one that later ones are held against
set -eu
cd "$(dirname "$0")/.."

bin=$PWD/.venv-protos/bin
[ -x "$bin/python" ] || { echo "generate-protos: .venv-protos is missing: run 'make protos'" >&2; exit 2; }
google=$("$bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
protoc() { PATH="$bin:$PATH" "$bin/python" -m grpc_tools.protoc -Iproto "-I$google" "$@" proto/loopguard/v1/*.proto; }

if [ "${1:-}" = --lint ]; then
  image=$(mktemp --suffix=.binpb)
  trap 'rm -f "$image"' EXIT
  protoc --include_imports --include_source_info "--descriptor_set_out=$image"
  .venv/bin/buf format proto --diff --exit-code
  .venv/bin/buf lint "$image" --config proto/buf.yaml
  .venv/bin/buf breaking "$image" --against proto/released.binpb --config proto/buf.yaml
  exit
fi

if [ "${1:-}" = --release ]; then
  protoc --include_imports --descriptor_set_out=proto/released.binpb
  exit
fi

out=.
[ "${1:-}" = --to ] && out=$2
protoc "--python_out=$out" "--grpc_python_out=$out" "--mypy_out=quiet:$out" "--mypy_grpc_out=quiet:$out"
# error_reason.proto has no service: its empty stubs are of no use.
rm -f "$out"/loopguard/v1/error_reason_pb2_grpc.py*
