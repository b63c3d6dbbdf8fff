"""What default masks take out of text, what they must leave, and that they leave nothing to take out again."""

from __future__ import annotations

import base64
import json

import pytest

from loopguard import _core
from tests.core.test_vectors import load

UUID = "123e4567-e89b-12d3-a456-426614174000"


def masked(value: object) -> object:
    return json.loads(_core.canonicalize(json.dumps(value).encode(), mask=_core.DEFAULT_MASK))


@pytest.mark.parametrize(
    "value",
    [
        # Cursors: masked, paging is a loop.
        {"cursor": UUID},
        {"nextPageToken": UUID},
        {"cursor": "/tmp/tmpab12cd34"},
        {"paging": {"next_cursor": "took 5 ms"}},
        f"next_cursor: {UUID}",
        f"https://files.example/list?limit=5&cursor={UUID}&sort=name",
        f"page_token=v1.{UUID}",
        json.dumps({"endCursor": UUID}),
        # What was set, and what is still to come.
        "expires in 3600 s",
        "token expires in 59.5s",
        "timeout after 30s",
        "timeout_ms=30000",
        {"timeoutMs": 30000, "ttl_ms": 5, "offset_ms": 20},
        "retrying in 1.5s",
        "arrives in 18 minutes",
        "3 minutes left",
        "ready in 20 s",
        "Road A (18 min)",
        "cooking time: 20 min",
        # Counts and answers.
        "Process 3 of 10",
        "process 3/10",
        "43/78 55%",
        "10:30 AM",
        "2024-05-21",
        "2024-05-21 10:00:00",
        "eta 10:45",
        # Characters that look like frames.
        "result: -",
        "path: /",
        "path: / is full",
        "count: - ?",
        # Places and states.
        "m.c:4: error: 'a' undeclared",
        'File "check.py", line 20, in <module>',
        "[main 3fa1c2e] step 4",
        "exit code 3, port 8080, 12 KiB",
        # Words that begin with a digit, behind what is not ASCII.
        "\u27139pid 4711",
        "\u20149took 5 ms",
    ],
)
def test_left_alone(value: object) -> None:
    assert masked(value) == value


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("Elapsed: 00:01:02", "Elapsed: <duration>"),
        ("Ran 5 tests in 3s", "Ran 5 tests in <duration>"),
        ("ready in 320 ms", "ready in <duration>"),
        ("Time: 1.234 s", "Time: <duration>"),
        ("/tmp/ipykernel_4711/80.py", "/tmp/ipykernel_<tmp>/80.py"),
        (f"/tmp/run-{UUID}/a", "/tmp/run-<uuid:1>/a"),
        ("100 KiB/s eta 00:05", "<progress> eta <progress>"),
        ("1.2 MB/s, ETA 5s", "<progress>, ETA <progress>"),
        ("solving: \\ ", "solving: <progress>"),
        ('{"request_id_": abc}', '{"request_id_": <id:1>}'),
        ("trace-i-d=abc", "trace-i-d=<id:1>"),
        ("10:30:05 PM up 3 days", "<time> PM up 3 days"),
        ("abcdef\rxy", "xycdef"),
        ("10%\r20%\rdone", "done"),
        ("abcdef\r\x1b[Kxy", "xy"),
        ("abcdef\x1b[2K\rxy", "xy"),
        ("one\r\ntwo\r\n", "one\ntwo"),
        ("|\b/\b-\bdone", "done"),
        ("\x1b[32mab\rcd 5 ms\x1b[0m", "cd 5 ms"),
    ],
)
def test_taken_out(value: str, wanted: str) -> None:
    assert masked(value) == wanted


def test_what_is_masked_stays_as_it_is() -> None:
    for case in load("mask.jsonl"):
        once = _core.canonicalize(base64.b64decode(case["input"]), mask=_core.DEFAULT_MASK)

        assert _core.canonicalize(once, mask=_core.DEFAULT_MASK) == once, case["name"]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("/tmp/ipython-input-7-a1b2c3d4.py", "/tmp/ipython-input-<cell>-<tmp>.py"),
        ("/tmp/run-729100229.py-a1b2c3d4", "/tmp/run-<cell>.py-<tmp>"),
        ("<Mapping of /tmp/at-0x7fc95c12f520-a1b2c3d4>", "<Mapping of /tmp/at-<address>-<tmp>>"),
        ("/tmp/run-7-a1b2c3d4.py", "/tmp/run-7-<tmp>.py"),
    ],
)
def test_what_stands_before_the_random_part_of_a_name_is_masked_at_once(value: str, wanted: str) -> None:
    assert masked(value) == wanted
    assert masked(wanted) == wanted


def test_spans_of_overwritten_text_lie_where_it_was_written() -> None:
    data = json.dumps("abcdef\rxy took 5 ms").encode()

    seen = _core.inspect(data, mask=_core.DEFAULT_MASK)

    assert seen.canonical == b'"xy took <duration>"'
    assert [(kind, data[start:end]) for kind, start, end in seen.spans] == [
        (_core.MASK_KINDS["ansi"], b"abcdef\\r"),
        (_core.MASK_KINDS["duration"], b"5 ms"),
    ]
