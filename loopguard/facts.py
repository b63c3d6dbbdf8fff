"""What the guard knows of a call and of its outcome beyond their digests: identities on several levels, and marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard import _core, _facts
from loopguard._facts import CallFacts, OutcomeFacts
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


class Describer:
    """Makes facts. Any thread, any number of runs."""

    def __init__(self, classes: Mapping[str, ToolClass] | None = None) -> None:
        """Take overrides of the table of tool classes."""
        self._classes = ToolClasses(classes)
        #: Of each name the one text that calls share, its class, and whether it writes the whole of what it writes.
        self._tools: dict[str, tuple[str, ToolClass, bool]] = {}

    def call(self, call: Call | Record, printed: CallPrint) -> CallFacts:
        """Describe a call that has its print."""
        tool, tool_class, whole = self._tools.get(printed.tool) or self._tool(printed.tool)
        facts = CallFacts(tool, tool_class, printed.digest)
        facts.poll = tool_class is ToolClass.POLL or printed.poll
        facts.changes = tool_class in _CHANGING or printed.send
        facts.note = tool_class is ToolClass.NOTE
        facts.whole = whole
        args = call.args
        if call.args_digest:
            facts.act(printed.action)
        elif args:
            asked = _facts.describe_call(args, not printed.flags & _core.OPAQUE, tool_class)
            facts.ask(asked, printed.action)
        else:
            facts.bare = True
        return facts

    def outcome(self, call: CallFacts, outcome: Outcome | Record, printed: OutcomePrint) -> OutcomeFacts:
        """Describe an outcome that has its print and is neither pending nor a veto."""
        status = outcome.status
        error = outcome.error or None
        failed = error is not None or status in _FAILED
        text = error or (None if outcome.private or outcome.result_digest else outcome.result)
        if text is None and (outcome.private or outcome.result_digest):
            return OutcomeFacts(printed.digest or b"", printed.failed)
        told = _FAILURE if failed else _NOTHING if status is None else _SUCCESS
        readable = not printed.flags & _core.OPAQUE
        canonical, kinds = _core.canonicalize_kinds(text, mask=MASK) if text and readable else (text or b"null", 0)
        answer = _facts.describe_outcome(canonical, readable, told, call.tool_class is ToolClass.SHELL, call)
        facts = OutcomeFacts.of(answer)
        facts.missing_tool = status is Status.UNKNOWN_TOOL or bool(printed.missing_tool)
        if not facts.failed and text and (kinds or answer.flags & _facts.LOOSE):
            facts.see(*_facts.look_at(text, readable))
            if answer.flags & _facts.PICTURE and not call.target:
                # A look at what moves by itself, not at a named picture.
                facts.same = facts.raw
        if kinds or printed.stripped:
            names = tuple(name for name, bit in _core.MASK_KINDS.items() if kinds & bit)
            keys = tuple(name for name in printed.stripped if name not in _core.MASK_KINDS)
            facts.stripped = keys + names
            if keys and printed.digest:
                # A rule left out more than masks do: what it calls equal is equal.
                facts.equate(printed.digest)
        return facts

    def _tool(self, name: str) -> tuple[str, ToolClass, bool]:
        if len(self._tools) >= _KNOWN_NAMES:
            self._tools.clear()
        tool_class = self._classes.find(name)
        whole = tool_class is ToolClass.WRITE and any(word in name for word in _WHOLE)
        self._tools[name] = found = (name, tool_class, whole)
        return found
