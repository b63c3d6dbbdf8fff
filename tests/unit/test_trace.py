"""The trace loader keeps what stands inline as it stands, and says where a line is wrong."""

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopguard
from loopguard.errors import InvalidTrace
from loopguard.model import Call, CallBatch, History, Mode, Outcome, Record, RunOpen, Signal, Status
from loopguard.trace import Place, TraceFrame, format_frame, format_open, parse_frame, parse_value, read_trace

HERE = Place("here", 7)


def parse(text: str) -> TraceFrame:
    return parse_frame(text.encode(), HERE)


def frames(*lines: bytes) -> list[TraceFrame]:
    return list(read_trace(lines, "file"))


@pytest.mark.parametrize(
    "inline",
    [
        "12345678901234567890123",
        "1.0",
        "1e400",
        "-0",
        '{"b": 1,  "a":1, "a": 2}',
        r'"\ud800\u00e9"',
        "[ 1.50,\t2E3 ]",
        "null",
        '""',
    ],
)
def test_inline_values_keep_their_exact_text(inline: str) -> None:
    batch = parse(f'{{"calls": [ {{"tool": "t", "args": {inline} }} ]}}').frame
    outcome = parse(f'{{"outcome": {{"result": {inline} , "private":{inline}}}}}').frame
    record = parse(f'{{"history": [{{"tool": "t", "error": {inline}}}]}}').frame

    assert batch == CallBatch([Call("t", inline.encode())])
    assert outcome == Outcome(result=inline.encode(), private=inline.encode())
    assert record == History([Record("t", error=inline.encode())])


def test_open_has_all_its_members() -> None:
    frame = parse(
        '{"at": 0.5, "open": {"runId": "r", "agentId": "a", "parentRunId": "p", "config": {"historySize": 10.0,'
        ' "x": [null, "é"]}, "mode": "OBSERVE", "profile": "balanced", "digestScheme": 1}}'
    )

    assert frame.at == 0.5
    assert frame.frame is None
    assert frame.open == RunOpen("r", "a", "p", {"historySize": 10.0, "x": [None, "é"]}, Mode.OBSERVE, "balanced", 1)


@pytest.mark.parametrize("config", ["null", "{}"])
def test_a_config_of_null_is_no_config(config: str) -> None:
    opened = parse(f'{{"open": {{"runId": "r", "config": {config}}}}}').open

    assert opened is not None
    assert opened.config == (None if config == "null" else {})


def test_a_call_may_have_a_digest_and_an_action() -> None:
    frame = parse(
        '{"check": [{"callId": "k", "tool": " T ", "argsDigest": "00ff00FF00ff00ff00ff00ff00ff00ff",'
        ' "action": "poll"}]}'
    )

    digest = bytes.fromhex("00ff" * 8)
    assert frame.frame == CallBatch([Call(" T ", None, "k", digest, "poll")], dry_run=True)


@pytest.mark.parametrize("status", list(Status))
def test_every_status_is_read(status: Status) -> None:
    frame = parse(f'{{"history": [{{"tool": "t", "status": "{status}", "resultDigest": "{"0" * 32}"}}]}}').frame

    assert frame == History([Record("t", status=status, result_digest=bytes(16))])


