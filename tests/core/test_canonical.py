"""Each row of the table of canonical JSON."""

from __future__ import annotations

import json
import random

import pytest
import xxhash

from loopguard import _core
from loopguard._core import BIGINT, DUPLICATE_KEY, OPAQUE, OVERFLOW, SURROGATE
from tests.core import reference

OPAQUE_SEED = 0x6C6F6F7067756172
DEEP = 256


@pytest.mark.parametrize(
    ("data", "canonical", "flags"),
    [
        (b"9007199254740991", b"9007199254740991", 0),
        (b"-9007199254740991", b"-9007199254740991", 0),
        (b"9007199254740992", b"9007199254740992", BIGINT),
        (b"-9007199254740992", b"-9007199254740992", BIGINT),
        (b"1234567890123456789", b"1234567890123456789", BIGINT),
        (b"1234567890123456788", b"1234567890123456788", BIGINT),
        (b"1" * 400, b"1" * 400, BIGINT),
        (b"-0", b"0", 0),
        (b"0", b"0", 0),
    ],
)
def test_integers_keep_their_digits(data: bytes, canonical: bytes, flags: int) -> None:
    assert seen(data) == (canonical, flags)


@pytest.mark.parametrize(
    ("data", "canonical"),
    [
        (b"1.0", b"1"),
        (b"1e3", b"1000"),
        (b"1E3", b"1000"),
        (b"1e+3", b"1000"),
        (b"-0.0", b"0"),
        (b"-0e5", b"0"),
        (b"0.10", b"0.1"),
        (b"100.50", b"100.5"),
        (b"1e20", b"100000000000000000000"),
        (b"1e21", b"1e+21"),
        (b"0.000001", b"0.000001"),
        (b"0.0000001", b"1e-7"),
        (b"0.000000100", b"1e-7"),
        (b"1e-7", b"1e-7"),
        (b"333333333.33333329", b"333333333.3333333"),
        (b"0.1234567890123456789", b"0.12345678901234568"),
        (b"4.50", b"4.5"),
        (b"2e-3", b"0.002"),
        (b"1.7976931348623157e308", b"1.7976931348623157e+308"),
        (b"5e-324", b"5e-324"),
        (b"3e-324", b"5e-324"),
        (b"2e-324", b"0"),
        (b"1e-400", b"0"),
        (b"-1e-400", b"0"),
        (b"0e999999999999999999999", b"0"),
        (b"0." + b"0" * 400 + b"1", b"0"),
        (b"1" + b"0" * 30 + b".0", b"1e+30"),
        (b"9007199254740993.0", b"9007199254740992"),
    ],
)
def test_decimals_and_exponents_are_doubles(data: bytes, canonical: bytes) -> None:
    assert seen(data) == (canonical, 0)


@pytest.mark.parametrize(
    ("data", "canonical"),
    [
        (b"1e400", b"1e400"),
        (b"1E+400", b"1e400"),
        (b"-1.50E400", b"-1.50e400"),
        (b"1.7976931348623159e308", b"1.7976931348623159e308"),
        (b"1" + b"0" * 400 + b".0", b"1" + b"0" * 400 + b".0"),
        (b"1e99999999999999999999", b"1e99999999999999999999"),
    ],
)
def test_overflow_keeps_the_token(data: bytes, canonical: bytes) -> None:
    assert seen(data) == (canonical, OVERFLOW)


@pytest.mark.parametrize(
    ("data", "canonical"),
    [
        (b'{"a":1,"a":2}', b'{"a":2}'),
        (b'{"a":1,"b":0,"\\u0061":2}', b'{"a":2,"b":0}'),
        (b'{"b":1,"a":1,"b":2,"b":3}', b'{"a":1,"b":3}'),
        (b'[{"":1,"":2}]', b'[{"":2}]'),
        (b'{"abcdefghi":1,"abcdefghj":2,"abcdefghi":3}', b'{"abcdefghi":3,"abcdefghj":2}'),
    ],
)
def test_the_last_of_equal_keys_wins(data: bytes, canonical: bytes) -> None:
    assert seen(data) == (canonical, DUPLICATE_KEY)


def test_many_members_sort_and_lose_their_duplicates() -> None:
    data = b"{%s}" % b",".join(b'"key%d":%d' % (i % 150, i) for i in range(299, -1, -1))
    order = sorted(range(150), key=lambda i: f"key{i}")

    assert seen(data) == (b"{%s}" % b",".join(b'"key%d":%d' % (i, i) for i in order), DUPLICATE_KEY)


@pytest.mark.parametrize(
    ("data", "canonical"),
    [
        (b'"\\ud800"', b'"\\ud800"'),
        (b'"\\uDFFFx"', b'"\\udfffx"'),
        (b'"\\ud800\\ud800"', b'"\\ud800\\ud800"'),
        (b'"\\udc00\\ud800"', b'"\\udc00\\ud800"'),
        (b'"\\uD83D\\n"', b'"\\ud83d\\n"'),
        (b'{"\\ud800":1}', b'{"\\ud800":1}'),
    ],
)
def test_lone_surrogates_stay_escaped(data: bytes, canonical: bytes) -> None:
    assert seen(data) == (canonical, SURROGATE)


