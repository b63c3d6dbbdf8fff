"""What the guard knows of a call and of its outcome beyond their digests: identities on several levels, and marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard import _core, _facts
from loopguard._pack import Reader, Writer
from loopguard.model import Status
from loopguard.tool_class import ToolClass, ToolClasses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopguard.fingerprints import CallPrint, OutcomePrint
    from loopguard.model import Call, Outcome, Record

_FAILED: Final = frozenset({Status.ERROR, Status.UNKNOWN_TOOL, Status.INVALID_ARGUMENTS, Status.DENIED})
_CHANGING: Final = frozenset({ToolClass.WRITE, ToolClass.SEND, ToolClass.SPAWN})
_WHOLE: Final = ("write", "create", "save")
_NOTHING, _SUCCESS, _FAILURE = 0, 1, 2
#: What is left out of outcomes before they are compared.
MASK: Final[int] = getattr(_core, "DEFAULT_MASK", _core.WRAPPER_NONCE)
#: Names come from models, so what is kept of them has a bound; beyond it everything is forgotten at once.
_KNOWN_NAMES: Final = 4096


#: The marks of a call, in the order in which snapshots know them.
_MARKS: Final = ("changes", "poll", "note", "free_text", "whole", "bare")
_CLASSES: Final = tuple(ToolClass)


class CallFacts:
    """A call on several levels: `same` its exact identity, `near` one that forgives spelling, `family` its program.

    `asked` is `None` if only a digest is known. `target` and `family` are 0 if there is none.
    """

    __slots__ = (
        "_packed",
        "asked",
        "bare",
        "changes",
        "family",
        "free_text",
        "lines",
        "near",
        "note",
        "number",
        "pause_s",
        "poll",
        "program",
        "same",
        "target",
        "tool",
        "tool_class",
        "whole",
    )

    def __init__(self, tool: str, number: int, tool_class: ToolClass, same: int) -> None:
        self.tool = tool
        #: Stands for the tool in identities.
        self.number = number
        self.tool_class = tool_class
        self.same = same
        self.near = same
        #: Tool and program, action or operation: what an error belongs to.
        self.program = number
        #: Tool and the program's first word; 0 for a program that runs any code.
        self.family: int = self.program
        self.target = 0
        self.lines: tuple[int, int] | None = None
        #: How long it says that it waits.
        self.pause_s = 0
        self.changes = tool_class in _CHANGING
        self.poll = tool_class is ToolClass.POLL
        #: It only keeps the model's own words.
        self.note = tool_class is ToolClass.NOTE
        self.free_text = False
        #: It gives all of what it writes, not a part: another such call replaces it.
        self.whole = tool_class is ToolClass.WRITE and any(word in tool for word in _WHOLE)
        #: No arguments: what it asks depends on where the agent stands.
        self.bare = False
        self.asked: _facts.Asked | None = None
        self._packed = b""

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot. It changes no more, and a run that goes on is written again and again."""
        if not self._packed:
            own = Writer()
            self._pack(own)
            self._packed = own.written()
        out.once(self._packed)

    def _pack(self, out: Writer) -> None:
        out.text(self.tool)
        out.number(self.tool_class)
        out.words((self.number, self.same, self.near, self.program, self.family, self.target))
        out.number(sum(1 << bit for bit, name in enumerate(_MARKS) if getattr(self, name)))
        out.flag(self.lines is not None)
        for line in self.lines or ():
            out.word(line)
        out.number(self.pause_s)
        out.optional_blob(None if self.asked is None else self.asked.pack())

    @classmethod
    def unpack(cls, data: Reader) -> CallFacts:
        """Read one that was packed."""
        known = data.again()
        if known is not None:
            assert isinstance(known, CallFacts)
            return known
        packed = data.blob()
        own = Reader(packed)
        # Past the constructor, whose work was done when the call came.
        made = cls.__new__(cls)
        made._packed = packed
        made.tool, made.tool_class = own.text(), _CLASSES[own.small(len(_CLASSES) - 1)]
        made.number, made.same, made.near, made.program, made.family, made.target = own.words()
        marks = own.small((1 << len(_MARKS)) - 1)
        made.changes, made.poll, made.note = bool(marks & 1), bool(marks & 2), bool(marks & 4)
        made.free_text, made.whole, made.bare = bool(marks & 8), bool(marks & 16), bool(marks & 32)
        made.lines = (own.word(), own.word()) if own.flag() else None
        made.pause_s = own.number()
        asked = own.optional_blob()
        made.asked = None if asked is None else _facts.Asked.unpack(asked)
        own.finish()
        data.keep(made)
        return made


class OutcomeFacts:
    """An outcome on several levels: `raw`, `same` (masked, lines in any order), `digitless` (0 if short), `signatures`.

    `counters` are the numbers in what `same` leaves out, `digits` those in what `digitless` leaves out. Signatures are
    of errors, none for a success. `empty`: nothing is in it; `acknowledged`: it says only that it was done;
    `pending`: what was asked about goes on; `vain`: a search without a hit; `verdict`: a red test, so the tool worked;
    `rejected`: the harness refused the reply.
    """

    __slots__ = (
        "acknowledged",
        "counters",
        "digitless",
        "digits",
        "empty",
        "failed",
        "missing_tool",
        "pending",
        "raw",
        "rejected",
        "same",
        "signatures",
        "size",
        "stripped",
        "transient",
        "vain",
        "verdict",
    )

    def __init__(self, same: int, failed: bool) -> None:
        self.same = self.raw = same
        self.counters: _facts.Counters | None = None
        self.digits: _facts.Counters | None = None
        self.failed = failed
        #: The tool does not exist.
        self.missing_tool = False
        #: Volatile keys and kinds of text that were left out.
        self.stripped: tuple[str, ...] = ()
        self.digitless = 0
        self.signatures: tuple[int, ...] = (same,) if failed else ()
        self.size = 0
        self.empty = self.acknowledged = self.pending = self.transient = self.vain = self.verdict = self.rejected = (
            False
        )

    @property
    def informative(self) -> bool:
        """Whether there is something in it to know."""
        return not (self.empty or self.acknowledged)


