"""Judges a batch of calls by a run's history: detectors in their order, warnings by bucket, nothing changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard.detectors import PROFILES, lowest_count
from loopguard.fingerprints import Kind
from loopguard.model import Level
from loopguard.openclaw.warning_buckets import bucket_of, note_given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard.config import LoopDetection
    from loopguard.detectors import Sighting
    from loopguard.fingerprints import CallPrint
    from loopguard.history import History
    from loopguard.openclaw.warning_buckets import Buckets


class Judgement:
    """What there is to say about a batch.

    `sightings` and `due` (whether its note is due) are by place in the batch; `trigger` is the place of the first
    critical finding, behind which nothing was judged; `buckets` are those after the batch.
    """

    __slots__ = ("buckets", "due", "sightings", "trigger")

    def __init__(self, buckets: Buckets) -> None:
        """Start with nothing to say."""
        self.sightings: dict[int, Sighting] = {}
        self.due: set[int] = set()
        self.buckets = buckets
        self.trigger: int | None = None


class Judge:
    """The detectors of a profile with the thresholds of one configuration; shared by all runs that have both."""

    __slots__ = ("_detectors", "_limits", "_lowest", "_tools", "quiet_below")

    def __init__(self, profile: str, limits: LoopDetection) -> None:
        """Take the detectors of a known profile."""
        self._detectors = PROFILES[profile]
        self._limits = limits
        self._lowest = lowest_count(limits)
        self._tools = limits.tools
        #: No detector has anything to say about a call while every count is below this; 0 if that can't be told.
        self.quiet_below = 0 if limits.tools else self._lowest

    def judge(
        self, history: History, buckets: Buckets, ids: Sequence[str], calls: Sequence[CallPrint | None]
    ) -> Judgement | None:
        """Judge a batch in order, each call as if its earlier siblings had been vetoed; `None`: nothing to say."""
        judgement: Judgement | None = None
        previous: CallPrint | None = None
        for place, call in enumerate(calls):
            if call is None:
                raise LookupError("a call without print")
            if previous is not None:
                if place == 1:
                    history = history.copy()
                history.append_call(previous, ids[place - 1], Kind.VETO)
            previous = call
            seen = self._look(history, call)
            if seen is None:
                continue
            sighting, limits = seen
            if judgement is None:
                judgement = Judgement(buckets)
            judgement.sightings[place] = sighting
            if sighting.finding.level is Level.CRITICAL:
                judgement.trigger = place
                break
            bucket = bucket_of(sighting.finding.count, limits.warning_threshold)
            if bucket > judgement.buckets.get(sighting.key, -1):
                judgement.due.add(place)
                judgement.buckets = note_given(judgement.buckets, sighting.key, bucket)
        return judgement

    def _look(self, history: History, call: CallPrint) -> tuple[Sighting, LoopDetection] | None:
        """Return the first finding about a call, and the thresholds that hold for its tool."""
        limits, lowest = self._limits, self._lowest
        poll = call.poll
        if self._tools and (tool := self._tools.get(call.tool)) is not None:
            if tool.exempt:
                return None
            poll = poll or (tool.polls is not None and (not tool.polls or call.action in tool.polls))
            if tool.limits is not None:
                limits, lowest = tool.limits, lowest_count(tool.limits)
        facts = history.facts(call, lowest)
        if facts is None:
            return None
        facts.poll = poll
        for detector in self._detectors:
            sighting = detector(facts, limits)
            if sighting is not None:
                return sighting, limits
        return None
