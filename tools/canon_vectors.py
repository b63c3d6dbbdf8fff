"""Writes conformance/canon.jsonl and mask.jsonl: the inputs are here, the answers come from the slow reference."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.core import reference, reference_masks  # noqa: E402 - the tests are no installed package

FLAGS = {1: "BIGINT", 2: "OVERFLOW", 4: "DUPLICATE_KEY", 8: "SURROGATE", 16: "OPAQUE"}
NESTED = 256
UUIDS = ("123e4567-e89b-12d3-a456-426614174000", "0f0e0d0c-0b0a-4908-8706-050403020100")

CANON: dict[str, list[bytes]] = {
    "integer": [
        b"0", b"-0", b"1", b"-1", b"9007199254740991", b"-9007199254740991", b"9007199254740992",
        b"-9007199254740992", b"9007199254740993", b"1234567890123456789", b"1234567890123456788",
        b"123456789012345678901234567890", b"1" * 400,
    ],
    "decimal": [
        b"1.0", b"1.50", b"-0.0", b"0.1", b"100.00", b"123456789.123456", b"0.000001", b"0.0000001", b"0.00000123",
        b"333333333.33333329", b"0.1234567890123456789", b"9007199254740993.0", b"4.35", b"0.30000000000000004",
        b"1000000000000000000000.0", b"5.0e-1", b"-0.5", b"12345678901234567.0", b"0.1e1",
    ],
    "exponent": [
        b"1e3", b"1E3", b"1e+3", b"1e-3", b"1e20", b"1e21", b"1e-6", b"1e-7", b"123e-20", b"4.9e-324", b"5e-324",
        b"3e-324", b"2.2250738585072014e-308", b"1.7976931348623157e308", b"-1e22", b"0e5", b"1.5e300", b"9.5e-3",
        b"1e00", b"1e05",
    ],
    "overflow": [
        b"1e400", b"-1e400", b"1E+400", b"1.50E400", b"1.7976931348623159e308", b"1e99999999999999999999",
        b"[1e309,1e308]",
    ],
    "underflow": [b"2e-324", b"1e-400", b"-1e-400", b"1e-99999999999999999999", b"0." + b"0" * 330 + b"1"],
    "string": [
        b'""', b'"a"', b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', b'"\\u0000\\u0001\\u001f\\u007f"',
        b'"\\u0008\\u0009\\u000A\\u000c\\u000D"', b'"\\u0022\\u005C\\u002f"', b'"\\u00e9\\u20AC"',
        '"\u00e9\u20ac\U0001f600"'.encode(), b'"\\ud83d\\ude00"', b'"\\uD83D\\uDE00"',
        b'"\\u2028\\u2029\\uFEFF\\uFFFF"', b'"' + b"x" * 70 + b'\\n"', b'"<>&\'"',
    ],
    "surrogate": [
        b'"\\ud800"', b'"\\uDFFF"', b'"\\ud800\\ud800\\udc00"', b'"\\udc00\\ud800"', b'"\\ud83dx"',
        b'{"\\uDEAD":1,"a":2}',
    ],
    "unicode": ['"\u00e9"'.encode(), b'"e\\u0301"', '"\u212b"'.encode(), '"\ufb01"'.encode()],
    "object": [
        b"{}", b'{"b":1,"a":2}', b'{"a":{"d":1,"c":2},"B":[]}', b'{"10":1,"9":2,"1":3}', b'{"":1," ":2}',
        b'{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}',
        b'{"\\uffff":1,"\\ud800\\udc00":2}', b'{"ab":1,"a":2,"abc":3,"A":4}',
        b'{"abcdefgh2":1,"abcdefgh1":2,"abcdefgh":3}', b'{"\\u0061":1,"b":2}', b'{"a\\u0000":1,"a":2}',
        b"{%s}" % b",".join(b'"k%d":%d' % (n, n) for n in range(30, 0, -1)),
        b'{"z":"%s","a":"%s"}' % (b"x" * 2000, b"y" * 300),
    ],
    "duplicate": [
        b'{"a":1,"a":2}', b'{"a":1,"b":0,"a":2}', b'{"a":1,"\\u0061":2}', b'{"a":{"x":1,"x":2},"a":{"y":1}}',
        b'{"":1,"":2}', b'{"a":1,"a":1}', b'[{"a":1,"a":2},{"a":3}]', b'{"b":1,"a":1e400,"a":9007199254740992,"b":2}',
    ],
    "array": [b"[]", b"[1,2]", b"[[],{},null,true,false]", b"[3,1,2]", b"[ 1 ,\t2,\r\n3 ]"],
    "scalar": [b"true", b"false", b"null", b" null ", b"\n1\n"],
    "depth": [b"[" * NESTED + b"]" * NESTED, b'{"a":' * NESTED + b"1" + b"}" * NESTED],
    "opaque": [
        b"", b" ", b"NaN", b"Infinity", b"-Infinity", b"nul", b"TRUE", b"+1", b"01", b"-", b"1.", b".5", b"1e",
        b"0x10", b"1_000", b"'a'", b'"a', b'"\\x41"', b'"\\u12"', b'"\n"', b'"\x00"', b"[1,]", b"[,]", b"[1 2]", b"[",
        b'{"a"}', b'{"a":1,}', b"{a:1}", b"1 2", b"{}{}", b"{}\x00", b"\xef\xbb\xbf{}", b'"\x80"', b'"\xc0\x80"',
        b'"\xed\xa0\x80"', b'"\xf5\x80\x80\x80"', b"\xff\xfe", b"// x\n1", b"[" * (NESTED + 1) + b"]" * (NESTED + 1),
        b"plain text",
    ],
}  # fmt: skip

KINDS = {
    name.lower(): getattr(reference_masks, name)
    for name in (
        "WRAPPER_NONCE", "ANSI", "WHITE_SPACE", "TIMESTAMP", "DURATION", "SHELL_LINE", "ADDRESS", "PROCESS_ID",
        "NOTEBOOK",
        "TEMP_PATH", "PROGRESS", "UUID", "TECHNICAL_ID", "ATTEMPT", "EPOCH", "BINARY",
    )
}  # fmt: skip

MASK: dict[str, list[Any]] = {
    "wrapper_nonce": [
        f'<<<EXTERNAL_UNTRUSTED_CONTENT id="0123456789abcdef">>>x<<<END_EXTERNAL_UNTRUSTED_CONTENT id="{end}">>>'
        for end in ("0123456789abcdef", "0123456789abcdee")
    ],
    "ansi": ["\x1b[31mred\x1b[0m", "10%\r20%\rdone", "a\bb", "line\r\nnext", "abcdef\rxy", "abcdef\r\x1b[Kxy",
    "ab\x1b[2K\rc", "abc\x1b[1Gx", "\x1b]0;title\x07x"],
    "white_space": ["a  b", "a \nb\n\n", "  indented", "a\tb", "x \t y"],
    "timestamp": [
        "08/19/2024 19:49:39 - WARNING - rank -1", "Date: 2025-11-18T23:44:32", "Starting time:  08/19/2024 20:03:30",
        "--2024-08-20 18:52:11--  https://files.example/a.tar.gz", "[2024-08-20T18:52:11.123Z] ready", "12:30:45 x",
        '("HT052", "2024-05-21", 158)', "2024-05-21 10:00:00", "2024-05-21 10:00:00,158,7",
        "10:30 AM", "10:30:05 PM up 3 days", "Nov  2 19:49:39 host cron: x", "as of 2024-05-21",
        {"timestamp": "2024-05-21T10:00:00Z", "departure": "2024-05-21T10:00:00Z"}, {"startedAt": "10:00:00"},
    ],
    "duration": [
        "=== 3 failed, 12 passed in 0.53s ===", "took 12 ms", "real\t0m1.234s\nuser\t0m0.1s", "ok  \tpkg\t0.005s",
        "works (12 ms)", "wait 5s", "3s elapsed", {"execution_time_ms": 2.1799, "rows": [1]},
        {"duration": "1m 3s", "timeout_ms": 5}, {"durationMs": 12, "items": 3}, "elapsed: 12.5",
        "Elapsed: 00:01:02", "expires in 3600 s", "retrying in 1.5s", "timeout after 30s", "arrives in 18 minutes",
        "3 minutes left",
        "ready in 20 s", "ready in 320 ms", "Ran 5 tests in 3s", "Road A (18 min)", "Total time: 3.5 s",
        "cooking time: 20 min",
        "timeout_ms=30000 total_ms=12", {"ttl_ms": 5, "offset_ms": 7},
    ],
    "shell_line": [
        "/bin/bash: line 11301: cd: app/: No such file or directory", 'File "check.py", line 20, in <module>',
        "m.c:4: error: 'a' undeclared", "x\nsh: line 4: y",
    ],
    "address": ["<pkg.TestSet object at 0x7fc95c12f520>", "at 0x7fc95c12f520", "value 0x7fc95c12f520", "at 0x7f"],
    "process_id": [
        "[1] 4711", {"pid": 4711, "exit": 1}, "pid 4711", "process #12", "Process 3 of 10", "process 3/10",
        "process exited with 1", "arr[3]: x",
        "/proc/4711/maps",
    ],
    "notebook": ["(729100229.py, line 93)  Cell In[20]", "Out[3]: 4", "a[20]", "v1.py", "<ipython-input-5-ab>"],
    "temp_path": [
        "/tmp/pip-build-env-zq9qjm2_/overlay", "/tmp/tmpab12cd34/x", "/tmp/report-2024.csv", "/tmp/test-output",
        "/tmp/x86_64", "/tmp/ipykernel_4711/80.py", "/var/folders/zz/zyx12/T/tmpabcdefgh", "/tmp/out-a8f3k2.log",
        "/home/tmp1",
    ],
    "progress": [
        "20%| 1/5 [00:01<00:04,  1.25s/it]", "1.2 MB/s", "solving: \\ ", "solving: / done", "\u280b wait", "43/78",
        "result: -", "path: / is full", "100 KiB/s eta 00:05", "1.2 MB/s, ETA 5s", "eta 10:45",
        "key: | x",
    ],
    "uuid": [[UUIDS[0], UUIDS[1], UUIDS[0].upper()], f"x{UUIDS[0]}", f"tool-{UUIDS[0]}.",
        {"cursor": UUIDS[0], "id": UUIDS[1]}, {"nextPageToken": UUIDS[0]}, f"next_cursor: {UUIDS[0]}",
        f"/x?cursor={UUIDS[0]}&id={UUIDS[1]}",
        json.dumps({"cursor": UUIDS[0]}), {"cursor": "/tmp/tmpab12cd34"}, '{"cursor": "/tmp/tmpab12cd34"}',
    ],
    "technical_id": [
        {"request_id": "a", "x": {"traceId": "b", "spanId": "a"}}, "trace_id=abc next", '"x-request-id": "q1"',
        {"id": "a"}, {"etag": 'W/"1"', "nonce": 5},
    ],
    "attempt": ["attempt 3 of 5", "retry 2/5", "attempts 3", {"attempt": 2, "limit": 5}],
    "epoch": [
        {"timestamp": 1790000000123, "n": 1790000000123},
        "ts=1790000000",
        {"epoch_ms": 1790000000123},
        "1790000000",
    ],
    "binary": [
        [{"type": "image", "data": "iVBOR" * 40}, {"type": "text", "text": "a chart"}],
        [{"type": "image", "data": "iVBOR" * 40}], {"data": "data:image/png;base64,iVBORw0KGgo=", "text": "x"},
        {"data": "short", "text": "x"},
    ],
}  # fmt: skip


def case(name: str, data: bytes, kinds: list[str]) -> dict[str, Any]:
    """Ask the reference."""
    found = reference.run(data, sum(KINDS[kind] for kind in kinds))
    made: dict[str, Any] = {"name": name, "input": base64.b64encode(data).decode()}
    if kinds:
        made["mask"] = kinds
    try:
        made["canonical"] = found.canonical.decode()
    except UnicodeDecodeError:
        made["canonicalBase64"] = base64.b64encode(found.canonical).decode()
    made["digest"] = found.digest.hex()
    made["flags"] = [flag for bit, flag in FLAGS.items() if found.flags & bit]
    return made


def canon_cases() -> Iterator[dict[str, Any]]:
    """Yield each input without masks."""
    for about, inputs in CANON.items():
        for number, data in enumerate(inputs, 1):
            yield case(f"{about}/{number}", data, [])


def mask_cases() -> Iterator[dict[str, Any]]:
    """Yield each value with its own kind masked, and with all of them."""
    for kind, values in MASK.items():
        for number, value in enumerate(values, 1):
            data = json.dumps(value).encode()
            yield case(f"{kind}/{number}", data, [kind])
            yield case(f"{kind}/{number}-among-all", data, list(KINDS))


def main() -> None:
    """Write both files."""
    for name, cases in (("canon", canon_cases()), ("mask", mask_cases())):
        lines = [json.dumps(one) + "\n" for one in cases]
        (ROOT / "conformance" / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        print(f"{name}: {len(lines)} cases")


if __name__ == "__main__":
    main()