class Describer:
    """Makes facts. Any thread, any number of runs."""

    def __init__(self, classes: Mapping[str, ToolClass] | None = None) -> None:
        """Take overrides of the table of tool classes."""
        self._classes = ToolClasses(classes)
        self._tools: dict[str, tuple[int, ToolClass]] = {}

    def call(self, call: Call | Record, printed: CallPrint) -> CallFacts:
        """Describe a call that has its print."""
        tool = printed.tool
        number, tool_class = self._tools.get(tool) or self._tool(tool)
        facts = CallFacts(tool, number, tool_class, hash((number, _int(printed.digest))))
        facts.poll = facts.poll or printed.poll
        facts.changes = facts.changes or printed.send
        args = call.args
        if call.args_digest:
            facts.program = facts.family = hash((number, _facts.number_of(printed.action)))
            return facts
        if not args:
            facts.bare = True
            return facts
        asked = facts.asked = _facts.describe_call(args, not printed.flags & _core.OPAQUE, facts.tool_class)
        flags = asked.flags
        facts.near = hash((number, asked.near))
        if flags & _facts.VOLATILE:
            facts.same = facts.near
        facts.program = hash((number, asked.program, _facts.number_of(printed.action)))
        facts.family = 0 if flags & _facts.INLINE_CODE else hash((number, asked.family))
        facts.target = asked.target
        facts.pause_s = asked.pause_s
        facts.changes = facts.changes or bool(flags & _facts.CHANGES)
        facts.poll = facts.poll or bool(flags & _facts.WAITS)
        facts.free_text = bool(flags & _facts.FREE_TEXT)
        facts.bare = bool(flags & _facts.BARE)
        if flags & _facts.VIEWS:
            facts.changes = False
            facts.tool_class = ToolClass.READ
        if asked.end_line:
            facts.lines = (asked.first_line, asked.end_line)
        return facts

    def outcome(self, call: CallFacts, outcome: Outcome | Record, printed: OutcomePrint) -> OutcomeFacts:
        """Describe an outcome that has its print and is neither pending nor a veto."""
        status = outcome.status
        error = outcome.error or None
        failed = error is not None or status in _FAILED
        text = error or (None if outcome.private or outcome.result_digest else outcome.result)
        if text is None and (outcome.private or outcome.result_digest):
            facts = OutcomeFacts(_int(printed.digest or b""), printed.failed)
            facts.size = 1
            return facts
        told = _FAILURE if failed else _NOTHING if status is None else _SUCCESS
        readable = not printed.flags & _core.OPAQUE
        canonical, kinds = _core.canonicalize_kinds(text, mask=MASK) if text and readable else (text or b"null", 0)
        answer = _facts.describe_outcome(canonical, readable, told, call.tool_class is ToolClass.SHELL, call.asked)
        flags = answer.flags
        facts = OutcomeFacts(answer.bag, bool(flags & _facts.FAILED))
        facts.digitless, facts.digits, facts.size = answer.digitless, answer.counters, answer.size
        facts.missing_tool = status is Status.UNKNOWN_TOOL or bool(printed.missing_tool)
        if not facts.failed and text and (kinds or flags & _facts.LOOSE):
            facts.raw, facts.counters = _facts.look_at(text, readable)
            if flags & _facts.PICTURE and not call.target:
                # A look at what moves by itself, not at a named picture.
                facts.same = facts.raw
        if kinds or printed.stripped:
            names = tuple(name for name, bit in _core.MASK_KINDS.items() if kinds & bit)
            keys = tuple(name for name in printed.stripped if name not in _core.MASK_KINDS)
            facts.stripped = keys + names
            if keys and printed.digest:
                # A rule left out more than masks do: what it calls equal is equal.
                facts.same = facts.raw = _int(printed.digest)
        if facts.failed:
            last, first = answer.last_error, answer.first_error
            facts.signatures = (last,) if last == first else (last, first)
        if flags:
            facts.empty = bool(flags & _facts.EMPTY)
            facts.acknowledged = bool(flags & _facts.ACKNOWLEDGED)
            facts.pending = bool(flags & _facts.PENDING)
            facts.transient = bool(flags & _facts.TRANSIENT)
            facts.vain = bool(flags & _facts.VAIN)
            facts.verdict = bool(flags & _facts.VERDICT)
            facts.rejected = bool(flags & _facts.REJECTED)
        return facts

    def _tool(self, name: str) -> tuple[int, ToolClass]:
        if len(self._tools) >= _KNOWN_NAMES:
            self._tools.clear()
        tool = self._tools[name] = (_facts.number_of(name), self._classes.find(name))
        return tool


def _int(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "big")
