#!/bin/sh
# Generates loopguardv1 from proto/ with the pinned tools: protoc of .venv-protos, the plugins of tools/go.mod.
#   generate.sh            into the tree
#   generate.sh --to DIR   into DIR
set -eu
cd "$(dirname "$0")"
root=$PWD/../..
module=github.com/loopguard/loopguard/clients/go

python=$root/.venv-protos/bin/python
[ -x "$python" ] || { echo "generate: .venv-protos is missing: run 'make protos'" >&2; exit 2; }
out=$PWD
[ "${1:-}" = --to ] && out=$(realpath "$2")

plugins=$(mktemp -d)
trap 'rm -rf "$plugins"' EXIT
go build -modfile=tools/go.mod -o "$plugins/" google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc

cd "$root"
google=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
PATH="$plugins:$PATH" "$python" -m grpc_tools.protoc -Iproto "-I$google" \
  "--go_out=$out" "--go_opt=module=$module" "--go-grpc_out=$out" "--go-grpc_opt=module=$module" proto/loopguard/v1/*.proto
