"""Starts a server and lets two real agents talk to it: one that is stuck, and one that only waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from loopguard import Call, GuardClient, Outcome, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
STYLES = {"ALLOW": "green", "WARN": "yellow", "BLOCK": "red", "ABORT": "bold red"}
CONFIG = {
    "enabled": True,
    "warningThreshold": 3,
    "criticalThreshold": 5,
    "globalCircuitBreakerThreshold": 8,
    "unknownToolThreshold": 5,
}
ASKED_MAX = 20
PATIENCE_S = 30.0
POLLS_MIN = 12

console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    """Play both runs; return 1 if the guard did not do what it is for."""
    with serve() as address, GuardClient(address, deadline_s=PATIENCE_S, on_unavailable="block") as client:
        stuck = play_stuck_agent(client)
        waiting = play_waiting_agent(client)
    problems = []
    if not (stuck[0] == "ALLOW" and "WARN" in stuck and stuck[-2:] == ["BLOCK", "ABORT"]):
        problems.append(f"the stuck agent was not stopped as expected: {' '.join(stuck)}")
    if len(waiting) < POLLS_MIN or set(waiting) != {"ALLOW"}:
        problems.append(f"the waiting agent was not left alone: {' '.join(waiting)}")
    for problem in problems:
        console.print(f"demo failed: {problem}", style="bold red")
    if not problems:
        say("\nThe loop was stopped, the waiting was left alone.", "bold green")
    return 1 if problems else 0


@contextmanager
def serve() -> Iterator[str]:
    """Run `loopguard serve` on a free port of this machine, and stop it afterwards."""
    command = [str(Path(sys.executable).with_name("loopguard")), "serve", "--port", "0", "--log-level", "warning"]
    # The server logs each finding, which the demo shows by itself.
    log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed below
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert server.stdout is not None
    try:
        line = server.stdout.readline()
        if not line:
            server.wait()
            log.seek(0)
            raise SystemExit(f"demo failed: the server did not start: {log.read().strip()}")
        address = line.split()[-1]
        say(f"A loopguard server is listening on {address} (process {server.pid}).")
        shown = ", ".join(f"{key} {json.dumps(value)}" for key, value in CONFIG.items())
        say(f"Both runs open with lower thresholds than the default ones, to be short: {shown}.")
        yield address
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
        log.close()


def play_stuck_agent(client: GuardClient) -> list[str]:
    """Run the same failing command again and again, whatever the guard says, until it ends the run."""
    say(
        "\n1. A stuck agent. Its command fails every time, each time with another clock, pid, attempt and duration.",
        "bold",
    )
    args = {"command": "sh $EXAMPLES/flaky_deploy.sh"}
    actions: list[str] = []
    with client.open_run("demo-stuck", config=CONFIG) as run:
        for attempt in range(1, ASKED_MAX + 1):
            (verdict,) = run.judge([call("exec", args)])
            actions.append(verdict.action.value)
            show(attempt, f"exec {args['command']}", verdict)
            if verdict.action == "ABORT":
                break
            if verdict.action == "BLOCK":
                say("             the agent does not listen and asks for the same command again", "dim")
                continue
            outcome = run_command(args["command"], attempt)
            say(f"             exit {outcome['exitCode']}: {outcome['aggregated'].splitlines()[-1]}", "dim")
            report(run, verdict, outcome)
    return actions


def play_waiting_agent(client: GuardClient) -> list[str]:
    """Start a job in the background and poll it until it is done."""
    say("\n2. A waiting agent. It polls a job in the background, whose output grows.", "bold")
    actions: list[str] = []
    with client.open_run("demo-waiting", config=CONFIG) as run, background_job() as job:
        assert job.stdout is not None
        (verdict,) = run.judge([call("exec", {"command": "sh $EXAMPLES/growing_job.sh", "background": True})])
        show(0, "exec sh $EXAMPLES/growing_job.sh (in the background)", verdict)
        report(run, verdict, {"status": "running", "sessionId": "job-1", "pid": job.pid, "tail": ""})
        output = ""
        for poll in range(1, ASKED_MAX + 1):
            (verdict,) = run.judge([call("process", {"action": "poll", "sessionId": "job-1"})])
            actions.append(verdict.action.value)
            # The tool answers when there is something new, or when the job is done.
            line = job.stdout.readline()
            output += line
            state = {"status": "running"} if line else {"status": "completed", "exitCode": job.wait()}
            show(poll, f"process poll job-1: {line.strip() or 'done'}", verdict)
            report(run, verdict, {**state, "pid": job.pid, "aggregated": output})
            if not line:
                break
    return actions


@contextmanager
def background_job() -> Iterator[subprocess.Popen[str]]:
    """Run the growing job, and end it if nobody waited for it."""
    job = subprocess.Popen(["sh", HERE / "growing_job.sh"], stdout=subprocess.PIPE, text=True)
    assert job.stdout is not None
    with job.stdout:
        try:
            yield job
        finally:
            job.terminate()
            job.wait()


def run_command(command: str, attempt: int) -> dict[str, Any]:
    """Run a command for real, in a fresh temporary directory, and return what the tool `exec` tells of it."""
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        started = time.monotonic()
        environment = {**os.environ, "EXAMPLES": str(HERE.resolve()), "ATTEMPT": str(attempt)}
        with subprocess.Popen(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            output, _ = process.communicate()
        took_ms = round((time.monotonic() - started) * 1000)
    return {
        "status": "completed",
        "exitCode": process.returncode,
        "aggregated": output,
        "pid": process.pid,
        "durationMs": took_ms,
        "cwd": folder,
    }


def call(tool: str, args: dict[str, Any]) -> Call:
    """Return a call with its arguments as JSON text."""
    return Call(tool, json.dumps(args).encode())


def report(run: Any, verdict: Verdict, details: dict[str, Any]) -> None:
    """Tell the guard how the call ended."""
    text = details.get("aggregated", "")
    result = {"content": [{"type": "text", "text": text}], "details": details}
    run.report(Outcome(verdict.call_id, Status.OK, json.dumps(result).encode()))


def show(number: int, what: str, verdict: Verdict) -> None:
    """Print a verdict with its reason."""
    line = Text(f"{number:>4}  ")
    line.append(f"{verdict.action.value:<7}", STYLES[verdict.action.value])
    line.append(what)
    console.print(line)
    finding = verdict.finding
    if finding is not None:
        what = f"{finding.detector}, {finding.level.value}: counted {finding.count}, threshold {finding.threshold}"
        say(
            f"             {what}{'' if verdict.note else ' (a note is not due again yet)'}",
            STYLES[verdict.action.value],
        )
    if verdict.note:
        say(f"             note for the model: {verdict.note}", STYLES[verdict.action.value])


def say(text: str, style: str = "") -> None:
    """Print a line."""
    console.print(Text(text, style))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
