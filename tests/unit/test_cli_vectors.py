"""Detection vectors: the sugar is spelled out as the format says, and what is not known is refused."""

import json

import pytest

from loopguard.cli.vector_detection import CallsThenOutcome, Records, Vector, parse_vector
from loopguard.cli.vector_play import letter, matches
from loopguard.errors import InvalidTrace
from loopguard.model import CallBatch, Outcome, RunOpen
from loopguard.trace import Place, TraceFrame

HERE = Place("vectors", 3)


def vector(steps: str, expect: str, more: str = "") -> Vector:
    return parse_vector(f'{{"name": "v", "steps": [{steps}], "expect": [{expect}]{more}}}'.encode(), HERE)


def args_of(read: Vector, step: int = 0) -> list[bytes | None]:
    found = []
    for act in read.steps[step].acts:
        frame = act.calls.frame if isinstance(act, CallsThenOutcome) else act.frame  # type: ignore[union-attr]
        assert isinstance(frame, CallBatch)
        found.append(frame.calls[0].args)
    return found


def test_a_repeated_step_has_its_index_in_strings_and_numbers() -> None:
    read = vector(
        r'{"repeat": 3, "calls": [{"tool": "t", "args": '
        r'{"a$i": "b$i", "c": "$#100", "d": "x$#1", "$#5": "$02i$03i", "e": 1.0}}]}',
        "null",
    )

    assert args_of(read) == [
        b'{"a%d": "b%d", "c": %d, "d": "x$#1", "$#5": "%02d%03d", "e": 1.0}' % (i, i, 100 + i, i, i) for i in range(3)
    ]


def test_a_fresh_id_is_one_id_throughout_a_repetition() -> None:
    read = vector(r'{"repeat": 2, "calls": [{"tool": "t", "args": ["$hex16", "<$hex16>"]}]}', "null")

    first, second = (json.loads(args or b"") for args in args_of(read))
    assert first[1] == f"<{first[0]}>"
    assert len(first[0]) == 16
    assert first[0] != second[0]
    assert set(first[0]) <= set("0123456789abcdef")


def test_nothing_is_replaced_in_a_step_that_is_not_repeated() -> None:
    assert args_of(vector('{"calls": [{"tool": "t", "args": "$i $hex16"}]}', "null")) == [b'"$i $hex16"']


def test_run_lengths_are_one_expectation_a_repetition() -> None:
    read = vector(
        '{"repeat": 4, "check": [{"tool": "t"}]}', '[[{"action": "ALLOW"}, 1], [null, 2], [[{"action": "WARN"}], 1]]'
    )

    assert read.steps[0].expected == [{"action": "ALLOW"}, None, None, [{"action": "WARN"}]]


def test_calls_and_their_outcome_are_one_step() -> None:
    read = vector('{"run": {"at": 2, "calls": [{"tool": "t"}]}, "outcome": {"error": "x$i"}, "repeat": 2}', "null")

    first, second = read.steps[0].acts
    assert isinstance(first, CallsThenOutcome)
    assert isinstance(second, CallsThenOutcome)
    assert first.calls.at == 2
    assert [first.outcome, second.outcome] == [Outcome(error=b'"x0"'), Outcome(error=b'"x1"')]


def test_records_are_compared_by_letters() -> None:
    read = vector(
        '{"fingerprint": [{"tool": "t"}, {"tool": "u"}]}', '{"equal": {"args": ["A", "B"], "outcome": ["A", null]}}'
    )

    act = read.steps[0].acts[0]
    assert isinstance(act, Records)
    assert [record.tool for record in act.records] == ["t", "u"]


def test_the_open_frame_is_given_once() -> None:
    read = vector(
        '{"userMessage": {}, "runId": "other"}, {"close": {}}',
        "null, null",
        ', "rule": "x", "agentId": "a", "config": {"historySize": 5}, "mode": "OBSERVE", "profile": "p"',
    )

    assert read.open.run_id == "v"
    assert (read.open.agent_id, read.open.config, read.open.mode, read.open.profile) == (
        "a",
        {"historySize": 5},
        "OBSERVE",
        "p",
    )
    assert [step.run_id for step in read.steps] == ["other", "v"]
    assert isinstance(read.steps[0].acts[0], TraceFrame)


def test_a_vector_may_name_its_run() -> None:
    read = parse_vector(
        b'{"name": "v", "runId": " ", "steps": [], "expect": [], "expectError": {"key": "runId"}}', HERE
    )

    assert read.open == RunOpen(" ")
    assert read.expect_error == {"key": "runId"}


def test_the_configuration_file_stays_text() -> None:
    read = vector('{"close": {}}', "null", ', "configFile": {"tools": {"x": 10.0}}')

    assert read.config_file == b'{"tools": {"x": 10.0}}'


