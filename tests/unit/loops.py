"""Runs into every guard, whose arguments, results and errors are full of one secret."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loopguard.errors import InvalidFrame
from loopguard.model import Call, CallBatch, History, Outcome, Record, Signal, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard.cli.vector_play import OpenRun
    from loopguard.model import Frame

LOW = {
    "enabled": True,
    "warningThreshold": 3,
    "criticalThreshold": 5,
    "globalCircuitBreakerThreshold": 8,
    "unknownToolThreshold": 4,
}


@dataclass
class Loop:
    """Frames that end in a finding of this detector in profile `openclaw`."""

    detector: str
    frames: list[Frame]
    config: dict[str, Any] = field(default_factory=lambda: dict(LOW))


def make_secret(seed: int) -> str:
    """Return a text that stands nowhere else."""
    return f"s3cr3t{random.Random(seed).getrandbits(96):024x}"


def loops(secret: str) -> list[Loop]:
    """Return a run into each guard."""
    args = {"password": secret, secret: [secret], "command": f"login {secret}"}
    answer = {"content": [{"type": "text", "text": secret}], "details": {secret: secret, "status": secret}}
    same = step("read", args, result=answer)
    failing = step("read", args, status=Status.ERROR, error=f"no access with {secret}")
    poll = step("process", args | {"action": "poll"}, result=answer)
    unchanged = {"content": [], "details": {"changed": False, "path": secret}}
    variants = [step("write", {"path": f"{secret}{name}"}, result=unchanged) for name in "abc"]
    commands = [step("exec", args, result=failed(f"{secret} after {seconds}s")) for seconds in range(6)]
    unknown = [step("ghost", [secret, turn], status=Status.UNKNOWN_TOOL, error=secret) for turn in range(5)]
    history = History([Record("read", dumped(args), result=dumped(answer), private=dumped(secret))] * 2)
    return [
        Loop("unknown_tool_repeat", [frame for one in unknown for frame in one]),
        Loop("global_circuit_breaker", same * 9, LOW | {"detectors": {"genericRepeat": False}}),
        Loop("known_poll_no_progress", poll * 6),
        Loop("ping_pong", (same + step("list", args, result=answer)) * 4),
        Loop("generic_repeat", [history, *(same * 5)]),
        Loop("generic_repeat", [frame for command in commands for frame in command]),
        Loop("generic_repeat", step("read", args, private=secret, result=answer) * 6),
        Loop("generic_repeat", [CallBatch([Call("read", dumped(args)), *[Call("list", dumped(args))] * 6])]),
        Loop("argument_churn", (variants[0] + variants[1] + variants[2]) * 4, LOW | {"criticalThreshold": 7}),
        Loop("identical_error", failing * 3, {}),
        Loop("compaction_loop_persisted", [Signal.COMPACTION_RETRY, *(same * 3)], {}),
        Loop("generic_repeat", [*(broken(secret) * 6), CallBatch([Call("read", dumped(args))], dry_run=True)]),
    ]


def play(run: OpenRun, frames: Iterable[Frame]) -> list[object]:
    """Return what is answered, or said of a refused frame; outcomes of calls that were blocked are refused."""
    said: list[object] = []
    for frame in frames:
        try:
            said.append(run.apply(frame))
        except InvalidFrame as refused:
            said.append(str(refused))
    return said


def step(tool: str, args: object, **ending: Any) -> list[Frame]:
    """Return a call and its outcome."""
    told = {key: value if key == "status" else dumped(value) for key, value in ending.items()}
    return [CallBatch([Call(tool, dumped(args))]), Outcome(**told)]


def broken(secret: str) -> list[Frame]:
    """Return a call and an outcome that are no JSON."""
    text = f'{{"password": "{secret}", '.encode()
    return [CallBatch([Call("read", text)]), Outcome(result=text)]


def failed(output: str) -> dict[str, Any]:
    """Return what a command answers that failed."""
    return {"content": [], "details": {"status": "failed", "exitCode": 1, "aggregated": output}}


def dumped(value: object) -> bytes:
    return json.dumps(value).encode()
