#!/usr/bin/env bash
# Holds loopguard against the vectors and traces that lie beside a checkout: check-shared.sh DIR
set -euo pipefail
shared=$1
loopguard=.venv/bin/loopguard

"$loopguard" conformance "$shared/vectors/openclaw.jsonl" "$shared/vectors/beyond.jsonl"
.venv/bin/python tools/check_scenarios.py "$shared/vectors/scenarios.jsonl"

answers=$(mktemp)
trap 'rm -f "$answers"' EXIT
for profile in openclaw balanced; do
  status=0
  "$loopguard" replay --profile "$profile" --json "$shared"/traces/*.jsonl.gz >"$answers" || status=$?
  [ "$status" -le 1 ] || { echo "replay ended with $status" >&2; exit 1; }
  printf '\n== %s: replay ended with %s and %s answers\n' "$profile" "$status" "$(wc -l <"$answers")"
  python3 "$shared/traces/score.py" --labels "$shared/traces/labels.jsonl" --answers "$answers"
done
