"""What counting costs on a verdict's way: the same messages with and without the numbers behind `/metrics`, in turn."""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING, Any

from loopguard.server.conversation import GuardConversation
from loopguard.server.limits import Limits
from loopguard.server.many_conversation import ManyConversation
from loopguard.server.sessions import Sessions
from loopguard.server.tally import BOUNDS_S, Tally
from loopguard.server.watch import Hub

from loopguard import Configuration, Engine
from loopguard._intake import Latencies
from loopguard.cli.wire_load import Frames, Load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Messages of a round; a round of one kind follows one of the other.
PER_ROUND = {"Guard": 256, "GuardMany": 8}
CALLS_A_MESSAGE = {"Guard": 0.5, "GuardMany": 64}


class Uncounted(Tally):
    """Counts nothing, but for the one addition that stands in the way itself."""

    def judge(self, verdicts: Iterable[Any]) -> None:
        """Take no notice."""

    def observe(self, verdict: Any) -> None:
        """Take no notice."""


class Silent:
    """A stream on which nothing is said."""

    def say(self, *_: object) -> None:
        """Say nothing."""


def player(rpc: str, *, counted: bool) -> Callable[[], float]:
    """Return what plays one round through a conversation of its own and returns the CPU time in seconds."""
    limits, tally = Limits(), Tally() if counted else Uncounted()
    hub = Hub(tally, time.time, limits.watch_events)
    engine = Engine(Configuration.guarded())
    sessions = Sessions(engine, limits, hub, tally, now=time.monotonic, version="bench")
    conversation = {"Guard": GuardConversation, "GuardMany": ManyConversation}[rpc](sessions, limits, "", Silent())
    many = rpc == "GuardMany"
    frames = Frames(Load(many=many, streams=1, size=64 if many else 1, seconds=0), 0)
    conversation.receive(frames.opening())
    receive, clock, spent = conversation.receive, time.perf_counter, Latencies(BOUNDS_S).add

    def play() -> float:
        messages = [frames.next()[0] for _ in range(PER_ROUND[rpc])]
        began = time.thread_time_ns()
        if counted:
            for message in messages:
                begun = clock()
                receive(message)
                spent(clock() - begun)
        else:
            for message in messages:
                receive(message)
        return (time.thread_time_ns() - began) / 1e9

    return play


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    options = parser.parse_args()
    for rpc, messages in PER_ROUND.items():
        with_, without = player(rpc, counted=True), player(rpc, counted=False)
        with_(), without()
        pairs = [(with_(), without()) for _ in range(options.rounds)]
        ratios = [one / other for one, other in pairs]
        calls = messages * CALLS_A_MESSAGE[rpc]
        whole, rest = (statistics.median(times) / calls * 1e6 for times in zip(*pairs, strict=True))
        lower, median, upper = statistics.quantiles(ratios, n=4)
        print(
            f"{rpc}: a call and its outcome {whole:.2f} us counted, {rest:.2f} uncounted;"
            f" ratio {median:.3f} (quartiles {lower:.3f} to {upper:.3f})"
        )


if __name__ == "__main__":
    main()
