"""Uses of the core as its stub describes them: run by a test, and checked by type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

from loopguard import _core

if TYPE_CHECKING:
    from typing_extensions import Buffer


def documents() -> list[Buffer]:
    return [b'{"b":1,"a":2}', bytearray(b"[1]"), memoryview(b'"text"')]


def digests() -> None:
    for data in documents():
        assert_type(_core.canonicalize(data), bytes)
        assert_type(_core.fingerprint(data, mask=_core.DEFAULT_MASK), bytes)
        assert_type(_core.fingerprint_flags(data), tuple[bytes, int])
    assert_type(_core.fingerprint_many(documents()), list[bytes])
    assert_type(_core.fingerprint_values(1, [b"1", None]), bytes)


def rules() -> None:
    made = _core.Rules(drop=[("**", "pid")], keep=[("a",)], mask=[(("a", "*"), _core.WRAPPER_NONCE)])
    assert_type(made, _core.Rules)
    assert_type(_core.Rules(), _core.Rules)
    assert_type(_core.canonicalize(b"{}", rules=made), bytes)


def inspections() -> None:
    seen = _core.inspect(b'{"pid":1}', mask=_core.MASK_KINDS["process_id"])
    assert_type(seen, _core.Inspection)
    assert_type(seen.canonical, bytes)
    assert_type(seen.digest, bytes)
    assert_type(seen.flags, int)
    assert_type(seen.spans, list[tuple[int, int, int]])
    assert_type(_core.Inspection(b"", b"", 0, []), _core.Inspection)


def spans() -> None:
    assert_type(_core.members(b"[1]"), list[tuple[str, int, int]] | None)
    assert_type(_core.text_of(b'"x"'), str | None)


def rejected() -> None:
    for wrong in (
        lambda: _core.fingerprint("{}"),  # type: ignore[arg-type] # text has no bytes until it is encoded
        lambda: _core.fingerprint(b"{}", 1),  # type: ignore[call-arg] # options go by name
        lambda: _core.fingerprint_values("1", []),  # type: ignore[arg-type] # a tag is a number
        lambda: _core.inspect(b"{}", rules=object()),  # type: ignore[arg-type] # rules are compiled first
    ):
        try:
            wrong()
        except TypeError:
            continue
        raise AssertionError("was taken")


def main() -> None:
    for example in (digests, rules, inspections, spans, rejected):
        example()


if __name__ == "__main__":
    main()
