"""What detectors hold against calls to come, and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard._facts import CallFacts
from loopguard.detectors.balanced.hit import About
from loopguard.model import Finding, Level
from loopguard.tool_class import ToolClass
from loopguard.verdicts import pack_finding, unpack_finding

if TYPE_CHECKING:
    from collections.abc import Hashable

    from loopguard._pack import Reader, Writer
    from loopguard.detectors.balanced.hit import Hit

#: These end with their row, not with news: each new version is news.
_ROWS: Final = (About.TARGET, About.TOOL)
_NAMES_KEPT: Final = 256
#: A call is blocked for its wording only if it keeps most of its words; a milder likeness is for words to the model.
_BLOCKED_LIKENESS: Final = 0.8


class Standing:
    """A hit that stands: what it found, about which call, how often it was told."""

    __slots__ = ("call", "finding", "stops", "told")

    def __init__(self, finding: Finding, call: CallFacts, stops: bool) -> None:
        self.finding = finding
        self.call = call
        self.stops = stops
        #: The count at which the model was told; 0 is never.
        self.told = 0

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        pack_finding(self.finding, out)
        self.call.pack(out, settled=True)
        out.flag(self.stops)
        out.number(self.told)

    @classmethod
    def unpack(cls, data: Reader) -> Standing:
        """Read one that was packed."""
        made = cls(unpack_finding(data), CallFacts.unpack(data), data.flag())
        made.told = data.number()
        return made


class Register:
    """The standing hits of a run, by what they are about."""

    __slots__ = ("_missing", "_standing", "_worked")

    def __init__(self) -> None:
        self._standing: dict[Hashable, Standing] = {}
        self._missing: set[int] = set()
        self._worked: set[int] = set()

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.number(len(self._standing))
        for key, standing in self._standing.items():
            out.number(_about(key))
            standing.pack(out)
        out.marks(self._missing)
        out.marks(self._worked)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed."""
        self._standing = {}
        for _ in range(data.count()):
            about, standing = About(data.number()), Standing.unpack(data)
            self._standing[_key(about, standing.finding.detector, standing.call)] = standing
        self._missing = set(data.marks())
        self._worked = set(data.marks())

    def enter(self, hit: Hit, finding: Finding, call: CallFacts) -> Standing:
        """Let a hit stand; an older one on the same ground keeps its right to stop, and what was told."""
        key = _key(hit.about, hit.detector, call)
        standing = Standing(finding, call, hit.stops)
        older = self._standing.get(key)
        if older is not None:
            standing.stops = standing.stops or older.stops
            standing.told = older.told if older.finding.detector == finding.detector else 0
        self._standing[key] = standing
        if standing.stops:
            standing.finding.level = Level.CRITICAL
        return standing

    def clear(self) -> None:
        """Let news pay back what stood, but for rows."""
        if self._standing:
            self._standing = {key: one for key, one in self._standing.items() if _about(key) in _ROWS}

    def end_rows(self) -> None:
        """Let go of rows that other work ended."""
        if self._standing:
            self._standing = {key: one for key, one in self._standing.items() if _about(key) not in _ROWS}

    def clear_all(self) -> None:
        """Let go of everything."""
        self._standing = {}

    def learn(self, number: int, missing: bool) -> None:
        """Remember of a tool whether it exists."""
        names = self._missing if missing else self._worked
        if len(names) < _NAMES_KEPT:
            names.add(number)

    def find(self, call: CallFacts, *, failed: bool) -> tuple[Standing, bool] | None:
        """Return what stands against a call, and whether it stops it; what stops comes first.

        `failed`: this very call failed since the last news.
        """
        if not self._standing:
            return None
        milder: Standing | None = None
        for about in About:
            standing = self._standing.get(_key(about, "", call)) if about is not About.RUN else self._of_run()
            if standing is None or not self._concerns(about, call):
                continue
            if standing.stops and self._may_stop(about, standing, call, failed):
                return standing, True
            milder = milder or standing
        return None if milder is None else (milder, False)

    def _of_run(self) -> Standing | None:
        return next((one for key, one in self._standing.items() if _about(key) is About.RUN), None)

    def _concerns(self, about: About, call: CallFacts) -> bool:
        if about is About.MISSING_TOOL:
            return call.number in self._missing or call.number not in self._worked
        return about is not About.FORMAT or call.tool_class is ToolClass.REJECT

    def _may_stop(self, about: About, standing: Standing, call: CallFacts, failed: bool) -> bool:
        if about is About.MISSING_TOOL:
            return call.number in self._missing
        if about is About.PROGRAM or (failed and about is About.WORDING):
            # A fresh attempt at what failed many times is an attempt; one that is among those that failed is none.
            return failed
        if about is not About.WORDING or standing.call.same == call.same:
            return True
        return standing.call.worded and call.worded and standing.call.likeness(call) >= _BLOCKED_LIKENESS


def _key(about: About, detector: str, call: CallFacts) -> Hashable:
    match about:
        case About.CALL:
            return about, call.same
        case About.SPELLING:
            return about, call.near
        case About.WORDING | About.PROGRAM:
            return about, call.program
        case About.TARGET:
            return about, call.number, call.target
        case About.TOOL:
            return about, call.number
        case About.RUN:
            return about, detector
        case _:
            return (about,)


def _about(key: Hashable) -> About:
    return key[0]  # type: ignore[index, no-any-return]  # every key begins with it
