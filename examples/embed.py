"""The engine inside a process, without a server: one engine, many runs, no network.

python examples/embed.py
"""

import json
import sys

from loopguard import Call, Engine, Outcome

STEPS_MAX = 30


def main() -> int:
    """Let two agents work side by side; return 0 if only the stuck one was stopped."""
    # The profile `balanced` is on by itself, and needs no thresholds.
    engine = Engine()
    stuck = engine.open("stuck", profile="balanced")
    honest = engine.open("honest", profile="balanced")
    stopped_at = None
    for step in range(1, STEPS_MAX + 1):
        [verdict] = stuck.judge([Call("search", b'{"query": "weather Oslo"}')])
        if verdict.action in ("BLOCK", "ABORT"):
            stopped_at = step
            print(f"stuck:  step {step}, {verdict.action.value}: {verdict.note}")
            break
        stuck.observe(Outcome(result=text("no results")))

        [verdict] = honest.judge([Call("read", json.dumps({"path": f"src/part{step}.py"}).encode())])
        if verdict.action != "ALLOW":
            print(f"honest: step {step}, {verdict.action.value}: {verdict.note}")
            return 1
        honest.observe(Outcome(result=text(f"def part{step}(): return {step * step}")))
    print(f"honest: {step} steps, nothing to say")
    return 0 if stopped_at else 1


def text(content: str) -> bytes:
    """Return an MCP result with one text."""
    return json.dumps({"content": [{"type": "text", "text": content}]}).encode()


if __name__ == "__main__":
    sys.exit(main())
