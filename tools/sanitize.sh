#!/bin/sh
# Runs the tests of the core, of facts and of snapshots and the fuzzing of messages on a build of the extensions with the address and undefined-behaviour sanitizers.
set -eu
cd "$(dirname "$0")/.."
python=$(realpath -s "${PYTHON:-python3}")
tree=build/sanitize
rm -rf "$tree"
mkdir -p "$tree/tests" "$tree/fuzz"
# A tree of its own: the sanitized extension must not get into the one that people use.
cp -r loopguard conformance setup.py pyproject.toml README.md LICENSE "$tree/"
cp -r tests/core tests/reference tests/unit "$tree/tests/"
cp -r fuzz/corpus fuzz/wire.py "$tree/fuzz/"
rm -f "$tree"/loopguard/_*.so "$tree"/loopguard/_*.cpp
cd "$tree"
LOOPGUARD_SANITIZE=address,undefined "$python" setup.py -q build_ext --inplace

# Python itself leaks at exit, and it is not the one that is checked here. libstdc++ has to be loaded before the sanitizer
# looks for the function that throws.
sanitized() {
  LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
    PYTHONPATH=. PYTHONMALLOC=malloc "$python" "$@"
}
sanitized -m pytest -q -p no:cacheprovider --import-mode=importlib \
  -k "not busy and not flat and not memory and not builds" tests/core
sanitized -m pytest -q -p no:cacheprovider --import-mode=importlib -k "not Interrupted" \
  tests/unit/test_snapshot.py tests/unit/test_snapshot_walks.py tests/unit/test_facts.py
sanitized fuzz/wire.py --seconds 20
