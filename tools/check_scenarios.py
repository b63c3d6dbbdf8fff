"""How `balanced` does on made-up runs that say what a user would want: check_scenarios.py FILE.

A line is `{"name", "should": "loop" | "no loop", "detectBy", "warnOk", "frames"}`, with `"convention": true` where it
depends on taste. Ends with 1 where a loop isn't noticed by its due call, or honest work is stopped or warned of.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def as_trace(case: dict[str, Any]) -> str:
    """Return a case as a run of the trace format."""
    opening = {"runId": case["name"]} | {key: case[key] for key in ("agentId",) if key in case}
    return "".join(f"{json.dumps(frame)}\n" for frame in ({"open": opening}, *case["frames"], {"close": {}}))


def first_alarms(cases: list[dict[str, Any]]) -> dict[tuple[str, bool], int]:
    """Return the call, from 1, of each run's first alarm of any kind (False) and of its first stop (True)."""
    command = [str(Path(sys.executable).with_name("loopguard")), "replay", "--profile", "balanced", "--json", "-"]
    played = subprocess.run(command, input="".join(map(as_trace, cases)), capture_output=True, text=True, check=False)
    if played.returncode > 1:
        raise SystemExit(played.stderr)
    first: dict[tuple[str, bool], int] = {}
    for answer in map(json.loads, played.stdout.splitlines()):
        if answer["action"] != "ALLOW":
            first.setdefault((answer["runId"], False), answer["step"] + 1)
            if answer["action"] != "WARN":
                first.setdefault((answer["runId"], True), answer["step"] + 1)
    return first


def fault(case: dict[str, Any], alarm: int | None, stop: int | None) -> str | None:
    """Return what is wrong with how a case was judged."""
    if case["should"] == "loop":
        in_time = alarm is not None and alarm <= case["detectBy"]
        return None if in_time else f"noticed at call {alarm}, due at {case['detectBy']}"
    if stop is not None:
        return f"stopped at call {stop}"
    return f"warned of at call {alarm}" if alarm is not None and not case["warnOk"] else None


def main() -> int:
    """Play and print."""
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if not case.get("convention")]
    first = first_alarms(cases)
    faults = [(case, fault(case, first.get((case["name"], False)), first.get((case["name"], True)))) for case in cases]
    for case, what in faults:
        if what:
            print(f"{case['name']} ({case['should']}): {what}")
    for should in ("loop", "no loop"):
        of_kind = [what for case, what in faults if case["should"] == should]
        print(f"{should}: {of_kind.count(None)} of {len(of_kind)} as they should be")
    return 0 if cases and not any(what for _, what in faults) else 1


if __name__ == "__main__":
    sys.exit(main())
