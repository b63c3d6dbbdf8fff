"""What one process counts: plain numbers on the way of a verdict, made into metrics only when somebody asks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from loopguard._intake import Counts, Latencies
from loopguard.model import Action, Flag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard.model import Verdict

#: A sample: the metric's name, the values of its labels, and a number, or for a histogram its counts and their sum.
Sample = tuple[str, tuple[str, ...], float | tuple[tuple[int, ...], float]]

#: Upper bounds in seconds of the latency histogram's buckets; the last one is infinity.
BOUNDS_S: Final = (0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1.0)
_ALLOW: Final = Action.ALLOW
# Asked for only where there are flags at all: an enum's `&` costs more than the rest of this.
_OPAQUE: Final = Flag.OPAQUE


class Tally(Counts):
    """Everything that only grows."""

    def __init__(self) -> None:
        self.opaque = 0
        self.decided_unavailable = 0
        self.rebuilt = 0
        self.events_lost = 0
        self.verdicts: Counter[tuple[str, str]] = Counter()
        self.runs_opened: Counter[str] = Counter()
        self.runs_ended: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.reloads: Counter[tuple[str, str]] = Counter()
        self.store_commits = self.store_snapshots = self.store_bytes = self.store_fenced = 0
        self.store_failures: Counter[str] = Counter()
        self.store_restored: Counter[str] = Counter()
        self.latencies = {rpc: Latencies(BOUNDS_S) for rpc in ("Guard", "GuardMany")}

    def judge(self, verdicts: Iterable[Verdict]) -> None:
        """Count the verdicts on calls."""
        for verdict in verdicts:
            if verdict.finding is None and verdict.action is _ALLOW:
                self.allowed += 1
            else:
                self._speak(verdict)
            if verdict.flags and verdict.flags & _OPAQUE:
                self.opaque += 1

    def observe(self, verdict: Verdict) -> None:
        """Count what was said to an outcome; that there is nothing to say is no verdict."""
        if verdict.action is not _ALLOW:
            self._speak(verdict)
        if verdict.flags and verdict.flags & _OPAQUE:
            self.opaque += 1

    def _speak(self, verdict: Verdict) -> None:
        detector = verdict.finding.detector if verdict.finding else ""
        self.verdicts[verdict.action.value, detector] += 1

    def samples(self) -> list[Sample]:
        """Return all of it by the names of the metrics."""
        told: list[Sample] = [
            ("loopguard_verdicts", (_ALLOW.value, ""), self.allowed),
            ("loopguard_opaque_json", (), self.opaque),
            ("loopguard_decided_unavailable", (), self.decided_unavailable),
            ("loopguard_runs_rebuilt", (), self.rebuilt),
            ("loopguard_watch_events_lost", (), self.events_lost),
            ("loopguard_store_commits", (), self.store_commits),
            ("loopguard_store_snapshots", (), self.store_snapshots),
            ("loopguard_store_snapshot_bytes", (), self.store_bytes),
            ("loopguard_store_fenced", (), self.store_fenced),
        ]
        # Copied at once, since another thread may ask.
        told += [("loopguard_verdicts", key, count) for key, count in dict(self.verdicts).items()]
        told += [("loopguard_runs_opened", (how,), count) for how, count in dict(self.runs_opened).items()]
        told += [("loopguard_runs_ended", (how,), count) for how, count in dict(self.runs_ended).items()]
        told += [("loopguard_refusals", (reason,), count) for reason, count in dict(self.refusals).items()]
        told += [("loopguard_store_failures", (doing,), count) for doing, count in dict(self.store_failures).items()]
        told += [("loopguard_store_restored", (result,), count) for result, count in dict(self.store_restored).items()]
        told += [("loopguard_reloads", key, count) for key, count in dict(self.reloads).items()]
        told += [
            ("loopguard_decision_seconds", (rpc,), (tuple(spent.counts), spent.sum_s))
            for rpc, spent in self.latencies.items()
        ]
        return told


def add_up(parts: Iterable[Iterable[Sample]]) -> list[Sample]:
    """Add the samples of several processes."""
    sums: dict[tuple[str, tuple[str, ...]], float | tuple[tuple[int, ...], float]] = {}
    for samples in parts:
        for name, labels, value in samples:
            before = sums.get((name, tuple(labels)))
            sums[name, tuple(labels)] = value if before is None else _add(before, value)
    return [(name, labels, value) for (name, labels), value in sums.items()]


def _add(
    one: float | tuple[tuple[int, ...], float], other: float | tuple[tuple[int, ...], float]
) -> float | tuple[tuple[int, ...], float]:
    if isinstance(one, tuple) and isinstance(other, tuple):
        counts = tuple(a + b for a, b in zip(one[0], other[0], strict=True))
        return counts, one[1] + other[1]
    assert not isinstance(one, tuple)
    assert not isinstance(other, tuple)
    return one + other