@pytest.mark.parametrize("signal", list(Signal))
def test_signals_carry_nothing(signal: Signal) -> None:
    assert parse(f'{{"{signal.value}": {{}}}}').frame is signal


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "a frame must be an object"),
        ("3", "a frame must be an object"),
        ('{"close": {}', "a frame is no valid JSON"),
        ('{"close": {}} x', "a frame is no valid JSON"),
        ("{}", "exactly one of"),
        ('{"close": {}, "userMessage": {}}', "here: `close`, `userMessage`"),
        ('{"at": 1}', "exactly one of"),
        ('{"clos": {}}', "unknown key `clos` in a frame"),
        ('{"seq": 1, "close": {}}', "unknown key `seq` in a frame"),
        ('{"close": {"a": 1}}', "unknown key `a` in `close`"),
        ('{"close": []}', "`close` must be an object"),
        ('{"close": {}, "close": {}}', "key `close` stands twice in a frame"),
        ('{"at": "1", "close": {}}', "`at` must be a number"),
        ('{"at": null, "close": {}}', "`at` must be a number"),
        ('{"at": 1e999, "close": {}}', "`at` must be a number"),
        ('{"calls": {}}', "`calls` must be an array"),
        ('{"calls": [1]}', "a call must be an object"),
        ('{"calls": [{}]}', "`tool` is missing"),
        ('{"calls": [{"tool": 5}]}', "`tool` must be a string"),
        ('{"calls": [{"tool": null}]}', "`tool` must be a string"),
        ('{"calls": [{"tool": "t", "callId": 5}]}', "`callId` must be a string"),
        ('{"calls": [{"tool": "t", "arg": 5}]}', "unknown key `arg` in a call"),
        ('{"calls": [{"tool": "t", "args": 1, "\\u0061rgs": 2}]}', "key `args` stands twice in a call"),
        ('{"calls": [{"tool": "t", "args": {}, "argsDigest": "00"}]}', "exclude each other"),
        ('{"calls": [{"tool": "t", "argsDigest": "00"}]}', "`argsDigest` must be 32 hex digits"),
        (f'{{"calls": [{{"tool": "t", "argsDigest": "{"0" * 31}g"}}]}}', "`argsDigest` must be 32 hex digits"),
        (f'{{"calls": [{{"tool": "t", "argsDigest": "{"é" * 32}"}}]}}', "`argsDigest` must be 32 hex digits"),
        ('{"calls": [{"tool": "t", "argsDigest": 5}]}', "`argsDigest` must be a string"),
        ('{"calls": [{"tool": "\\ud800"}]}', "surrogate"),
        ('{"outcome": {"status": "ok"}}', "`status` is `ok`, not one of"),
        ('{"outcome": {"status": ""}}', "`status` is ``, not one of"),
        ('{"outcome": {"status": null}}', "`status` must be a string"),
        ('{"outcome": {"tool": "t"}}', "unknown key `tool` in an outcome"),
        ('{"outcome": []}', "an outcome must be an object"),
        ('{"history": [{"tool": "t", "callId": "k"}]}', "unknown key `callId` in a record"),
        ('{"open": {}}', "`open` needs `runId`"),
        ('{"open": {"runId": 5}}', "`runId` must be a string"),
        ('{"open": {"runId": "r", "mode": "observe"}}', "`mode` is `observe`"),
        ('{"open": {"runId": "r", "config": []}}', "`config` must be an object"),
        ('{"open": {"runId": "r", "config": {"a": 1, "a": 1}}}', "key `a` stands twice"),
        (f'{{"open": {{"runId": "r", "config": {{"a": {"9" * 5000}}}}}}}', "5000 digits"),
        ('{"open": {"runId": "r", "digestScheme": true}}', "`digestScheme` must be a whole number"),
        ('{"open": {"runId": "r", "digestScheme": 1.5}}', "`digestScheme` must be a whole number"),
        ('{"open": {"runId": "r", "digestScheme": -1}}', "`digestScheme` must be a whole number"),
        ('{"calls": [{"tool": "t", "args": NaN}]}', "a frame is no valid JSON"),
    ],
)
def test_what_is_no_frame_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidTrace) as refused:
        parse(text)

    assert str(refused.value).startswith("here:7: ")
    assert message in str(refused.value)


def test_bytes_that_are_no_utf8_are_refused() -> None:
    with pytest.raises(InvalidTrace, match=r"^here:7: a frame is no valid JSON"):
        parse_frame(b'{"calls": [{"tool": "\xff"}]}', HERE)


def test_frames_are_numbered_within_their_run() -> None:
    read = frames(
        b'{"open": {"runId": "a"}}\n', b'{"userMessage": {}}\n', b'{"open": {"runId": "b"}}\n', b'{"close": {}}\n'
    )

    assert [(frame.line, frame.index) for frame in read] == [(1, 0), (2, 1), (3, 0), (4, 1)]


