"""Turns calls and outcomes into digests: rules say what counts of an outcome, this module which is asked when."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, TypeVar

from loopguard import _core
from loopguard._prints import CallPrint, CallReader, OutcomePrint, Readers
from loopguard.errors import InvalidFrame, InvalidRule, Reason
from loopguard.fingerprints.judge import NO_RESULT, Judge
from loopguard.fingerprints.kind import Kind
from loopguard.fingerprints.reading import Parts, core_rules, quoted
from loopguard.fingerprints.short_way import TAGS
from loopguard.model import Call, Outcome, Record, Status
from loopguard.rules import Rule, RuleSet, load_rules
from loopguard.rules.edit import edit_at
from loopguard.rules.path import ANY, DEEP, ROOTS, Path
from loopguard.rules.plan import plan_for
from loopguard.rules.rule import SHAPES
from loopguard.tool_name import normal_name

_OPAQUE: Final = _core.OPAQUE
_NONCE: Final = _core.WRAPPER_NONCE
_DIGEST_SIZE = 16
_ACTION: Final = _core.Names(("action",))
_POLLS: Final = frozenset({"command_status", "wait"})
_POLL_ACTIONS: Final = ("poll", "log")
_EMPTY_ARGUMENTS: Final = _core.fingerprint(b"{}")
#: An error is read as status ERROR where the status does not say more.
_UNNAMED: Final = (None, Status.OK, Status.ERROR)
_NO_OUTCOME: Final = {
    Status.CANCELLED: Kind.PENDING,
    Status.PENDING: Kind.PENDING,
    Status.LOOP_VETO: Kind.VETO,
}
# An enum's member costs more to look up than a name of the module.
_OK: Final = Status.OK
_DONE: Final = Kind.DONE
_VETO: Final = Kind.VETO
#: Names come from models, so what is kept for each has a bound; beyond it everything is forgotten at once.
_KNOWN_NAMES = 4096

_MISSING_TOOL = (
    re.compile(r"unknown tool(?:\s+id(?=:))?[\s:]+[\"'`]?([a-z0-9_.-]+)", re.ASCII | re.IGNORECASE),
    re.compile(r"\btool\s+[\"'`]?([a-z0-9_.-]+)[\"'`]?\s+(?:not found|is not available)", re.ASCII | re.IGNORECASE),
)


class Fingerprinter:
    """Makes digests by a set of rules; any thread, any number of runs.

    `poll_tools` are normalised names of tools that count as polls besides the known ones. Raises `InvalidRule` if the
    rules leave an outcome without an answer.
    """

    def __init__(self, rules: RuleSet, *, poll_tools: frozenset[str] = frozenset()) -> None:
        self._rules = rules.rules
        self._poll_tools = poll_tools | _POLLS
        self._actions = frozenset(action for rule in rules.rules for target in rule.tools for action in target.actions)
        self._tools: dict[str, _Tool] = {}
        self._plans: dict[tuple[str, str], Judge] = {}
        self._judges: dict[tuple[int, ...], Judge] = {}
        #: What of these reads in one step, for the short way of whole frames.
        self.readers = Readers()
        for shape in SHAPES:
            if not any(rule.decides and rule.shape == shape and rule.always for rule in self._rules):
                raise InvalidRule(f"no rule for the {shape} outcome of every tool")
        for root in ROOTS:
            # Whatever comes together later for one tool is a part of this.
            try:
                core_rules(edit_at(Path(root, ()), self._rules))
            except (OverflowError, ValueError) as error:
                raise InvalidRule(f"the paths of all rules together: {error}") from error

    def call(self, call: Call | Record) -> CallPrint:
        """Return a call's print.

        Raises `InvalidFrame`: EMPTY_TOOL for a blank name, INVALID_FRAME for a digest of another size.
        """
        tool = self._tools.get(call.tool) or self._tool(call.tool)
        args = call.args
        if type(args) is bytes and args and tool.reader is not None and not call.args_digest:
            made = tool.reader.print(args)
            if made is not None:
                return made
        action = ""
        flags = 0
        if call.args_digest:
            digest = _checked(call.args_digest, "argsDigest")
            action = call.action
        elif not args:
            digest = _EMPTY_ARGUMENTS
        else:
            digest, flags, picked, touched = _core.read_arguments(args, _ACTION, tool.dropped)
            if tool.rules is not None and (touched or tool.dropped is None):
                digest = _core.fingerprint(args, rules=tool.rules)
            if picked and picked[0] is not None:
                action = _core.text_of(picked[0]) or ""
        poll = tool.poll or (tool.name == "process" and action in _POLL_ACTIONS)
        send = tool.send or action in tool.send_actions
        return CallPrint(tool.name, digest, poll, tool.name == "wait", send, action, flags)

    def outcome(self, call: CallPrint, outcome: Outcome | Record) -> OutcomePrint:
        """Return an outcome's print, by the first rule that applies.

        Raises `InvalidFrame` (INVALID_FRAME) for a digest that is not 16 bytes.
        """
        status, result = outcome.status, outcome.result
        # Nearly all outcomes say nothing but their result, and most of those are read in one step.
        if type(result) is bytes and (status is _OK or status is None) and not (outcome.error or outcome.private):
            judge = self._plans.get((call.tool, call.action)) or self._judge(call.tool, call.action)
            if judge.reader is not None and result and not outcome.result_digest:
                made = judge.reader.print(result)
                if made is not None:
                    return made
        return self._outcome(call, outcome)

    def _outcome(self, call: CallPrint, outcome: Outcome | Record) -> OutcomePrint:
        status = outcome.status
        digest = _checked(outcome.result_digest, "resultDigest") if outcome.result_digest else None
        if status is not _OK and status is not None and status in _NO_OUTCOME:
            return OutcomePrint(_NO_OUTCOME[status])
        judge = self._plans.get((call.tool, call.action)) or self._judge(call.tool, call.action)
        result = outcome.result if digest is None else None
        parts = _core.read_result(result, judge.names) if result else NO_RESULT
        flags = parts[0]
        if parts[2] and not outcome.error and judge.vetoes(parts):
            return OutcomePrint(_VETO, flags=flags)
        unwell = bool(outcome.error) or (status is not None and status is not _OK)
        failed = unwell or parts[3]
        made = OutcomePrint(_DONE, None, failed, failed, None, "", flags)
        if unwell:
            self._unwell(made, call, judge, outcome, parts, digest)
        elif outcome.private and not failed:
            self._private(made, outcome.private)
        if made.digest is not None:
            return made
        if digest is not None:
            made.digest, _ = _core.digest_canonical(TAGS["digest"], (b'"%b"' % digest.hex().encode(),))
        elif flags & _OPAQUE:
            made.digest = _core.fingerprint_values(TAGS["value"], (result,))
        else:
            judge.settle("shaped" if parts[2] else "plain", made, parts)
        return made

    def _unwell(
        self,
        made: OutcomePrint,
        call: CallPrint,
        judge: Judge,
        outcome: Outcome | Record,
        parts: Parts,
        digest: bytes | None,
    ) -> None:
        """Say what the status or an error says; settle the outcome where its message is what counts."""
        message = parts[5]
        if outcome.error or not (parts[2] or digest):
            message = self._message(made, judge, outcome)
        made.missing_tool = _missing_tool(outcome.status, call.tool, message)
        if outcome.status is Status.INVALID_ARGUMENTS:
            made.kind = Kind.REJECT

    def _message(self, made: OutcomePrint, judge: Judge, outcome: Outcome | Record) -> bytes | None:
        """Settle an outcome by its message and return that as a string literal, `None` for what is no JSON."""
        message = outcome.error or outcome.result or b'""'
        seen = _core.inspect(message)
        if seen.flags & _OPAQUE:
            made.digest = _core.fingerprint_values(TAGS["error"], (message,))
            return None
        literal = seen.canonical
        if not literal.startswith(b'"'):
            literal = quoted(_core.canonicalize(literal, mask=_NONCE))
        judge.settle("error", made, (0, literal, *NO_RESULT[2:]))
        return literal

    def _private(self, made: OutcomePrint, private: bytes) -> None:
        seen = _core.inspect(private)
        if seen.flags & _OPAQUE:
            made.digest = _core.fingerprint_values(TAGS["private"], (private,))
            return
        made.digest, nonces = _core.digest_canonical(TAGS["private"], (seen.canonical,))
        if nonces:
            made.stripped = ("wrapper_nonce",)

    def _tool(self, name: str) -> _Tool:
        tool = _Tool(tool_name(name), self._rules, self._poll_tools)
        _remember(self._tools, name, tool)
        _remember(self.readers.calls, name, tool.reader)
        return tool

    def _judge(self, tool: str, action: str) -> Judge:
        named = action if action in self._actions else ""
        applying = tuple(i for i, rule in enumerate(self._rules) if rule.applies_to(tool, named))
        judge = self._judges.get(applying)
        if judge is None:
            rules = (self._rules[i] for i in applying)
            judge = self._judges[applying] = Judge(plan_for(rules), named)
        _remember(self._plans, (tool, action), judge)
        _remember(self.readers.outcomes, (tool, action), judge.reader)
        return judge


def default_fingerprinter() -> Fingerprinter:
    """Return the fingerprinter of profile `openclaw`."""
    return shipped_fingerprinter("openclaw")


@cache
def shipped_fingerprinter(profile: str) -> Fingerprinter:
    """Return the fingerprinter of a profile without rules of a user."""
    return Fingerprinter(load_rules(profile))


def tool_name(name: str) -> str:
    """Normalise a tool's name.

    Raises `InvalidFrame` (EMPTY_TOOL) for a blank one.
    """
    normal = normal_name(name)
    if not normal:
        raise InvalidFrame(Reason.EMPTY_TOOL, "the call names no tool")
    return normal


class _Tool:
    """What the arguments of one tool's calls are judged by."""

    __slots__ = ("dropped", "name", "poll", "reader", "rules", "send", "send_actions")

    def __init__(self, name: str, rules: tuple[Rule, ...], poll_tools: frozenset[str]) -> None:
        self.name = name
        self.poll = name in poll_tools
        edit = edit_at(Path("args", ()), (rule for rule in rules if rule.applies_to(name, "")))
        self.rules = core_rules(edit)
        last = {keys[-1] for keys in edit.drop}
        # Most arguments have none of these keys, and then need no second look; `None` if that can't be told.
        self.dropped = _core.Names(sorted(last)) if last and not last & {ANY, DEEP} else None
        sends = [
            target
            for rule in rules
            for target in rule.tools
            if rule.decides and rule.kind == "send" and target.names(name)
        ]
        self.send = any(not target.actions for target in sends)
        self.send_actions = frozenset(action for target in sends for action in target.actions)
        #: Reads arguments in one step, unless rules have to look at all of them.
        self.reader: CallReader | None = None
        if self.rules is None or self.dropped is not None:
            polls = frozenset(_POLL_ACTIONS) if name == "process" else frozenset()
            self.reader = CallReader(name, self.poll, polls, self.send, self.send_actions, self.dropped)


_T = TypeVar("_T")
_K = TypeVar("_K")


def _remember(known: dict[_K, _T], key: _K, value: _T) -> None:
    if len(known) >= _KNOWN_NAMES:
        known.clear()
    known[key] = value


def _checked(digest: bytes, key: str) -> bytes:
    if len(digest) != _DIGEST_SIZE:
        raise InvalidFrame(Reason.INVALID_FRAME, f"`{key}` has {len(digest)} bytes, not {_DIGEST_SIZE}")
    return digest


def _missing_tool(status: Status | None, tool: str, message: bytes | None) -> str:
    """Return the name of the tool that a failed call asked for in vain, by its status or else by its message."""
    if status is Status.UNKNOWN_TOOL:
        return tool
    if status not in _UNNAMED or message is None or b"tool" not in message.lower():
        return ""
    text = _core.text_of(message) or ""
    for pattern in _MISSING_TOOL:
        found = pattern.search(text)
        if found:
            return found[1].lower().rstrip(".")
    return ""
