#!/bin/sh
# Installs the Debian packages that building loopguard needs: as root by itself, otherwise it says which are missing.
set -eu

python=${1:-python3}
missing=
need() { missing="$missing $1"; }

command -v g++ >/dev/null || need g++
"$python" -c 'import ensurepip, venv' 2>/dev/null || need python3-venv
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' || need python3-dev
# Optional for the build (the xxhash wheel stands in), but hashing is faster with it.
if [ "$(uname -s)" = Linux ] && ! [ -e /usr/include/xxhash.h ] && [ "$(id -u)" = 0 ]; then need libxxhash-dev; fi
# What the caller asks for besides, as "command=package" or "/path=package".
shift || true
for pair in "$@"; do
  wanted=${pair%%=*}
  [ -e "$wanted" ] || command -v "$wanted" >/dev/null || need "${pair#*=}"
done

[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "loopguard: missing system packages:$missing (on Debian: sudo apt-get install$missing)" >&2
  exit 2
fi
echo "installing system packages:$missing"
apt-get update -qq
# shellcheck disable=SC2086 # a list of package names
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