@pytest.mark.parametrize(
    ("steps", "expect", "more", "message"),
    [
        ('{"close": {}}', "null", ', "kind": "x"', "unknown key `kind` in a vector"),
        ('{"close": {}, "repeats": 3}', "null", "", "unknown key `repeats`"),
        ('{"close": {}}', "", "", "one entry for each of 1 steps"),
        ("", "", "", "needs `expectError`"),
        ('{"close": {}}', "null", ', "expectError": {"key": "x"}', "must be empty"),
        ("", "", ', "expectError": {"keys": "x"}', "`expectError` must be an object with `key`"),
        ('{"open": {"runId": "x"}}', "null", "", "`open` is no step"),
        ('{"close": {}, "repeat": 0}', "null", "", "`repeat` must be"),
        ('{"close": {}, "repeat": true}', "null", "", "`repeat` must be"),
        ('{"close": {}, "repeat": 2}', '[[{"action": "ALLOW"}, 1]]', "", "for 1 repetitions"),
        ('{"close": {}, "repeat": 2}', '{"action": "ALLOW"}', "", r"a list of [verdict, n]"),
        ('{"close": {}, "runId": 3}', "null", "", "`runId` must be a string"),
        ('{"run": {"check": []}, "outcome": {}}', "null", "", "`run` must be a frame with `calls`"),
        ('{"run": {"calls": []}}', "null", "", "has `run` and `outcome`"),
        ('{"run": {"calls": []}, "outcome": {"tool": "t"}}', "null", "", "unknown key `tool` in an outcome"),
        ('{"calls": [{"tool": "t"}]}', '[{"act": "ALLOW"}]', "", "has `act`, which is not known"),
        ('{"calls": [{"tool": "t"}]}', '[{"finding": {"size": 1}}]', "", "has `size`, which is not known"),
        ('{"calls": [{"tool": "t"}]}', '[{"flags": ["ODD"]}]', "", "has `ODD`, which is not known"),
        ('{"calls": [{"tool": "t"}]}', '[{"action": "ALLOW"}, null]', "", "2 verdicts, the step 1 calls"),
        ('{"calls": [{"tool": "t"}]}', '["ALLOW"]', "", "must be an object or null"),
        ('{"outcome": {}}', '{"error": {"code": 1}}', "", "one with `reason`"),
        ('{"fingerprint": [{"tool": "t"}]}', '{"equal": {"args": []}}', "", "a letter for each of 1 records"),
        ('{"fingerprint": [{"tool": "t"}]}', '{"equal": {}}', "", "must be `equal` with"),
        ('{"fingerprint": [{"tool": "t"}]}', '{"equal": {"result": ["A"]}}', "", "must be `equal` with"),
        ('{"fingerprint": [{"tool": "t", "callId": "k"}]}', "null", "", "unknown key `callId` in a record"),
    ],
)
def test_what_a_vector_can_not_be_is_refused(steps: str, expect: str, more: str, message: str) -> None:
    with pytest.raises(InvalidTrace) as refused:
        vector(steps, expect, more)

    assert str(refused.value).startswith("vectors:3: ")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ({"action": "ALLOW"}, {"action": "ALLOW", "callId": "c1"}, True),
        ({"action": "ALLOW"}, {"action": "WARN"}, False),
        ({"action": ["WARN", "BLOCK"]}, {"action": "BLOCK"}, True),
        ({"action": ["WARN", "BLOCK"]}, {"action": "ALLOW"}, False),
        ({"finding": None}, {"action": "ALLOW"}, True),
        ({"finding": None}, {"finding": {"count": 1}}, False),
        ({"finding": {"count": 3}}, {"finding": {"count": 3, "threshold": 3}}, True),
        ({"finding": {"count": 3, "pairedTool": None}}, {"finding": {"count": 3}}, True),
        ({"finding": {"count": 3}}, {"finding": {"count": 4}}, False),
        ({"finding": {"count": 3}}, {}, False),
        ({"flags": ["OPAQUE", "BIGINT"]}, {"flags": ["BIGINT", "OPAQUE"]}, True),
        ({"flags": None}, {}, True),
        ({"error": {"reason": "UNKNOWN_CALL"}}, {"error": {"reason": "UNKNOWN_CALL"}}, True),
        ({"error": {"reason": "UNKNOWN_CALL"}}, {"action": "ALLOW"}, False),
        ({"action": "ALLOW"}, {"error": {"reason": "EMPTY_TOOL"}}, False),
        ([{"action": "ALLOW"}, None], [{"action": "ALLOW"}, {"action": "WARN"}], True),
        ([{"action": "ALLOW"}], [{"action": "ALLOW"}, {"action": "WARN"}], False),
        ([{"action": "ALLOW"}], {"error": {"reason": "EMPTY_TOOL"}}, False),
        ({"action": "ALLOW"}, [{"action": "ALLOW"}], True),
        ({"action": "ALLOW"}, [{"action": "ALLOW"}, {"action": "ALLOW"}], False),
        ({"action": "ALLOW"}, [], False),
    ],
)
def test_only_what_is_named_is_compared(expected: object, got: object, same: bool) -> None:
    assert matches(expected, got) is same


@pytest.mark.parametrize(
    ("digests", "names", "letters"),
    [
        ((1, 1, 2), ["A", "A", "B"], ["A", "A", "B"]),
        ((1, 2), ["A", "A"], ["A", "another (1)"]),
        ((1, 1), ["A", "B"], ["A", "A"]),
        ((1, None), ["A", "A"], ["A", None]),
        ((1, 2), ["A", None], ["A", "another (1)"]),
    ],
)
def test_equal_digests_have_one_letter(
    digests: tuple[object, ...], names: list[str | None], letters: list[str]
) -> None:
    assert letter(digests, names) == letters
