#!/usr/bin/env bash
# Holds loopguard against the vectors and traces that lie beside a checkout: check-shared.sh DIR
set -euo pipefail
shared=$1
loopguard=.venv/bin/loopguard

"$loopguard" conformance "$shared/vectors/openclaw.jsonl"

answers=$(mktemp)
trap 'rm -f "$answers"' EXIT
status=0
"$loopguard" replay --json "$shared"/traces/*.jsonl.gz >"$answers" || status=$?
[ "$status" -le 1 ] || { echo "replay ended with $status" >&2; exit 1; }
echo "replay ended with $status and $(wc -l <"$answers") answers"
python3 "$shared/traces/score.py" --labels "$shared/traces/labels.jsonl" --answers "$answers"