@pytest.mark.parametrize(
    "data",
    [
        b"", b" ", b"NaN", b"Infinity", b"-Infinity", b"-", b"+1", b"01", b"-01", b"1.", b".5", b"1e", b"1e+",
        b"0x1", b"nul", b"truefalse", b"True", b"'a'", b'"a', b'"\\x"', b'"\\u12g4"', b'"\\u123"', b'"\n"',
        b'"\x00"', b'"\x1f"', b"[1,]", b"[,1]", b"[1 2]", b"[", b"]", b'{"a"}', b'{"a":}', b'{"a":1,}', b"{1:2}",
        b'{"a":1 "b":2}', b"{", b"1 1", b"{} x", b"\xef\xbb\xbf{}", b'"\x80"', b'"\xc0\xaf"', b'"\xed\xa0\x80"',
        b'"\xf4\x90\x80\x80"', b'"\xe2\x82"', b"\xff", b"{}\x00", b"[" * (DEEP + 1) + b"]" * (DEEP + 1),
        b"[" * 100_000, b'{"a":' * 100_000, b"// c\n1", b"/**/1",
    ],
)  # fmt: skip
def test_what_is_no_json_stays_and_is_opaque(data: bytes) -> None:
    assert seen(data) == (data, OPAQUE)
    assert _core.fingerprint(data) == xxhash.xxh3_128_digest(data, OPAQUE_SEED)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_256_containers_inside_one_another_are_json(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    data = opening * (DEEP - 1) + b"[1]" + closing * (DEEP - 1)

    assert seen(data) == (data, 0)


@pytest.mark.parametrize(
    ("data", "canonical"),
    [
        ('"\u00e9"'.encode(), '"\u00e9"'.encode()),
        (b'"e\\u0301"', '"e\u0301"'.encode()),
        (b'"\\u00E9\\/\\u0041"', '"\u00e9/A"'.encode()),
        (
            b'"\\u0000\\u001F\\u0008\\u000a\\u000C\\u000d\\u0009\\u0022\\u005c"',
            b'"\\u0000\\u001f\\b\\n\\f\\r\\t\\"\\\\"',
        ),
        (b'"\\u007f\\uFFFF\\ud83D\\uDe00"', '"\x7f\uffff\U0001f600"'.encode()),
        (b' { "b" : [ 1 , 2 ] ,\t"a":\r\n{ } } ', b'{"a":{},"b":[1,2]}'),
        (b"[true,false,null,[],{}]", b"[true,false,null,[],{}]"),
    ],
)
def test_strings_and_space(data: bytes, canonical: bytes) -> None:
    assert seen(data) == (canonical, 0)


def test_keys_sort_by_utf16_code_unit() -> None:
    keys = [
        "\U0001f600",
        "\ufb33",
        "\u20ac",
        "\r",
        "1",
        "\x80",
        "\u00f6",
        "\ue000",
        "\uffff",
        "abcdefgh\U00010000",
        "abcdefgh\uffff",
    ]
    order = sorted(keys, key=lambda key: key.encode("utf-16-be"))

    canonical = _core.canonicalize(json.dumps(dict.fromkeys(keys, 0)).encode())

    assert list(json.loads(canonical)) == order


@pytest.mark.parametrize("size", [0, 1, 15, 16, 31, 32, 33, 63, 64, 65, 16_380, 16_384, 16_390, 70_000, 1_100_000])
def test_strings_of_all_sizes_and_places_of_an_escape(size: int) -> None:
    for text in (b"a" * size, b"a" * size + b"\\n", b"\\u0041" + b"a" * size, b"a" * size + "\u00e9".encode() + b"\\/"):
        data = b'{"b":"%s","a":[1]}' % text
        canonical = b'{"a":[1],"b":"%s"}' % text.replace(b"\\u0041", b"A").replace(b"\\/", b"/")

        assert seen(data) == (canonical, 0)
        assert _core.fingerprint(data) == xxhash.xxh3_128_digest(canonical)


#: Canonical as they stand, rewritten, and not JSON.
PIECES = (
    r"\u001b", r"\u000b", r"\u0000", r"\n", r"\\", r"\"", "\u2713", "\U0001f600\u00e9", r"\u001B", r"\u000a", r"\u2713",
    r"\/", r"\ud83d\ude00", r"\udc00", r"\u00", r"\u00g1", r"\u001", r"\x", "\x1b", '"',
)  # fmt: skip


@pytest.mark.parametrize("blanks", [0, 20_000])
@pytest.mark.parametrize("second", [r"\u001b", "\u2713", r"\u2713"])
@pytest.mark.parametrize("first", PIECES)
def test_what_is_special_at_any_place_of_a_block(first: str, second: str, blanks: int) -> None:
    for before in range(36):
        text = f'{{"{"x" * before}{first}{second}":["{"x" * (before % 33)}{first}{second}"]}}'
        data = b" " * blanks + text.encode()
        wanted = reference.run(data)

        assert (_core.canonicalize(data), _core.fingerprint_flags(data)) == (
            wanted.canonical,
            (wanted.digest, wanted.flags),
        )


@pytest.mark.parametrize("count", range(1, 40))
def test_members_sort_whatever_their_number(count: int) -> None:
    draw = random.Random(count)
    for size in (1, 300):
        keys = [f"{draw.choice(['', 'key', 'a longer key ', chr(0xE9), chr(0x20AC)])}{i}" for i in range(count)]
        draw.shuffle(keys)
        value = {key: {"b": "x" * size, "a": key} for key in keys}
        members = ",".join(f'"{key}":{{"a":"{key}","b":"{"x" * size}"}}' for key in sorted(keys))
        data = json.dumps(value, ensure_ascii=False).encode()

        assert seen(data) == (f"{{{members}}}".encode(), 0)
        assert _core.fingerprint(data) == xxhash.xxh3_128_digest(f"{{{members}}}".encode())


def seen(data: bytes) -> tuple[bytes, int]:
    inspection = _core.inspect(data)
    return inspection.canonical, inspection.flags
