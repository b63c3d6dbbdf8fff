"""Paths, edits and sets of rules, with rules as a configuration file has them."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard import _core
from loopguard.errors import InvalidRule
from loopguard.fingerprints import Fingerprinter, Kind, OutcomePrint
from loopguard.model import Call, Outcome, Status
from loopguard.rules import FILES, RuleSet, load_rules
from loopguard.rules.path import Path, PathError, parse_path, remainders
from loopguard.rules.rule import MASKS


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("details", Path("details", ())),
        ("details.results.*.score", Path("details", ("results", "*", "score"))),
        ("result.**.ts", Path("result", ("**", "ts"))),
        ('details."a.b"."c d"', Path("details", ("a.b", "c d"))),
        (r'value."say \"x\" \\"', Path("value", ('say "x" \\',))),
        ("args.0", Path("args", ("0",))),
    ],
)
def test_paths(text: str, path: Path) -> None:
    assert parse_path(text) == path


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "details.", ".a", "details..a", "a.b", 'details."', 'details.""', "details.a b", 'details."*"'),
        *("details.a*", "details.[0]", 'details."\n"', "details.\ud800"),
    ],
)  # fmt: skip
def test_paths_that_are_refused(text: str) -> None:
    with pytest.raises(PathError):
        parse_path(text)


@pytest.mark.parametrize(
    ("pattern", "place", "rest"),
    [
        (("a", "b"), (), [("a", "b")]),
        (("a", "b"), ("a",), [("b",)]),
        (("a",), ("a",), [()]),
        (("a",), ("a", "b"), [()]),
        (("a",), ("b",), []),
        (("*", "b"), ("a",), [("b",)]),
        (("**", "b"), ("a",), [("**", "b")]),
        (("**", "b"), ("b",), [("**", "b"), ()]),
        (("**", "a", "b"), ("a",), [("**", "a", "b"), ("b",)]),
    ],
)
def test_what_is_left_of_a_pattern(
    pattern: tuple[str, ...], place: tuple[str, ...], rest: list[tuple[str, ...]]
) -> None:
    assert remainders(pattern, place) == rest


def seen(
    rule: dict[str, Any], result: bytes, tool: str = "t", status: Status | None = None, args: bytes = b""
) -> OutcomePrint:
    own = RuleSet.from_tables([{"name": "own", "tools": ["t"], **rule}], "loopguard.rules")
    fingerprinter = Fingerprinter(own.before(load_rules("openclaw")))
    return fingerprinter.outcome(fingerprinter.call(Call(tool, args)), Outcome(status=status, result=result))


def same(rule: dict[str, Any], first: bytes, second: bytes, **options: Any) -> bool:
    return seen(rule, first, **options).digest == seen(rule, second, **options).digest


def test_dropped_paths() -> None:
    rule = {"drop": ["result.a.*.n"]}

    assert same(rule, b'{"details":{"a":[{"n":1}]}}', b'{"details":{"a":[{"n":2}]}}')
    assert same(rule, b'{"a":{"x":{"n":1}}}', b'{"a":{"x":{"n":2}}}')
    assert not same(rule, b'{"a":{"n":{"n":{"n":1}}}}', b'{"a":{"n":{"m":{"n":1}}}}')
    assert not same(rule, b'{"a":[{"n":1}]}', b'{"a":[{"n":2}]}', tool="u")
    assert seen(rule, b'{"a":[{"n":1}]}').stripped == ("n",)
    assert seen(rule, b'{"a":[{"m":1}]}').stripped == ()


def test_kept_paths() -> None:
    rule = {"keep": ["value.status", "value.rows.*.id"]}

    assert same(rule, b'{"status":1,"n":1,"rows":[{"id":1,"n":1}]}', b'{"status":1,"n":2,"rows":[{"id":1,"n":2}]}')
    assert not same(rule, b'{"status":1}', b'{"status":2}')
    assert not same(rule, b'{"rows":[{"id":1}]}', b'{"rows":[{"id":2}]}')
    assert not same(rule, b'{"details":{"n":1}}', b'{"details":{"n":2}}')


def test_values_in_order() -> None:
    rule = {"values": ["details.a.b", {"path": "details.c", "only": "number", "otherwise": "text", "default": "none"}]}

    assert same(rule, b'{"details":{"a":{"b":1,"x":1},"c":2}}', b'{"details":{"a":{"b":1,"x":2},"c":2.0,"d":1}}')
    assert not same(rule, b'{"details":{"a":{"b":1}}}', b'{"details":{"a":{"b":2}}}')
    assert same(rule, b'{"details":{"c":"2"}}', b'{"details":{"c":null}}')
    assert not same(rule, b'{"details":{},"content":[{"type":"x","text":"a"}]}', b'{"details":{}}')


def test_an_edit_reaches_a_value_below_and_above_its_path() -> None:
    rule = {"values": ["details.a"], "drop": ["details.**.n", "details.b"]}

    assert same(rule, b'{"details":{"a":{"x":{"n":1}},"b":1}}', b'{"details":{"a":{"x":{}},"b":2}}')
    assert same({"values": ["details.a.b"], "drop": ["details.a"]}, b'{"details":{"a":{"b":1}}}', b'{"details":{}}')
    assert same({"values": ["details.a"], "keep": ["details.b"]}, b'{"details":{"a":1}}', b'{"details":{"a":2}}')
    assert not same({"values": ["details.a.b"], "keep": ["details.a"]}, b'{"details":{"a":{"b":1}}}', b'{"details":{}}')


def test_conditions() -> None:
    rule = {"when": {"details.kind": ["x", "y"], "details.n.m": {"is": "number"}, "text": ""}, "values": []}

    assert same(rule, b'{"details":{"kind":"x","n":{"m":1}}}', b'{"details":{"kind":"\\u0079","n":{"m":2.5}}}')
    for other in (b'{"kind":"z","n":{"m":1}}', b'{"kind":"x","n":{"m":"1"}}', b'{"kind":"x"}', b'{"kind":"x","n":5}'):
        assert not same(rule, b'{"details":{"kind":"x","n":{"m":1}}}', b'{"details":' + other + b"}")


def test_an_edit_only_where_its_condition_holds() -> None:
    rule = {"when": {"details.live": True}, "drop": ["details.n"]}

    assert same(rule, b'{"details":{"live":true,"n":1}}', b'{"details":{"live":true,"n":2}}')
    assert not same(rule, b'{"details":{"live":false,"n":1}}', b'{"details":{"live":false,"n":2}}')


def test_rules_for_failures_only() -> None:
    rule = {"failed": True, "drop": ["details.n", "value.n"]}
    first, second = (b'{"details":{"n":%d}}' % n for n in (1, 2))

    assert same(rule, first, second, status=Status.ERROR)
    assert not same(rule, first, second)


def test_errors_have_a_shape_of_their_own() -> None:
    rule = {"shape": "error", "values": []}

    assert same(rule, b'"a"', b'"b"', status=Status.ERROR)
    assert not same(rule, b'"a"', b'"b"')


def test_a_veto_comes_before_other_rules() -> None:
    blocked = b'{"details":{"status":"blocked","deniedReason":"tool-loop"}}'

    assert seen({"values": []}, blocked).kind is Kind.VETO


def test_an_action_that_counts() -> None:
    rule = {"tools": [{"tool": "t", "actions": ["a", 'say "b"']}], "values": ["action"]}
    args = [b'{"action":"a"}', b'{"action":"say \\"b\\""}', b'{"action":"c"}']

    found = [seen(rule, b'{"details":{"n":1}}', args=each).digest for each in args]

    assert len(set(found)) == 3
    assert found[0] == seen(rule, b'{"details":{"n":2}}', args=args[0]).digest
    assert found[2] != seen(rule, b'{"details":{"n":2}}', args=args[2]).digest


def test_opaque_results_pass_by_every_rule() -> None:
    assert not same({"shape": "plain", "values": []}, b"nan", b"NaN")


def test_text_that_spells_an_object() -> None:
    rule = {"values": [{"path": "text", "parse": {"output": "string"}}], "drop": ["text.took"]}

    def text(inner: str) -> bytes:
        return b'{"content":[{"type":"text","text":"%b"}]}' % inner.replace('"', '\\"').encode()

    assert same(rule, text('{"output":"a","took":1}'), text('{"took":2,"output":"a"}'))
    assert not same(rule, text('{"output":"a","took":1}'), text('{"output":"b","took":1}'))
    assert not same(rule, text('{"output":1,"took":1}'), text('{"output":1,"took":2}'))
    assert not same(rule, text('{"output":"a","took":1'), text('{"output":"a","took":2'))


def test_too_many_paths_are_refused_at_once() -> None:
    deep = [f"value.**.k{number}.*.**.x{number}" for number in range(400)]

    with pytest.raises(InvalidRule, match="paths of all rules together"):
        seen({"drop": deep}, b"1")


def test_shipped_files_are_read_once() -> None:
    assert all(load_rules(profile) is load_rules(profile) for profile in FILES)
    assert {rule.source.partition(":")[0] for rule in load_rules("openclaw").rules} == {
        "rules/openclaw.toml",
        "rules/any.toml",
    }


def test_an_unknown_profile() -> None:
    with pytest.raises(KeyError):
        load_rules("nonesuch")


def test_the_names_of_masks_are_those_of_the_core() -> None:
    assert set(MASKS) == {"default", *_core.MASK_KINDS}
