"""Outcomes of `write`, sends and `memory_search`, and the missing tool's name: SEMANTICS 3, rules 7, 9 and 10."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopguard.model import Status
from tests.unit.fingerprint_prints import seen, shaped


class TestWrite:
    """Rule 7."""

    def test_unchanged_is_one_constant(self) -> None:
        found = seen(shaped("a", changed=False, path="x"), tool="write")

        assert found.digest == seen(shaped("b", changed=False), tool="write").digest
        assert (found.stuck, found.failed) == (True, False)

    @pytest.mark.parametrize("changed", [0, "false", None, True])
    def test_exactly_false(self, changed: Any) -> None:
        found = seen(shaped("a", changed=changed), tool="write")

        assert found.digest != seen(shaped("a", changed=False), tool="write").digest
        assert not found.stuck

    def test_of_write_only(self) -> None:
        assert not seen(shaped("a", changed=False), tool="edit").stuck


class TestSend:
    """Rule 9."""

    @pytest.mark.parametrize(
        "key",
        "messageId message_id messageIds platformMessageId platformMessageIds fileId file_id fileKey pollId poll_id"  # noqa: SIM905 - as the page has it
        " receipt runId idempotencyKey ts timestamp sentAt deliveredAt createdAt".split(),
    )
    def test_volatile_keys_at_every_depth(self, key: str) -> None:
        first, second = ({"a": [{"b": {key: value, "c": 1}}], key: value} for value in ({"x": 1}, [2]))

        found = seen({"details": first}, tool="sessions_send")

        assert found.digest == seen({"details": second}, tool="sessions_send").digest
        assert found.stripped == (key,)
        assert found.digest != seen({"details": {"a": [{"b": {"c": 2}}]}}, tool="sessions_send").digest

    def test_case_counts(self) -> None:
        assert seen(shaped(TS=1), tool="sessions_send").digest != seen(shaped(TS=2), tool="sessions_send").digest

    def test_failures_and_other_actions_count_whole(self) -> None:
        for options in (
            {"status": Status.ERROR, "tool": "sessions_send"},
            {"tool": "message", "args": {"action": "read"}},
        ):
            assert seen(shaped("a", ts=1), **options).digest != seen(shaped("a", ts=2), **options).digest

    @pytest.mark.parametrize(
        ("message", "volatile"),
        [
            ({"text": "t", "direction": "out"}, True),
            ({"text": "t", "senderId": "s"}, True),
            ({"text": "t", "accountId": "s"}, True),
            ({"text": "t", "conversation": {}}, True),
            ({"text": "t", "conversation": "c"}, False),
            ({"text": "t", "direction": 1}, False),
            ({"text": 1, "direction": "out"}, False),
            ({"direction": "out"}, False),
            ({"text": "t"}, False),
        ],
    )
    def test_the_id_of_a_message(self, message: dict[str, Any], volatile: bool) -> None:
        first, second = (seen({"details": {"m": [message | {"id": id_}]}}, tool="sessions_send") for id_ in "12")

        assert (first.digest == second.digest) is volatile

    def test_an_id_that_is_no_string_counts(self) -> None:
        first, second = ({"details": {"id": number, "text": "t", "direction": "o"}} for number in (1, 2))

        assert seen(first, tool="sessions_send").digest != seen(second, tool="sessions_send").digest

    def test_a_message_inside_a_message(self) -> None:
        def nested(outer: str, inner: str) -> dict[str, Any]:
            own = {"id": inner, "text": "t", "senderId": "s"}
            return {"details": {"id": outer, "text": "t", "conversation": {"id": "k", "last": own}}}

        assert (
            seen(nested("1", "2"), tool="sessions_send").digest == seen(nested("3", "4"), tool="sessions_send").digest
        )


class TestMemorySearch:
    """Rule 10."""

    def hits(self, score: float, **more: Any) -> dict[str, Any]:
        return {"results": [{"path": "a", "score": score, "why": {"score": 1}}], **more}

    def test_details_text_and_both(self) -> None:
        for first, second in (
            (shaped("", **self.hits(1, debug=1)), shaped("", **self.hits(2, debug=2))),
            (shaped(json.dumps(self.hits(1, debug=1))), shaped(" " + json.dumps(self.hits(2), indent=1))),
            (shaped(json.dumps(self.hits(1)), **self.hits(3)), shaped(json.dumps(self.hits(2)), **self.hits(4))),
        ):
            assert seen(first, tool="memory_search").digest == seen(second, tool="memory_search").digest

    def test_deeper_scores_and_debug_count(self) -> None:
        for first, second in (
            (shaped(results=[{"why": {"score": 1}}]), shaped(results=[{"why": {"score": 2}}])),
            (shaped(results=[{"debug": 1}]), shaped(results=[{"debug": 2}])),
            (shaped(results={"x": {"score": 1}}), shaped(results={"x": {"score": 2}})),
            (shaped(debug=1), shaped(debug=2)),
            (shaped("x", results=[1, 2]), shaped("x", results=[2, 1])),
            (shaped('{"debug":1}'), shaped('{"debug":2}')),
            (shaped('[{"results":[{"score":1}]}]'), shaped('[{"results":[{"score":2}]}]')),
        ):
            assert seen(first, tool="memory_search").digest != seen(second, tool="memory_search").digest

    def test_failures_count_whole(self) -> None:
        first, second = (shaped("", **self.hits(score)) | {"isError": True} for score in (1, 2))

        assert seen(first, tool="memory_search").digest != seen(second, tool="memory_search").digest


class TestMissingTool:
    """The missing tool's name."""

    @pytest.mark.parametrize(
        ("message", "name"),
        [
            ("Unknown tool: Foo_bar.", "foo_bar"),
            ("unknown tool id: x", "x"),
            ("Unknown tool: id", "id"),
            ("Unknown tool id", "id"),
            ("Unknown tool 'a.b-c'", "a.b-c"),
            ("UNKNOWN TOOL\t:: `x`", "x"),
            ("unknown tool\u00a0x", ""),
            ("unknown  tool x", ""),
            ("the tool 'x' not found", "x"),
            ('Tool "Y" is not available here', "y"),
            ("tool x notfound", ""),
            ("mytool x not found", ""),
            ("tool x not found; unknown tool: y", "y"),
            ("nothing", ""),
        ],
    )
    def test_of_a_message(self, message: str, name: str) -> None:
        assert seen(error=message).missing_tool == name
        assert seen(message, status=Status.ERROR).missing_tool == name
        assert seen(shaped(message), status=Status.ERROR).missing_tool == name

    def test_of_a_structured_error(self) -> None:
        assert seen(error={"message": "Unknown tool: x"}).missing_tool == "x"

    def test_of_no_other_status(self) -> None:
        text = shaped("Unknown tool: x")

        assert seen(text).missing_tool == ""
        assert seen(text | {"isError": True}).missing_tool == ""
        assert seen(text, status=Status.DENIED).missing_tool == ""

    def test_the_status_says_it_all(self) -> None:
        assert seen(tool="Bar", error="Unknown tool: x", status=Status.UNKNOWN_TOOL).missing_tool == "bar"
