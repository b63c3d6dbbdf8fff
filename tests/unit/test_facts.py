"""What the compiled facts make of arguments and outcomes: which are alike, and which must not be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard import _facts
from loopguard.tool_class import ToolClass, ToolClasses

NOTHING, SUCCESS, FAILURE = 0, 1, 2


def asked(args: Any, tool_class: ToolClass = ToolClass.SHELL) -> _facts.Asked:
    return _facts.describe_call(json.dumps(args).encode(), True, tool_class)


def answered(text: str, told: int = NOTHING, *, shell: bool = False) -> _facts.Answered:
    result = {"content": [{"text": text, "type": "text"}]}
    return _facts.describe_outcome(json.dumps(result).encode(), True, told, shell)


def command(text: str) -> dict[str, str]:
    return {"command": text}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ls  -la   src/", "ls -al ./src"),
        ("grep 'a b' x", 'grep "a b" x'),
        ("head -n 5 x", "head -n 50 x"),
        ("```bash\nls\n```", "ls"),
        ("!pip list", "pip list"),
    ],
)
def test_one_question_in_two_spellings(one: str, other: str) -> None:
    assert asked(command(one)).near == asked(command(other)).near


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ls src", "ls lib"),
        ("sed -i 's/a/b/' x", "sed -i 's/a/c/' x"),
        ("cat a1.txt", "cat a2.txt"),
        ("git log v1.2", "git log v1.3"),
    ],
)
def test_two_questions_stay_two(one: str, other: str) -> None:
    assert asked(command(one)).near != asked(command(other)).near


def test_the_order_of_keys_and_an_explanation_mean_nothing() -> None:
    one = asked({"command": "ls", "explanation": "to see what is there", "cwd": "/w/"})
    other = asked({"cwd": "/w", "command": "ls", "explanation": "once more"})

    assert one.near == other.near


def test_ids_are_not_places_in_a_list() -> None:
    assert asked({"page": 1}, ToolClass.READ).near == asked({"page": 2}, ToolClass.READ).near
    assert asked({"id": 1}, ToolClass.READ).near != asked({"id": 2}, ToolClass.READ).near


def test_request_ids_are_volatile() -> None:
    one, other = (asked({"room": 4, "request_id": x}, ToolClass.WRITE) for x in "ab")

    assert one.near == other.near
    assert one.flags & _facts.VOLATILE


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("rm -rf build", True),
        ("cd /w && git commit -m x", True),
        ("echo x > a.txt", True),
        ("cat <<EOF > a.py\nprint(1 > 2)\nEOF", True),
        ("sed -i 's/a/b/' x", True),
        ("git status && git log", False),
        ("ls 2>&1 >/dev/null", False),
        ("echo 'a > b'", False),
        ("x = 3 > 2", False),
        ("import os\nprint(1 > 2)", False),
        ("sed -n '1,5p' x", False),
    ],
)
def test_a_command_that_changes_something(text: str, changes: bool) -> None:
    assert bool(asked(command(text)).flags & _facts.CHANGES) is changes


@pytest.mark.parametrize(("text", "waits"), [("sleep 5", True), ("sleep 9; tail x", True), ("", True), ("ls", False)])
def test_a_command_that_waits(text: str, waits: bool) -> None:
    assert bool(asked(command(text)).flags & _facts.WAITS) is waits


@pytest.mark.parametrize(
    ("args", "lines"),
    [
        ({"path": "a", "offset": 10, "limit": 5}, (10, 15)),
        ({"path": "a", "start_line": 3, "end_line": 8}, (3, 9)),
        ({"path": "a", "view_range": [3, 8]}, (3, 9)),
        ({"command": "sed -n '3,8p' a.py"}, (3, 9)),
        ({"path": "a"}, (0, 0)),
    ],
)
def test_lines_that_are_read(args: dict[str, Any], lines: tuple[int, int]) -> None:
    facts = asked(args, ToolClass.SHELL if "command" in args else ToolClass.READ)

    assert (facts.first_line, facts.end_line) == lines


def test_words_in_common_make_calls_alike() -> None:
    one = asked({"query": "select name from people where age > 3 order by name"}, ToolClass.OTHER)
    near = asked({"query": "select name from people where age > 5 order by name"}, ToolClass.OTHER)
    far = asked({"query": "describe table of all the other things"}, ToolClass.OTHER)

    assert one.likeness(near) > 0.5 > one.likeness(far)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n ",
        "[]",
        "null",
        "(no output)",
        '{"rows": [], "count": 0}',
        "<returncode>0</returncode>\n<output>\n</output>",
        "Your command ran successfully and did not produce any output.",
    ],
)
def test_an_empty_outcome(text: str) -> None:
    assert answered(text).flags & _facts.EMPTY


@pytest.mark.parametrize("text", ["0", "no results", '{"rows": [1]}', "[main 3fa1c2e] step 4", "nothing to do"])
def test_an_outcome_that_is_not_empty(text: str) -> None:
    assert not answered(text).flags & _facts.EMPTY


@pytest.mark.parametrize("text", ["ok", "Done.", "saved", "File updated successfully", "wrote draft.md", "ok0"])
def test_a_bare_acknowledgement(text: str) -> None:
    assert answered(text).flags & _facts.ACKNOWLEDGED


@pytest.mark.parametrize(
    "text",
    [
        "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'x'",
        "bash: foo: command not found",
        "Error: no such column",
        "<returncode>2</returncode>\n<output>\nx\n</output>",
        "ls: cannot access 'x': No such file or directory",
    ],
)
def test_a_failure_that_only_the_text_tells(text: str) -> None:
    assert answered(text).flags & _facts.FAILED


@pytest.mark.parametrize("text", ["12 errors were fixed", "def fail():\n    raise ValueError('Error: x')", "0 failed"])
def test_a_text_that_only_speaks_of_failure(text: str) -> None:
    assert not answered(text).flags & _facts.FAILED


def test_lines_in_another_order_are_the_same() -> None:
    assert answered("a\nb\nc").bag == answered("c\na\nb").bag
    assert answered("a\nb\nc").bag != answered("a\nb\nb\nc").bag


def test_a_clock_and_a_spilled_file_say_nothing_new() -> None:
    assert answered("2031-01-01T10:00:00Z").bag == answered("2031-01-01T10:00:09Z").bag
    assert answered("output saved to /tmp/a9f").bag == answered("output saved to /tmp/b10").bag
    assert answered("visited 8 seconds ago").bag == answered("visited 12 seconds ago").bag


def test_numbers_and_dates_are_the_answer() -> None:
    assert answered("3 failed, 12 passed").bag != answered("2 failed, 13 passed").bag
    assert answered("departs 10:00:00 from gate 4").bag != answered("departs 11:00:00 from gate 4").bag


def test_two_cases_of_one_error_have_one_signature() -> None:
    one = answered("Unknown column 'a.id' in 'list' at line 3", FAILURE)
    other = answered("Unknown column 'b.name' in 'list' at line 14", FAILURE)

    assert one.bag != other.bag
    assert one.last_error == other.last_error


def test_two_errors_have_two() -> None:
    one = answered("Unknown column 'a' in 'list'", FAILURE)
    other = answered("Table 'a' does not exist", FAILURE)

    assert {one.last_error, one.first_error}.isdisjoint({other.last_error, other.first_error})


def test_a_path_or_a_number_is_no_message() -> None:
    one, other = answered("/w/a.txt", FAILURE), answered("/w/b.txt", FAILURE)

    assert one.last_error != other.last_error


def test_the_head_of_a_traceback_is_no_signature() -> None:
    one = answered("Traceback (most recent call last):\n  File x\nKeyError: 'a'", FAILURE)
    other = answered("Traceback (most recent call last):\n  File x\nTypeError: not callable", FAILURE)

    assert {one.last_error, one.first_error}.isdisjoint({other.last_error, other.first_error})


@pytest.mark.parametrize(
    ("text", "flag", "there"),
    [
        ("429 too many requests", _facts.TRANSIENT, True),
        ("the request timed out", _facts.TRANSIENT, True),
        ("curl: connection refused", _facts.TRANSIENT, True),
        ("429 no credit left", _facts.TRANSIENT, False),
        ("line 500 is wrong", _facts.TRANSIENT, False),
        ("3 failed, 2 passed", _facts.VERDICT, True),
        ("AssertionError: 1 != 2", _facts.VERDICT, True),
        ("failed to open the file", _facts.VERDICT, False),
        ("Please always provide exactly one action", _facts.REJECTED, True),
        ("the file has another format than you think", _facts.REJECTED, False),
    ],
)
def test_what_kind_of_failure_it_is(text: str, flag: int, there: bool) -> None:
    if text.startswith("failed to"):
        text = f"x: {text}"

    assert bool(answered(text, FAILURE).flags & flag) is there


@pytest.mark.parametrize(("text", "there"), [("job is running", True), ("in progress", True), ("42 % done", False)])
def test_what_goes_on(text: str, there: bool) -> None:
    assert bool(answered(text, SUCCESS).flags & _facts.PENDING) is there


def test_bytes_of_a_picture_do_not_count_beside_a_caption() -> None:
    def picture(data: str, caption: str) -> _facts.Answered:
        parts = [{"text": caption, "type": "text"}, {"data": data, "type": "image"}]
        return _facts.describe_outcome(json.dumps({"content": parts}).encode(), True, SUCCESS, False)

    assert picture("A" * 40, "seen").bag == picture("B" * 40, "seen").bag
    assert picture("A" * 40, "").bag != picture("B" * 40, "").bag


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(json_values, st.sampled_from(list(ToolClass)))
def test_any_arguments_are_described_and_the_same_each_time(value: object, tool_class: ToolClass) -> None:
    one, other = asked(value, tool_class), asked(value, tool_class)

    assert (one.near, one.program, one.target, one.flags) == (other.near, other.program, other.target, other.flags)
    assert one.likeness(other) == 1.0


@given(st.binary(max_size=400), st.booleans(), st.sampled_from([0, 1, 2]))
def test_any_bytes_are_described(data: bytes, shell: bool, told: int) -> None:
    _facts.describe_call(data, False, ToolClass.SHELL)
    answer = _facts.describe_outcome(data, False, told, shell)

    assert answer.flags < 128


@given(st.text(max_size=300), st.sampled_from([0, 1, 2]))
def test_any_text_is_described(text: str, told: int) -> None:
    asked(command(text))

    assert answered(text, told).bag == answered(text, told).bag


@pytest.mark.parametrize(
    ("name", "tool_class"),
    [
        ("bash", ToolClass.SHELL),
        ("mcp__files__read-file", ToolClass.READ),
        ("server.search", ToolClass.READ),
        ("todowrite", ToolClass.NOTE),
        ("<no_action>", ToolClass.REJECT),
        ("bashoutput", ToolClass.POLL),
        ("book_flight", ToolClass.WRITE),
        ("select_rows", ToolClass.OTHER),
        ("frobnicate", ToolClass.OTHER),
    ],
)
def test_the_class_of_a_tool(name: str, tool_class: ToolClass) -> None:
    assert ToolClasses().find(name) is tool_class


def test_own_classes_come_first() -> None:
    assert ToolClasses({"bash": ToolClass.READ, "x_*": ToolClass.POLL}).find("bash") is ToolClass.READ
    assert ToolClasses({"bash": ToolClass.READ, "x_*": ToolClass.POLL}).find("x_1") is ToolClass.POLL
