#!/bin/sh
# Generates the stubs from proto/ with the protoc and the plugin that pom.xml names; the protocol's imports are those of
# .venv-protos.
#   generate.sh            into the tree
#   generate.sh --check    into a temporary folder, and says what is stale
set -eu
cd "$(dirname "$0")"
root=../..
stubs=stubs/src/main/java

python=$root/.venv-protos/bin/python
[ -x "$python" ] || { echo "generate: .venv-protos is missing: run 'make protos'" >&2; exit 2; }
site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')

system=$(uname -s | tr '[:upper:]' '[:lower:]' | sed 's/darwin/osx/')-$(uname -m | sed 's/aarch64/aarch_64/;s/arm64/aarch_64/')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

property() { sed -n "s:.*<$1>\(.*\)</$1>.*:\1:p" pom.xml; }

# The native program of an artifact, from Maven's repository.
fetch() {
  mvn -q -B -N "org.apache.maven.plugins:maven-dependency-plugin:$(property dependency-plugin.version):copy" \
    -Dmdep.stripVersion "-Dartifact=$1:$2:exe:$system" "-DoutputDirectory=$work" >"$work/log" ||
    { cat "$work/log" >&2; exit 1; }
  chmod +x "$work/${1#*:}-$system.exe"
}

generate() {
  mkdir -p "$1"
  "$work/protoc-$system.exe" "-I$root/proto" "-I$site" "-I$site/grpc_tools/_proto" \
    "--plugin=protoc-gen-grpc-java=$work/protoc-gen-grpc-java-$system.exe" \
    "--java_out=$1" "--grpc-java_out=@generated=omit:$1" loopguard/v1/guard.proto loopguard/v1/error_reason.proto
}

fetch com.google.protobuf:protoc "$(property protobuf.version)"
fetch io.grpc:protoc-gen-grpc-java "$(property grpc.generator.version)"
case "${1:-}" in
  --check)
    generate "$work/stubs"
    diff -rq "$stubs" "$work/stubs" || { echo "generate: clients/java/$stubs is stale: run 'make protos'" >&2; exit 1; }
    ;;
  *) rm -rf "$stubs" && generate "$stubs" ;;
esac
