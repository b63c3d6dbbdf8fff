"""Documents for the property tests: any JSON, and JSON that is full of what masks and rules look for."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

EXACT = 2**53 - 1
#: Pieces that masks look for, and their neighbours; most documents put some of them side by side.
PIECES = (
    "2025-11-18", "T23:44:32", "Z", " ", "  ", "\n", "\t", "12:30", "12:30:45", ".123", ",5", "pid", "=", ":",
    " 4711", "took ", "5", "s", "ms", " 0.53s", "in ", "attempt", "retry ", "3", "[", "]", "(", ")", "<", ">",
    "0x7fc95c12f520", " at ", "bash: line ", "33:", "/tmp/", "/var/folders/", "ab/cd/T/", "tmpab12cd", "-zq9qjm2_",
    "123e4567-e89b-12d3-a456-426614174000", "request_id", "trace-id", '"', "Cell In[20]", "In [", "729100229.py",
    "Nov", " 19 ", "Tue, ", "Date: ", "Started at ", "as of ", "1790000000", "timestamp", "[00:01<00:04,  1.25s/it]",
    " 1.2 MB/s", "\u280b", ": | ", "\\", "\x1b[31m", "\r", "\b", "\xe9", "a", "x1", "_", "#", "--", "elapsed",
    "real\t0m1.2s", "ok \t", "FAIL\t", "/proc/12/", "[1] 77", "sshd[123]: ", "2024", "\x1b]0;t\x07", "\ud800",
    "\U0001f600", "2024/01/02 ", "01/02/2024 ", "UTC", "+01:00", "19 Nov 2024 ", "Dec 1, 2024 ", "ipython-input-5-",
    "_ms", "time ", "epoch=", "Elapsed: ", " eta ", " 00:05", "next_cursor", "?cursor=", "page-token: ",
    "solving: ", "/ ", "ready ",
    "expires ", "tests ", "process ", " of 10", "/10", " AM", "ipykernel_", "\x1b[K", "\x1b[2K", "\x1b[3G",
    " elapsed", " 12 kB/s",
    "\u00b5s", " minutes", "h", "user ", "total ", "timeout", ", ", "-", "/var/folders/zz/zyx12", "/tmp/tmpab12cd34",
 "<<<EXTERNAL_UNTRUSTED_CONTENT id=", '"0123456789abcdef">>>',
    "<<<END_EXTERNAL_UNTRUSTED_CONTENT id=",
)  # fmt: skip
KEYS = (
    "pid", "a", "text", "data", "request_id", "durationMs", "elapsed", "ts", "attempt", "x_ms", "timestamp", "nonce",
    "startedAt", "traceId", "latency", "epoch_ms", "b", "now", "timeout_ms", "cursor", "nextPageToken", "offset_ms",
    "elapsedTotal", "retries", "\ue000",
    "\U0001f600", "\ud800", "",
)  # fmt: skip
WRAPPED = (
    '<<<EXTERNAL_UNTRUSTED_CONTENT id="0123456789abcdef">>>%s<<<END_EXTERNAL_UNTRUSTED_CONTENT id="0123456789abcdef">>>'
)

texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join)
wrapped = st.builds(lambda inside: WRAPPED % inside, texts)
scalars = st.one_of(
    texts,
    texts,
    wrapped,
    st.text(),
    st.sampled_from(
        [1, 4711, 1790000000, 1790000000123, 0.5, -3, 12.25, True, None, "123", "5s", "QUJD" * 20,
        "2025-11-18T10:00:00Z", "data:image/png;base64,AAAA", "<id:1>", 2**60, -(2**53), 1e21, 5e-324]
    ),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(),
)  # fmt: skip
keys = st.one_of(st.sampled_from(KEYS), st.text(max_size=12), wrapped)
noisy = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(keys, inner, max_size=5)),
    max_leaves=12,
)
#: Values whose text has no flag: what RFC 8785 and I-JSON allow.
strict = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-EXACT, EXACT),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=["Cs"])),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=8),
        st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), inner, max_size=24),
    ),
    max_leaves=30,
)


@st.composite
def encoded(draw: Any, values: Any) -> bytes:
    """Write a value as one of the encoders that are about."""
    value = draw(values)
    raw = draw(st.booleans())
    indent = draw(st.sampled_from([None, None, 1, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")]))
    text = json.dumps(value, ensure_ascii=not raw, indent=indent, separators=separators)
    # Encoders write lone surrogates as escapes, whatever else they leave raw.
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text).encode()


@st.composite
def broken(draw: Any) -> bytes:
    """Write JSON and damage a byte or two, or cut it."""
    data = bytearray(draw(encoded(noisy)))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        data[place : place + draw(st.integers(0, 1))] = draw(st.binary(max_size=2))
    return bytes(data[: draw(st.one_of(st.just(len(data)), st.integers(0, len(data))))])


segments = st.one_of(st.sampled_from(["*", "**", "a", "b", "pid", "text", "data"]), st.sampled_from(KEYS))
paths = st.lists(segments, min_size=1, max_size=4).map(tuple)
droppable = paths.filter(lambda path: any(segment != "**" for segment in path))