def test_blank_lines_carriage_returns_and_a_byte_order_mark_are_passed_over() -> None:
    read = frames(b"\xef\xbb\xbf\r\n", b"  \t\r\n", b'{"open": {"runId": "a"}}\r\n', b"\n", b'{"close": {}}')

    assert [frame.line for frame in read] == [3, 5]


def test_a_byte_order_mark_belongs_to_the_beginning() -> None:
    with pytest.raises(InvalidTrace, match=r"^file:2: "):
        frames(b'{"open": {"runId": "a"}}\n', b'\xef\xbb\xbf{"close": {}}\n')


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ([b'{"userMessage": {}}'], 1),
        ([b"", b'{"calls": []}'], 2),
        ([b'{"open": {"runId": "a"}}', b'{"close": {}}', b'{"calls": []}'], 3),
    ],
)
def test_a_frame_outside_of_a_run_is_refused(lines: list[bytes], line: int) -> None:
    with pytest.raises(InvalidTrace, match=rf"^file:{line}: a frame outside of a run"):
        frames(*lines)


def test_the_frames_before_a_bad_line_are_read() -> None:
    reader = read_trace([b'{"open": {"runId": "a"}}', b"{"], "file")

    assert next(reader).open == RunOpen("a")
    with pytest.raises(InvalidTrace, match=r"^file:2: "):
        next(reader)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_values_are_read_as_python_reads_them(value: object) -> None:
    assert parse_value(json.dumps(value).encode(), "value", HERE) == value


json_texts = json_values.map(lambda value: json.dumps(value, ensure_ascii=False).encode())
digests = st.binary(min_size=16, max_size=16)
statuses = st.sampled_from([None, *Status])
tools = st.text(st.characters(exclude_categories=["Cs"]))
calls = st.builds(Call, tools, json_texts) | st.builds(Call, tools, st.none(), tools, digests, tools)
outcomes = st.builds(Outcome, call_id=tools, status=statuses, result=json_texts, error=json_texts) | st.builds(
    Outcome, status=statuses, result_digest=digests, private=json_texts
)
records = st.builds(Record, tool=tools, args=json_texts, status=statuses, result=json_texts, error=json_texts)
all_frames = (
    st.builds(CallBatch, st.lists(calls, max_size=3), st.booleans())
    | outcomes
    | st.builds(History, st.lists(records, max_size=3))
    | st.sampled_from(list(Signal))
)


@given(all_frames, st.none() | st.floats(0, 1e9))
def test_what_is_written_is_read_again(frame: CallBatch | Outcome | History | Signal, at: float | None) -> None:
    line = format_frame(frame, at)

    assert "\n" not in line
    read = parse_frame(line.encode(), HERE)
    assert (read.frame, read.at) == (frame, at)


def test_an_open_frame_is_read_as_written() -> None:
    opened = RunOpen('r"1', "a", "p", {"enabled": True}, Mode.ENFORCE, "balanced", 1)

    assert parse(format_open(opened, 2.0)).open == opened
    assert parse(format_open(RunOpen("r", config={}))).open == RunOpen("r", config={})


def test_json_over_several_lines_is_written_on_one() -> None:
    line = format_frame(CallBatch([Call("t", b'{\r\n "a":\n 1}')]))

    assert line == '{"calls": [{"tool": "t", "args": {   "a":  1}}]}'


def test_what_is_no_json_is_written_as_a_string() -> None:
    line = format_frame(Outcome(result=b"\xffNaN\n"))

    assert line == r'{"outcome": {"result": "\\xffNaN\n"}}'


def modules_between_a_frame_and_a_digest() -> list[Path]:
    package = Path(loopguard.__file__).parent
    names = ("trace", "codec", "answer_codec", "engine", "run", "history", "calls", "fingerprint")
    found = [path for name in names for path in ((package / name).rglob("*.py"), (package).glob(f"{name}.py"))]
    return sorted(path for paths in found for path in paths)


@pytest.mark.parametrize("module", modules_between_a_frame_and_a_digest(), ids=lambda path: path.stem)
def test_nothing_parses_json_between_a_frame_and_a_digest(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))

    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert not used & {"loads", "load", "JSONDecoder", "raw_decode", "decode_io", "pyjson5", "orjson", "MessageToDict"}
