#!/usr/bin/env bash
# Builds the sdist from a clean checkout, the wheel from the sdist, installs the wheel into an environment of its own and
# runs the tests against it, in a folder that has the tests and their data but none of the sources:
#   check-packages.sh [PYTEST ARGUMENTS], with the interpreter that PYTHON names (else the one of .venv)
set -euo pipefail
cd "$(dirname "$0")/.."
builder=$PWD/.venv/bin/python
python=${PYTHON:-$builder}
# What is in them.
"$PWD/.venv/bin/pytest" -q tests/project/check_packages.py

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

git clone -q . "$scratch/checkout"
(cd "$scratch/checkout" && "$builder" -m build --sdist --no-isolation --outdir "$scratch/dist" . >"$scratch/log" 2>&1) || { cat "$scratch/log" >&2; exit 1; }
mkdir "$scratch/unpacked" && tar -xzf "$scratch"/dist/*.tar.gz -C "$scratch/unpacked" --strip-components 1
"$python" -m venv "$scratch/venv"
installed=$scratch/venv/bin/python
"$installed" -m pip install -q --disable-pip-version-check "pip>=25.1"
"$installed" -m pip install -q --disable-pip-version-check --group dev
"$installed" -m build --wheel --no-isolation --outdir "$scratch/dist" "$scratch/unpacked" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
"$installed" -m pip install -q --disable-pip-version-check "$(echo "$scratch"/dist/*.whl)[server]"

mkdir "$scratch/elsewhere"
git -C "$scratch/checkout" archive HEAD pyproject.toml tests conformance fuzz/corpus examples docs README.md | tar -xf - -C "$scratch/elsewhere"
cd "$scratch/elsewhere"
# Two are about the checkout itself: tests/project, and the one that builds the sources anew.
"$scratch/venv/bin/pytest" -q --ignore tests/project --ignore tests/core/test_hash_libraries.py "$@"
