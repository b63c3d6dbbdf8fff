"""The rules about one tool, made ready: asked in order, the first answer is written into a print."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from loopguard import _core
from loopguard.fingerprints.reading import Parts, Reader, any_of, compiled, place_reader, quoted, test_of, value_reader
from loopguard.fingerprints.short_way import TAGS, outcome_reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard._prints import OutcomePrint
    from loopguard.rules.plan import Case, Plan

NO_RESULT: Final[Parts] = (0, b"null", False, False, None, None, [])

_NONCE: Final = _core.WRAPPER_NONCE


class Judge:
    """The rules about one tool, made ready; `names` are what `_core.read_result` has to be asked for."""

    __slots__ = ("_cases", "names", "reader", "vetoes")

    def __init__(self, plan: Plan, action: str) -> None:
        self.names = _core.Names(plan.names)
        #: Tells whether a shaped result is a guard's own block.
        self.vetoes = any_of(tuple(test_of(rule, plan.names) for rule in plan.vetoes))
        self._cases = {
            shape: tuple(_Ready(case, plan.names, quoted(action.encode())) for case in cases)
            for shape, cases in plan.cases.items()
        }
        #: Reads outcomes in one step that have neither failed nor an error; `None` where rules ask for more.
        self.reader = outcome_reader(plan, self.names)

    def settle(self, shape: str, made: OutcomePrint, parts: Parts) -> None:
        """Ask the rules of a shape in order and write the first answer into the print."""
        for case in self._cases[shape]:
            if case.failed is not None and case.failed is not made.failed:
                continue
            if case.test is None or case.test(parts):
                case.settle(made, parts)
                return


class _Ready:
    """A case made ready; what it reads is made once for each combination of free rules that hold."""

    __slots__ = (
        "_case", "_compiled", "_free", "_kind", "_place", "_readers", "_rule", "_variants", "_volatile", "failed",
        "test",
    )  # fmt: skip

    def __init__(self, case: Case, names: tuple[str, ...], action: bytes) -> None:
        self._case = case
        self._rule = case.rule
        self._place = partial(place_reader, names=names, action=action)
        self._kind = TAGS[case.rule.kind]
        self._free = tuple((rule.failed, test_of(rule, names)) for rule in case.free)
        # Enough for most outcomes, which have nothing that rules leave out of a value.
        self._compiled = compiled(case, names)
        self._variants: dict[tuple[bool, ...], tuple[Reader, ...]] = {}
        self._readers = self._variant(())
        self._volatile = tuple((names.index(name), name) for name in case.rule.volatile)
        self.failed = case.rule.failed
        self.test = test_of(case.rule, names)

    def settle(self, made: OutcomePrint, parts: Parts) -> None:
        if self._compiled is not None:
            made.digest, stripped, values = self._compiled.digest(self._kind, parts)
        else:
            stripped = []
            values = [read(parts, stripped) for read in self._readers_for(parts, made.failed)]
            made.digest, nonces = _core.digest_canonical(self._kind, values)
            if nonces:
                stripped.append("wrapper_nonce")
            if self._volatile:
                picked = parts[6]
                stripped += [name for index, name in self._volatile if picked[index] is not None]
        if stripped:
            made.stripped = tuple(dict.fromkeys(stripped))
        rule = self._rule
        if rule.stuck:
            made.stuck = True
        if rule.identity:
            made.identity, made.moving = _failure_identity(values)

    def _readers_for(self, parts: Parts, failed: bool) -> tuple[Reader, ...]:
        if not self._free:
            return self._readers
        return self._variant(
            tuple((wanted is None or wanted is failed) and (test is None or test(parts)) for wanted, test in self._free)
        )

    def _variant(self, holding: tuple[bool, ...]) -> tuple[Reader, ...]:
        readers = self._variants.get(holding)
        if readers is None:
            free = (rule for rule, holds in zip(self._case.free, holding, strict=False) if holds)
            rules = (*self._case.fixed, *free)
            readers = tuple(value_reader(value, self._place, rules) for value in self._rule.values or ())
            self._variants[holding] = readers
        return readers


def _failure_identity(values: Sequence[bytes | None]) -> tuple[bytes | None, tuple[str, ...]]:
    """Return what tells one terminal failure of a command from another, and the kinds of text that don't count for it.

    `None` where it is none (SEMANTICS 4.2).
    """
    status, code, timed_out, output = values
    if status is None or code is None or output is None or timed_out != b"false":
        return None, ()
    if code in (b"0", b"null") or output in (b'""', b'"(Command exited with code %b)"' % code):
        return None, ()
    output, moving = _core.blank_moving_parts(_core.canonicalize(output, mask=_NONCE))
    # The leading NUL keeps an output that happens to be JSON from being read as such.
    return _core.fingerprint(b"\0".join((b"", status, code, output))), moving
