"""What an outcome is: SEMANTICS 3, rules 1 to 5 and what all tools share, and 4.1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopguard.errors import InvalidFrame, Reason
from loopguard.fingerprints import Kind
from loopguard.model import Flag, Status
from tests.unit.fingerprint_prints import seen, shaped, wrapped

A, B = "0123456789abcdef", "fedcba9876543210"
RAW = bytes(range(16))


class TestShape:
    """What of a result counts, and which results are shaped."""

    @pytest.mark.parametrize(
        "result",
        [
            {"content": [{"type": "text", "text": " a\u2003"}], "extra": 1},
            {"content": [{"type": "text", "text": "\ufeffa"}, {"type": "image", "data": "x"}, "text", None, [1]]},
            {"content": [{"type": "x", "text": "a\n"}, {"type": "text", "text": 1}, {"text": "b"}]},
            {"content": [{"type": "text", "text": "a"}, {"type": 1, "text": "b"}, {"type": None, "text": "b"}]},
            {"content": [{"type": "text", "text": "a"}], "details": [1], "isError": False, "_meta": {"n": 1}},
            {"content": [{"type": "text", "text": "a"}], "details": None, "structuredContent": {}},
        ],
    )  # fmt: skip
    def test_equal_to_the_text_alone(self, result: Any) -> None:
        assert seen(result).digest == seen(shaped("a")).digest

    def test_texts_are_joined_with_a_newline(self) -> None:
        two = {"content": [{"type": "text", "text": "a "}, {"type": "text", "text": " b"}]}

        assert seen(two).digest == seen(shaped("a \n b")).digest
        assert seen(two).digest != seen(shaped("a  b")).digest

    def test_only_white_space_is_trimmed(self) -> None:
        assert seen(shaped("a\x1f")).digest != seen(shaped("a")).digest
        assert seen(shaped("a\u180e")).digest != seen(shaped("a")).digest
        assert seen(shaped("a\\n")).digest != seen(shaped("a\\")).digest
        assert seen(shaped("\t\x0b\x85\u1680\u2028 a")).digest == seen(shaped("a")).digest

    def test_structured_content_stands_for_details(self) -> None:
        assert seen({"structuredContent": {"a": 1}}).digest == seen({"details": {"a": 1}}).digest
        assert seen({"details": {"a": 1}, "structuredContent": {"a": 2}}).digest == seen({"details": {"a": 1}}).digest
        assert seen({"details": 5, "structuredContent": {"a": 2}}).digest == seen({"details": {"a": 2}}).digest

    @pytest.mark.parametrize(
        "result", [{}, {"isError": False}, {"_meta": {"a": 1}}, {"content": []}, {"details": None}]
    )
    def test_empty_ones_are_shaped(self, result: Any) -> None:
        assert seen(result).digest == seen(shaped("")).digest

    @pytest.mark.parametrize(
        "result", [{"content": "x"}, {"content": None, "details": {"a": 1}}, {"rows": []}, [], "x", 5]
    )
    def test_others_count_whole(self, result: Any) -> None:
        changed = [result] if not isinstance(result, dict) else result | {"more": 1}

        assert seen(result).digest == seen(result).digest
        assert seen(result).digest != seen(changed).digest

    def test_absent_is_null(self) -> None:
        assert seen().digest == seen(None).digest == seen(b"").digest
        assert seen().digest != seen({}).digest

    def test_escaped_keys_are_keys(self) -> None:
        escaped = rb'{"\u0063ontent":[{"ty\u0070e":"text","text":"\u0061"}],"details":{}}'

        assert seen(escaped).digest == seen(shaped("a")).digest

    def test_of_equal_keys_the_last_counts(self) -> None:
        twice = b'{"content":[{"type":"text","text":"b"}],"details":{},"content":[{"type":"text","text":"a"}]}'

        assert seen(twice).digest == seen(shaped("a")).digest

    def test_details_and_text_count(self) -> None:
        assert len({seen(shaped(*one, **two)).digest for one in (("a",), ("b",)) for two in ({}, {"n": 1})}) == 4


class TestMarks:
    """`failed`, `stuck` and the kind."""

    @pytest.mark.parametrize("status", [Status.ERROR, Status.UNKNOWN_TOOL, Status.INVALID_ARGUMENTS, Status.DENIED])
    def test_statuses_of_failure(self, status: Status) -> None:
        found = seen(shaped("a"), status=status)

        assert (found.failed, found.stuck) == (True, True)
        assert found.kind is (Kind.REJECT if status is Status.INVALID_ARGUMENTS else Kind.DONE)

    @pytest.mark.parametrize("result", [shaped("a") | {"isError": True}, {"rows": 1, "isError": True}])
    def test_is_error_of_any_object(self, result: Any) -> None:
        assert seen(result).failed
        assert seen(result, status=Status.OK).stuck

    @pytest.mark.parametrize(
        "result", [shaped("a") | {"isError": 1}, {"isError": "true"}, [{"isError": True}], "isError"]
    )
    def test_is_error_has_to_be_true(self, result: Any) -> None:
        assert not seen(result).failed

    def test_an_error_makes_ok_a_failure(self) -> None:
        assert seen("x", error="e", status=Status.OK).failed
        assert seen(error="e").failed

    @pytest.mark.parametrize("status", [Status.CANCELLED, Status.PENDING])
    def test_no_outcome(self, status: Status) -> None:
        found = seen(shaped("a"), error="e", status=status)

        assert (found.kind, found.digest, found.failed) == (Kind.PENDING, None, False)


class TestVeto:
    """Rule 2."""

    @pytest.mark.parametrize("place", ["details", "structuredContent"])
    def test_both_fields(self, place: str) -> None:
        found = seen({place: {"status": "blocked", "deniedReason": "tool-loop"}}, status=Status.DENIED)

        assert (found.kind, found.digest) == (Kind.VETO, None)

    def test_the_status(self) -> None:
        assert seen("x", error="e", status=Status.LOOP_VETO).kind is Kind.VETO

    def test_an_error_comes_first(self) -> None:
        assert seen(shaped("", status="blocked", deniedReason="tool-loop"), error="e").kind is Kind.DONE

    def test_escapes_are_read(self) -> None:
        assert seen(rb'{"details":{"status":"bl\u006fcked","deniedReason":"tool\u002dloop"}}').kind is Kind.VETO


class TestError:
    """Rule 3."""

    def test_text_and_structure_alike(self) -> None:
        assert seen(error="5").digest == seen(error=5).digest == seen("5", status=Status.ERROR).digest
        assert seen(error={"a": 1, "b": 2}).digest == seen(error=b'{"b": 2.0, "a": 1}').digest
        assert seen(error={"a": 1}).digest == seen(error='{"a":1}').digest
        assert seen(error=' {"a":1}').digest != seen(error={"a": 1}).digest

    def test_every_status_of_failure_alike(self) -> None:
        assert seen(error="e").digest == seen(error="e", status=Status.DENIED).digest
        assert seen("e", status=Status.INVALID_ARGUMENTS).digest == seen(error="e").digest

    def test_nothing_at_all_is_an_empty_message(self) -> None:
        assert seen(status=Status.ERROR).digest == seen(error="").digest
        assert seen(None, status=Status.ERROR).digest == seen(error="null").digest

    def test_the_error_hides_result_and_private(self) -> None:
        assert seen(shaped("a"), error="e", private=1).digest == seen(error="e").digest

    def test_is_error_alone_is_no_error_message(self) -> None:
        assert seen({"a": 1, "isError": True}).digest != seen({"a": 1, "isError": True}, status=Status.ERROR).digest

    def test_a_shaped_failure_counts_as_shaped(self) -> None:
        assert seen(shaped("a"), status=Status.ERROR).digest == seen(shaped("a")).digest

    def test_opaque_bytes(self) -> None:
        found = seen(error=b"no tool x: tool x not found")

        assert found.digest == seen(b"no tool x: tool x not found", status=Status.ERROR).digest
        assert found.digest != seen(error="no tool x: tool x not found").digest
        assert (found.flags, found.missing_tool) == (0, "")

    def test_nonces_in_text_and_structure(self) -> None:
        assert seen(error=wrapped(A)).digest == seen(error=wrapped(B)).digest
        assert seen(error={wrapped(A): 1}).digest == seen(error={wrapped(B): 1}).digest
        assert seen(error=wrapped(A)).stripped == ("wrapper_nonce",)


class TestPrivate:
    """Rule 4."""

    def test_stands_for_the_result(self) -> None:
        assert seen(shaped("a"), private={"v": 1}).digest == seen("b", private=b'{"v":1.0}').digest
        assert seen("a", private={"v": 1}).digest != seen("a", private={"v": 2}).digest
        assert seen("a", private=None).digest == seen("b", private=None).digest

    def test_not_of_a_failure(self) -> None:
        failed = shaped("a") | {"isError": True}

        assert seen(failed, private=1).digest == seen(failed, private=2).digest == seen(failed).digest

    def test_opaque_bytes_and_nonces(self) -> None:
        assert seen("a", private=b"nan").digest == seen("b", private=b"nan").digest
        assert seen("a", private=b"nan").digest != seen("a", private=b"nan ").digest
        assert seen("a", private=[wrapped(A)]).digest == seen("a", private=[wrapped(B)]).digest

    def test_no_failure_identity(self) -> None:
        failure = shaped("boom", status="failed", exitCode=1)

        assert seen(failure, tool="exec", private=1).identity is None
        assert seen(failure, tool="exec", private=1, status=Status.ERROR).identity is not None


class TestDigest:
    """Rule 4a."""

    def test_compared_with_its_like_only(self) -> None:
        found = seen(digest=RAW)

        assert found.digest == seen(digest=RAW, status=Status.ERROR).digest
        assert found.digest != seen(digest=bytes(16)).digest
        assert found.digest != RAW
        assert not found.failed
        assert seen(digest=RAW, status=Status.DENIED).stuck

    def test_error_and_private_come_first(self) -> None:
        assert seen(digest=RAW, error="e").digest == seen(error="e").digest
        assert seen(digest=RAW, private=1).digest == seen("x", private=1).digest

    def test_its_size(self) -> None:
        with pytest.raises(InvalidFrame, match="resultDigest") as refused:
            seen(digest=bytes(8))

        assert refused.value.reason is Reason.INVALID_FRAME

    def test_a_missing_tool_by_status(self) -> None:
        assert seen(tool="Foo", digest=RAW, status=Status.UNKNOWN_TOOL).missing_tool == "foo"
        assert seen(digest=RAW, status=Status.ERROR).missing_tool == ""


def test_kinds_never_compare_equal() -> None:
    same = [
        seen("x"),
        seen(error="x"),
        seen("y", private="x"),
        seen(shaped("x")),
        seen(shaped("x"), tool="write"),
        seen(shaped("x", changed=False), tool="write"),
        seen(shaped("x"), tool="sessions_send"),
        seen(shaped("x"), tool="memory_search"),
        seen(shaped("x", status="running"), tool="exec"),
        seen(shaped("x"), tool="process", args={"action": "poll"}),
        seen(digest=RAW),
    ]

    assert len({found.digest for found in same}) == len(same) - 1  # `write` of rule 11 is as any tool's


class TestNonce:
    """Section 4.1 where it meets the rules; the scan itself is tested with the core."""

    def test_in_every_place_of_an_outcome(self) -> None:
        for make in (
            wrapped,
            lambda n: {"rows": [wrapped(n)]},
            lambda n: {wrapped(n): 1, "z": 2},
            lambda n: shaped(wrapped(n)),
            lambda n: shaped("a", page={wrapped(n): wrapped(n)}),
            lambda n: shaped(json.dumps({"page": wrapped(n)})),
        ):
            found = seen(make(A))

            assert found.digest == seen(make(B)).digest
            assert found.stripped == ("wrapper_nonce",)

    def test_the_content_counts(self) -> None:
        assert seen(wrapped(A, "x")).digest != seen(wrapped(A, "y")).digest

    def test_a_marker_without_its_end_counts(self) -> None:
        found = seen(wrapped(A)[:70])

        assert found.digest != seen(wrapped(B)[:70]).digest
        assert found.stripped == ()

    def test_across_the_parts_of_a_text(self) -> None:
        halves = [[{"type": "text", "text": half} for half in wrapped(n, "xx").split("xx")] for n in (A, B)]

        assert seen({"content": halves[0]}).digest == seen({"content": halves[1]}).digest


@pytest.mark.parametrize(
    ("result", "flags"),
    [
        (b'{"n":9007199254740993}', Flag.BIGINT),
        (b'{"content":[],"details":{"pid":9007199254740993}}', Flag.BIGINT),
        (b'{"content":[],"content":[]}', Flag.DUPLICATE_KEY),
        (b'{"content":', Flag.OPAQUE),
        (b"[1]", Flag(0)),
    ],
)
def test_flags(result: bytes, flags: Flag) -> None:
    assert seen(result).flags == flags
    assert seen(result, error="e").flags == flags


def test_opaque_results_count_by_their_bytes() -> None:
    assert seen(b"NaN").digest == seen(b"NaN").digest
    assert seen(b"NaN").digest not in (seen(b"NaN ").digest, seen("NaN").digest)
