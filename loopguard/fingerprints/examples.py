"""Runs the examples that rules carry: a pair that has to be equal and one that has to differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard import _core
from loopguard.errors import InvalidRule
from loopguard.fingerprints.fingerprinter import Fingerprinter
from loopguard.model import Record, Status

if TYPE_CHECKING:
    from loopguard.rules import Rule, RuleSet

_TEXTS = ("tool", "action", "status")
_VALUES = ("args", "result", "error", "private")


def broken_examples(rules: RuleSet) -> list[str]:
    """Return one message for each example pair that the whole set does not answer as its rule says.

    Raises `InvalidRule` for an example that is no record.
    """
    fingerprinter = Fingerprinter(rules)
    return [message for rule in rules.rules for _, message in broken_pairs(fingerprinter, rule)]


def broken_pairs(fingerprinter: Fingerprinter, rule: Rule) -> list[tuple[str, str]]:
    """Return key and message of each example pair of a rule that isn't answered as the rule says.

    Raises `InvalidRule` for an example that is no record.
    """
    return [
        (key, f"the pair of `{key}` is {'different' if key == 'equal' else 'equal'} at `{rule.source}: {key}`")
        for key, pair in (("equal", rule.equal), ("differ", rule.differ))
        if pair and is_same(fingerprinter, rule, pair) is not (key == "equal")
    ]


def is_same(fingerprinter: Fingerprinter, rule: Rule, pair: tuple[str, ...]) -> bool:
    """Tell whether both records of an example have the same call and the same outcome."""
    prints = set()
    for text in pair:
        record = example_record(rule, text)
        call = fingerprinter.call(record)
        outcome = fingerprinter.outcome(call, record)
        prints.add((call.tool, call.digest, outcome.kind, outcome.digest))
    return len(prints) == 1


def example_record(rule: Rule, text: str) -> Record:
    """Read an example: a record as a trace has it, whose tool may be left out where the rule names one.

    Raises `InvalidRule`.
    """
    data = text.encode()
    members = _core.members(data)
    if members is None or not data.lstrip().startswith(b"{"):
        raise InvalidRule(f"no JSON object: {text} at `{rule.source}`")
    fields: dict[str, bytes] = {key: data[start:end] for key, start, end in members}
    for key in fields:
        if key not in (*_TEXTS, *_VALUES):
            raise InvalidRule(f"unknown key `{key}` in an example at `{rule.source}`")
    texts = {key: _core.text_of(fields[key]) for key in _TEXTS if key in fields}
    status = texts.get("status")
    if None in texts.values() or (status is not None and status not in Status.__members__):
        raise InvalidRule(f"no record: {text} at `{rule.source}`")
    named = rule.tools[0].tool
    return Record(
        tool=texts.get("tool") or ("tool" if "*" in named or "?" in named or "[" in named else named),
        action=texts.get("action") or "",
        status=None if status is None else Status(status),
        **{key: fields[key] for key in _VALUES if key in fields},
    )
