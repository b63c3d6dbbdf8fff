"""What profile `balanced` costs beside `openclaw`: a call with its outcome in the detectors, and the text work a KB.

Prints microseconds of thread CPU time, the best of some rounds, on a seeded run of new and repeated calls, beside what
an empty Python loop takes a turn: on a busy machine only the ratios mean something.
"""

from __future__ import annotations

import json
import random
import time
from functools import partial
from typing import TYPE_CHECKING

from loopguard import _core, _facts
from loopguard.balanced.watch import Asked, Watch
from loopguard.balanced_limits import DEFAULT_LIMITS
from loopguard.course import Lineage
from loopguard.engine import Engine
from loopguard.facts import Describer
from loopguard.fingerprints import default_fingerprinter
from loopguard.model import Call, Mode, Outcome, RunOpen, Status

if TYPE_CHECKING:
    from collections.abc import Callable

SEED, STEPS, ROUNDS = 7, 2000, 5
WORDS = (
    "build",
    "of",
    "module",
    "seven",
    "fails",
    "with",
    "an",
    "error",
    "in",
    "line",
    "14",
    "src/main.py",
    "10:00:00",
)


def steps(size: int) -> list[tuple[Call, Outcome]]:
    """Return calls with outcomes of about `size` bytes: three in four are new, one in eight fails."""
    chance = random.Random(SEED)
    made = []
    for number in range(STEPS):
        which = number if chance.random() < 0.75 else chance.randrange(8)
        args = json.dumps({"command": f"grep -rn name{which} src/part{which}", "explanation": "to see where it is"})
        lines = [" ".join(chance.choices(WORDS, k=12)) + f" {which}" for _ in range(max(size // 80, 1))]
        text = json.dumps({"content": [{"type": "text", "text": "\n".join(lines)}]}).encode()
        failed = chance.random() < 0.125
        outcome = Outcome(status=Status.ERROR, error=text) if failed else Outcome(status=Status.OK, result=text)
        made.append((Call("bash", args.encode()), outcome))
    return made


def best(work: Callable[[], object]) -> float:
    """Return the shortest CPU time of some rounds, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return min(times)


def play(profile: str, made: list[tuple[Call, Outcome]]) -> None:
    """Play a run through the engine, fingerprints and all."""
    run = Engine().open(RunOpen("run", profile=profile, mode=Mode.OBSERVE, config={"enabled": True}))
    for call, outcome in made:
        run.judge([call])
        run.observe(outcome)


def measure(size: int) -> str:
    """Return a line about outcomes of about `size` bytes."""
    made = steps(size)
    printer, describer = default_fingerprinter(), Describer()
    prints = [(call, outcome, printer.call(call)) for call, outcome in made]
    printed = [(call, outcome, one, printer.outcome(one, outcome)) for call, outcome, one in prints]
    masked = [
        _core.canonicalize(outcome.result or outcome.error or b"", mask=_core.DEFAULT_MASK) for _, outcome in made
    ]
    facts = [describer.call(call, one) for call, _, one, _ in printed]
    answers = [describer.outcome(fact, outcome, two) for fact, (_, outcome, _, two) in zip(facts, printed, strict=True)]

    def judge() -> None:
        watch = Watch(DEFAULT_LIMITS, Lineage())
        for number, (fact, answer, (_, _, one, two)) in enumerate(zip(facts, answers, printed, strict=True)):
            watch.ask(fact)
            watch.admit(fact)
            watch.settle(Asked(fact, one.digest, number, None), answer, "c", two.digest or b"")

    kilobytes = sum(map(len, masked)) / 1024
    calls = best(lambda: [describer.call(call, one) for call, _, one, _ in printed]) / STEPS
    words = best(lambda: [_facts.describe_outcome(text, True, 1, True) for text in masked]) / kilobytes
    plain = best(lambda: [_core.canonicalize(text) for text in masked]) / kilobytes
    openclaw, balanced = (best(partial(play, profile, made)) / STEPS for profile in ("openclaw", "balanced"))
    return (
        f"outcomes of {size:>5} B: detectors {best(judge) / STEPS * 1e6:5.1f} us a call + outcome; facts "
        f"{calls * 1e6:4.1f} us a call, {words * 1e6:5.2f} us a KB (canonical form {plain * 1e6:5.2f}); "
        f"all in {balanced * 1e6:6.1f} us, openclaw {openclaw * 1e6:6.1f} us"
    )


def main() -> None:
    """Measure and print."""
    print(f"an empty loop takes {best(lambda: [None for _ in range(10**6)]) * 1e3:.0f} ns a turn here")
    for size in (200, 4000, 32000):
        print(measure(size))


if __name__ == "__main__":
    main()
