"""A gateway's loop with the asyncio client: ask before the calls of a response run, tell how each ended.

    loopguard serve &
    python examples/gateway.py 127.0.0.1:50051

A scripted model stands where yours would: it reads two files at once, then retries one failing command until it is
stopped.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from loopguard import AsyncGuardClient, Call, Outcome, Status, Verdict
from loopguard.client import AsyncGuardRun

RETRIES = 40
CONFIG = {"enabled": True, "warningThreshold": 3, "criticalThreshold": 5, "globalCircuitBreakerThreshold": 8}


class Ended(Exception):
    """The guard ended the turn (until the user writes again) or the run; the message is its note."""


async def main(address: str) -> int:
    """Drive one run against the guard at `address`; return 0 if it was stopped as it should be."""
    # A guard that is away must not hold up a gateway: after the deadline the client itself says ALLOW.
    async with (
        AsyncGuardClient(address, deadline_s=0.25, on_unavailable="allow") as client,
        await client.open_run("gateway-example", config=CONFIG) as run,
    ):
        try:
            async for calls in model():
                await step(run, calls)
        except Ended as ended:
            print(f"the run was ended: {ended}")
            return 0
    print("nothing stopped the run: is the guard there?")
    return 1


async def step(run: AsyncGuardRun, calls: list[Call]) -> None:
    """Run the calls of one model response as far as the guard allows, and show the model what it has to see."""
    verdicts = await run.judge(calls)
    if any(verdict.action == "ABORT" for verdict in verdicts):
        raise Ended(next(verdict.note for verdict in verdicts if verdict.action == "ABORT"))
    if any(verdict.action == "BLOCK" for verdict in verdicts):
        # One blocked call stops its whole batch; the note is what the model gets instead of a result.
        for call, verdict in zip(calls, verdicts, strict=True):
            show(call, verdict, verdict.note or "not run: another call of this response was blocked")
        return
    for call, verdict in zip(calls, verdicts, strict=True):
        status, result = await run_tool(call)
        answer = await run.report(Outcome(verdict.call_id, status, json.dumps(result).encode()))
        # A warning's note goes behind the result, after the outcome was reported without it.
        show(call, verdict, f"{result['content'][0]['text']} {verdict.note}".strip())
        if answer.action == "ABORT":
            raise Ended(answer.note)


async def run_tool(call: Call) -> tuple[Status, dict[str, Any]]:
    """Stand in for the tools: files that can be read, and a shell that works but whose command always fails."""
    if call.tool == "exec":
        return Status.OK, {"content": [{"type": "text", "text": "make: *** [all] Error 2"}], "details": {"exitCode": 2}}
    return Status.OK, {"content": [{"type": "text", "text": "int main() { return 0 }"}]}


async def model() -> AsyncIterator[list[Call]]:
    """Stand in for the model: each item is the calls of one response."""
    yield [call("read", path="main.c", call_id="a"), call("read", path="Makefile", call_id="b")]
    for attempt in range(RETRIES):
        yield [call("exec", command="make all", call_id=f"make-{attempt}")]


def call(tool: str, *, call_id: str, **args: Any) -> Call:
    """Return a call with its arguments as JSON text."""
    return Call(tool, json.dumps(args).encode(), call_id=call_id)


def show(call: Call, verdict: Verdict, text: str) -> None:
    """Print what the model sees."""
    print(f"{verdict.action.value:<6} {call.tool:<5} {text}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: gateway.py HOST:PORT")
    sys.exit(asyncio.run(main(sys.argv[1])))
