"""The demo shows a real stuck agent stopped and a real waiting one left alone, over a real server."""

import re
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_demo_shows_what_it_promises() -> None:
    done = subprocess.run([sys.executable, DEMO], capture_output=True, text=True, check=False, timeout=120)

    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    head, stuck, waiting = re.split(r"\n[12]\. ", done.stdout)
    assert "enabled true, warningThreshold 3, criticalThreshold 5" in head
    assert "globalCircuitBreakerThreshold 8, unknownToolThreshold 5" in head
    actions = re.findall(r"^ +\d+  ([A-Z]+) ", stuck, re.MULTILINE)
    assert actions == ["ALLOW", "ALLOW", "ALLOW", "WARN", "ALLOW", "BLOCK", "ABORT"]
    reported = re.findall(r"exit 1: (.*)", stuck)
    assert len(set(reported)) == 5
    assert all(re.search(r"\d\d:\d\dZ .*pid \d+, attempt \d, took 0\.\ds", line) for line in reported)
    assert stuck.count("note for the model: ") == 3
    polls = re.findall(r"^ +\d+  ([A-Z]+) +process poll", waiting, re.MULTILINE)
    assert len(polls) >= 12
    assert set(polls) == {"ALLOW"}
