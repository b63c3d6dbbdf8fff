"""The Python face: what it takes, what it refuses, and how it behaves beside threads and finalizers."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import threading
from typing import Any

import pytest
import xxhash

from loopguard import _core

FUNCTIONS = [
    _core.canonicalize, _core.fingerprint, _core.fingerprint_flags, _core.inspect, _core.members, _core.text_of,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("made", [bytes, bytearray, memoryview, lambda data: memoryview(b"x" + data)[1:]])
def test_takes_anything_bytes_like(function: Any, made: Any) -> None:
    data = b'{"b":1,"a":"x"}'

    seen = function(made(data))

    assert repr(seen) == repr(function(data))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("data", "said"), [("{}", "not str"), (1, "not int"), (None, "not NoneType")])
def test_refuses_what_is_not(function: Any, data: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        function(data)


@pytest.mark.parametrize("mask", [-1, 1 << 16, 1 << 70, True, 1.0, "ansi", None])
def test_refuses_a_mask_that_is_none(mask: Any) -> None:
    with pytest.raises(ValueError, match="mask must be"):
        _core.fingerprint(b"{}", mask=mask)


def test_an_inspection_says_what_it_has() -> None:
    seen = _core.inspect(b'{"pid":4711}', mask=_core.DEFAULT_MASK)

    assert (seen.canonical, seen.flags) == (b'{"pid":"<pid>"}', 0)
    assert seen.digest == xxhash.xxh3_128_digest(seen.canonical)
    assert seen.spans == [(_core.MASK_KINDS["process_id"], 7, 11)]
    assert "canonical=b'{" in repr(seen)


@pytest.mark.parametrize(
    ("data", "members"),
    [
        (b'{"a":1,"b":[2, 3]}', [("a", 5, 6), ("b", 11, 17)]),
        (b' { "\\u00e9\\n" : "x" , "a" :null}\n', [("\u00e9\n", 16, 19), ("a", 27, 31)]),
        (b'{"a":1,"a":2}', [("a", 5, 6), ("a", 11, 12)]),
        (b'{"\\ud800":1}', [("\ud800", 10, 11)]),
        (b'[1, "x",{}]', [("", 1, 2), ("", 4, 7), ("", 8, 10)]),
        (b"[]", []),
        (b" {\n} ", []),
        (b"1", None),
        (b'"{}"', None),
        (b"", None),
        (b"[1", None),
        (b'{"a":1}x', None),
        (b'{"a":1,}', None),
        (b"[" * 257 + b"]" * 257, [("", 1, 513)]),  # as deep as may be, each for itself
    ],
)
def test_members(data: bytes, members: Any) -> None:
    assert _core.members(data) == members


@pytest.mark.parametrize("size", [10, 20_000])
def test_members_of_documents_of_any_size(size: int) -> None:
    values = [b'"%s"' % (b"v" * n) for n in (0, size, 3)]
    data = b"[%s]" % b" , ".join(values)

    listed = _core.members(data)

    assert listed is not None
    assert [data[start:end] for _, start, end in listed] == values


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'"a\\n\\u00e9\\ud83d\\ude00"', "a\n\u00e9\U0001f600"),
        (b' "" ', ""),
        (b'"\\ud800x"', "\ud800x"),
        (b'"\\u0000"', "\x00"),
        (b"1", None),
        (b'["a"]', None),
        (b'"a', None),
    ],
)
def test_text_of(data: bytes, text: str | None) -> None:
    assert _core.text_of(data) == text


def test_values_are_hashed_behind_their_tag() -> None:
    digest = _core.fingerprint_values(7, [b'{"b":1,"a":2}', None, bytearray(b"1.0")])

    assert digest == xxhash.xxh3_128_digest(b'\x07[{"a":2,"b":1},null,1]')
    assert _core.fingerprint_values(7, iter([])) == xxhash.xxh3_128_digest(b"\x07[]")


def test_a_value_that_is_no_json_equals_no_value_that_is() -> None:
    opaque = _core.fingerprint(b"no json")
    stand_in = b'"\x1a%s"' % opaque.hex().encode()

    assert _core.fingerprint_values(0, [b"no json"]) == xxhash.xxh3_128_digest(b"\x00[%s]" % stand_in)
    assert _core.canonicalize(b'"\\u001a"') == b'"\\u001a"'
    assert _core.fingerprint_values(0, [b"no json"]) != _core.fingerprint_values(
        0, [b'"\\u001a%s"' % opaque.hex().encode()]
    )


def test_values_number_their_ids_together() -> None:
    one, other = (b'"%08d-0000-0000-0000-000000000000"' % n for n in (1, 2))
    mask = _core.MASK_KINDS["uuid"]

    assert _core.fingerprint_values(0, [one, one], mask=mask) == _core.fingerprint_values(0, [other, other], mask=mask)
    assert _core.fingerprint_values(0, [one, one], mask=mask) != _core.fingerprint_values(0, [one, other], mask=mask)


@pytest.mark.parametrize("tag", [-1, 256])
def test_refuses_a_tag_that_is_no_byte(tag: int) -> None:
    with pytest.raises(OverflowError):
        _core.fingerprint_values(tag, [])


def test_many_are_what_each_is() -> None:
    documents = [b'{"a":1}', b"no json", b"[1.0]", memoryview(b'"x"')]

    assert _core.fingerprint_many(documents) == [_core.fingerprint(data) for data in documents]


def test_values_may_be_made_by_the_core_itself() -> None:
    # The generator runs the core in the middle of a call, on the same thread.
    made = (_core.canonicalize(b'{"b":%d,"a":1}' % n) for n in range(3))

    assert _core.fingerprint_values(1, made) == xxhash.xxh3_128_digest(
        b'\x01[{"a":1,"b":0},{"a":1,"b":1},{"a":1,"b":2}]'
    )


@pytest.mark.parametrize(
    "bad", [{"drop": [()]}, {"drop": [("**",)]}, {"keep": ["a"]}, {"drop": [(1,)]}, {"mask": [(("a",), -1)]}]
)
def test_refuses_paths_that_can_not_be(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"path|mask"):
        _core.Rules(**bad)


def test_too_many_paths_are_refused() -> None:
    with pytest.raises(OverflowError):
        _core.Rules(drop=[("**", f"a{n}", *["*"] * 14, "x") for n in range(2)])


def test_threads_do_not_mix_their_documents() -> None:
    failed = []

    def hash_many(seed: int) -> None:
        for n in range(300):
            data = b'{"b":"%s","a":%d}' % (b"x" * (n * seed), n)
            if _core.canonicalize(data) != b'{"a":%d,"b":"%s"}' % (n, b"x" * (n * seed)):
                failed.append((seed, n))

    threads = [threading.Thread(target=hash_many, args=(seed,)) for seed in (1, 7, 90, 500)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []


@pytest.mark.parametrize(("size", "released"), [(600_000, False), (12_000_000, True)])
def test_the_lock_is_held_up_to_a_mebibyte_beside_a_busy_thread(size: int, released: bool) -> None:
    data = b"[%s]" % b",".join([b"123456"] * (size // 7))
    counted = [0]
    stop = threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1

    busy = threading.Thread(target=count)
    busy.start()
    moved = 0
    calls = 12
    try:
        for _ in range(calls):
            before = counted[0]
            _core.canonicalize(data)
            moved += counted[0] != before
    finally:
        stop.set()
        busy.join()

    # The thread may also get its turn just before or behind a call, but not every time; and it may miss one.
    assert (moved > calls // 2) == released


def test_memory_stays_flat() -> None:
    rules = _core.Rules(drop=[("**", "pid")], mask=[(("text",), _core.DEFAULT_MASK)])
    documents = [b'{"text":"took %d ms","pid":1,"a":[1.25,"\\u00e9"]}' % n for n in range(50)] + [b"no json"]
    rounds = int(os.environ.get("LOOPGUARD_FINGERPRINTS", "200000")) // (4 * len(documents))

    def work() -> None:
        for _ in range(rounds):
            for data in documents:
                _core.fingerprint(data)
                _core.fingerprint(data, mask=_core.DEFAULT_MASK)
                _core.inspect(data, rules=rules)
                _core.members(data)

    work()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work()

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2_000


def test_large_documents_give_their_memory_back() -> None:
    data = b"[%s]" % b",".join([b'{"b":1,"a":2}'] * 2_000_000)
    _core.fingerprint(data)
    gc.collect()

    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - a file of the kernel
            return int(statm.read().split()[1]) * resource.getpagesize()

    before = resident()
    _core.fingerprint(data)

    assert resident() - before < 8_000_000


def test_the_baseline_says_the_same() -> None:
    program = (
        "import sys; from loopguard import _core as c; d = sys.stdin.buffer.read().split(b'\\0');"
        "print(c.features()['cpu'], *[c.fingerprint(x, mask=m).hex() for x in d for m in (0, c.DEFAULT_MASK)])"
    )
    documents = [b'{"b":1.5,"a":"%s"}' % (b"took 5 ms\\n" * n) for n in range(60)] + [*_core.MASK_EXAMPLES.values()]
    environment = {**os.environ, "LOOPGUARD_CPU": "baseline"}

    printed = subprocess.run(
        [sys.executable, "-c", program],
        input=b"\0".join(documents),
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()

    cpu, *digests = printed.split()
    assert cpu == "baseline"
    assert digests == [
        _core.fingerprint(data, mask=mask).hex() for data in documents for mask in (0, _core.DEFAULT_MASK)
    ]
