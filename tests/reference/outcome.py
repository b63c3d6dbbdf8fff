"""What a call and its outcome are compared by: sections 2 to 4 of SEMANTICS."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from loopguard.model import Call, Flag, Outcome, Record, Status
from tests.reference.canonical import Number, Opaque, digest, neutralise, parse, write

ALIASES = {"bash": "exec", "apply-patch": "apply_patch", "cron": "automations"}
FAILURES = {Status.ERROR, Status.UNKNOWN_TOOL, Status.INVALID_ARGUMENTS, Status.DENIED}
SEND_TOOLS = {"sessions_send", "conversations_send", "conversations_turn"}
SEND_ACTIONS = set(
    "send broadcast reply thread-reply sendWithEffect sendAttachment upload-file sticker poll".split()  # noqa: SIM905 - as the text has it
)
VOLATILE_KEYS = set(
    "messageId message_id messageIds platformMessageId platformMessageIds fileId file_id fileKey pollId poll_id "  # noqa: SIM905 - as the text has it
    "receipt runId idempotencyKey ts timestamp sentAt deliveredAt createdAt".split()
)
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000\ufeff"
)

#: Section 4.2, in its order.
VOLATILE_TEXT = [
    re.compile(pattern, re.ASCII | re.IGNORECASE)
    for pattern in (
        r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?\b",
        r"\b\d{1,2}:\d{2}:\d{2}(\.\d{1,6})?\b",
        r"\b(attempt|retry)\b[\s#:=]*\d+",
        r"\b\d+(\.\d+)?\s?(ns|us|ms|s|seconds?|minutes?|hours?)\b",
        r"\b(pid|ppid)\b[\s#:=]*\d+",
    )
]
#: Section 3, "The missing tool's name": (a), then (b).
MISSING_NAMES = [
    re.compile(pattern, re.ASCII | re.IGNORECASE)
    for pattern in (
        r"unknown tool(?:\s+id(?=:))?[\s:]+[\"'`]?([a-z0-9_.-]+)",
        r"\btool\s+[\"'`]?([a-z0-9_.-]+)[\"'`]?\s+(?:not found|is not available)",
    )
]

#: Tool and digest of the arguments.
Signature = tuple[str, bytes]
#: Rule and canonical text of the values that it names; different rules never compare equal.
Digest = tuple[str, str]


@dataclass
class Settled:
    """An outcome as a record keeps it (section 1, "Record")."""

    kind: str = "pending"
    digest: Digest | None = None
    failed: bool = False
    stuck: bool = False
    failure_identity: Digest | None = None
    missing_tool: str | None = None


def normal_tool(name: str) -> str:
    name = trim(name).lower()
    return ALIASES.get(name, name)


def signature_of(call: Call | Record) -> tuple[Signature, Flag]:
    """Section 2."""
    tool = normal_tool(call.tool)
    if call.args_digest:
        return (tool, call.args_digest), Flag(0)
    args, flags = parse(call.args or b"{}")
    if tool == "exec" and isinstance(args, dict):
        args = {key: value for key, value in args.items() if key != "title"}
    return (tool, digest(args)), flags


def action_of(call: Call | Record) -> str:
    """Return the `action` of object arguments; a client's digest carries it beside (DESIGN section 4)."""
    if call.args_digest:
        return call.action
    args, _ = parse(call.args or b"{}")
    action = args.get("action") if isinstance(args, dict) else None
    return action if isinstance(action, str) else ""


def settle(tool: str, action: str, outcome: Outcome | Record) -> Settled:
    """Section 3: the first rule that applies."""
    status = outcome.status or Status.OK
    has_error = bool(outcome.error)
    if status is Status.OK and has_error:
        status = Status.ERROR
    result, _ = parse(outcome.result or b"null")
    shaped = is_shaped(result)
    details = details_of(result) if shaped else {}
    text = text_of(result) if shaped else ""
    failed = status in FAILURES or (isinstance(result, dict) and result.get("isError") is True)

    # 1
    if status in (Status.CANCELLED, Status.PENDING):
        return Settled()
    # 2
    blocked = details.get("status") == "blocked" and details.get("deniedReason") == "tool-loop"
    if status is Status.LOOP_VETO or (not has_error and blocked):
        return Settled(kind="veto")

    settled = Settled(kind="reject" if status is Status.INVALID_ARGUMENTS else "done", failed=failed, stuck=failed)
    message: str | Opaque | None = text if shaped else None
    # 3
    if has_error or (status is not Status.OK and not shaped and not outcome.result_digest):
        message = message_of(outcome)
        settled.digest = ("error", write(message, neutral=True))
    # 4
    elif outcome.private and not failed:
        settled.digest = ("private", write(parse(outcome.private)[0], neutral=True))
    # 4a
    elif outcome.result_digest:
        settled.digest = ("digest", outcome.result_digest.hex())
    # 5
    elif not shaped:
        settled.digest = ("value", write(result, neutral=True))
    # 6 to 11
    else:
        settle_shaped(settled, tool, action, details, text)

    if status is Status.UNKNOWN_TOOL:
        settled.missing_tool = tool
    elif status is Status.ERROR and isinstance(message, str):
        settled.missing_tool = missing_name(message)
    return settled


def settle_shaped(settled: Settled, tool: str, action: str, details: dict[str, Any], text: str) -> None:
    """Rules 6 to 11."""

    def of(rule: str, *values: Any) -> Digest:
        return (rule, write(list(values), neutral=True))

    status = details.get("status")
    # 6
    if tool == "exec" and status == "running":
        tail = details.get("tail")
        settled.digest = of("exec", status, "" if tail is None else tail)
    elif tool == "exec" and status in ("completed", "failed"):
        settle_exec(settled, details, text)
    elif tool == "exec" and status in ("approval-pending", "approval-unavailable"):
        parts = [details.get(key) for key in ("reason", "host", "command", "warningText")]
        settled.digest = of("exec", status, *(part if isinstance(part, str) else None for part in parts))
    # 7
    elif tool == "write" and details.get("changed") is False:
        settled.digest = of("write")
        settled.stuck = True
    # 8
    elif tool == "process" and action == "poll":
        shown = ("status", "exitCode", "exitSignal", "aggregated")
        settled.digest = of("poll", action, text, *map(details.get, shown))
    elif tool == "process" and action == "log":
        counted = ("status", "totalLines", "totalChars", "truncated", "exitCode", "exitSignal")
        settled.digest = of("poll", action, text, *map(details.get, counted))
    # 9
    elif (tool in SEND_TOOLS or (tool == "message" and action in SEND_ACTIONS)) and not settled.failed:
        settled.digest = of("send", without_volatile(details))
    # 10
    elif tool == "memory_search" and not settled.failed:
        found, _ = parse(text.encode("utf-8", "surrogatepass"))
        is_search = isinstance(found, dict) and isinstance(found.get("results"), list)
        settled.digest = of("memory", without_scores(details), without_scores(found) if is_search else text)
    # 11
    else:
        settled.digest = of("generic", details, text)


def settle_exec(settled: Settled, details: dict[str, Any], text: str) -> None:
    """Rule 6 for `completed` and `failed`, and section 4.2."""
    status, exit_code, aggregated = details["status"], details.get("exitCode"), details.get("aggregated")
    if not isinstance(exit_code, Number):
        exit_code = None
    timed_out = details.get("timedOut") is True
    output = trim(aggregated) if isinstance(aggregated, str) else ""
    output = output or text
    settled.digest = ("exec", write([status, exit_code, timed_out, output], neutral=True))
    if (
        exit_code is not None
        and exit_code.text != "0"
        and not timed_out
        and output
        and output != f"(Command exited with code {exit_code.text})"
    ):
        masked = neutralise(output)
        for pattern in VOLATILE_TEXT:
            masked = pattern.sub("\ufffc", masked)
        settled.failure_identity = ("exec failure", write([status, exit_code, timed_out, masked]))


def is_shaped(result: Any) -> bool:
    """Section 3, "Shaped result"."""
    if not isinstance(result, dict):
        return False
    if "content" in result:
        return isinstance(result["content"], list)
    return "details" in result or "structuredContent" in result or set(result) <= {"isError", "_meta"}


def details_of(result: dict[str, Any]) -> dict[str, Any]:
    for key in ("details", "structuredContent"):
        if isinstance(result.get(key), dict):
            return dict(result[key])
    return {}


def text_of(result: dict[str, Any]) -> str:
    parts = [part for part in result.get("content", []) if isinstance(part, dict)]
    texts = [part["text"] for part in parts if isinstance(part.get("type"), str) and isinstance(part.get("text"), str)]
    return trim("\n".join(texts))


def trim(text: str) -> str:
    return text.strip(WHITE_SPACE)


def message_of(outcome: Outcome | Record) -> str | Opaque:
    """Rule 3: the message of an error; structured errors by their canonical text."""
    if not outcome.error and not outcome.result:
        return ""
    value, _ = parse(outcome.error or outcome.result or b"")
    if isinstance(value, str | Opaque):
        return value
    return write(value, neutral=True)


def missing_name(message: str) -> str | None:
    for pattern in MISSING_NAMES:
        found = pattern.search(message)
        if found:
            return found.group(1).lower().rstrip(".")
    return None


def without_volatile(value: Any) -> Any:
    """Rule 9: leave the volatile keys out at every depth."""
    if isinstance(value, list):
        return [without_volatile(item) for item in value]
    if not isinstance(value, dict):
        return value
    dropped = VOLATILE_KEYS | ({"id"} if is_message(value) else set())
    return {key: without_volatile(item) for key, item in value.items() if key not in dropped}


def is_message(value: dict[str, Any]) -> bool:
    return (
        isinstance(value.get("id"), str)
        and isinstance(value.get("text"), str)
        and (
            any(isinstance(value.get(key), str) for key in ("direction", "senderId", "accountId"))
            or isinstance(value.get("conversation"), dict)
        )
    )


def without_scores(value: dict[str, Any]) -> dict[str, Any]:
    """Rule 10: if there are results, leave out the top-level `debug` and the key `score` of each hit."""
    if not isinstance(value.get("results"), list):
        return value
    kept = {key: item for key, item in value.items() if key != "debug"}
    kept["results"] = [
        {key: item for key, item in hit.items() if key != "score"} if isinstance(hit, dict) else hit
        for hit in value["results"]
    ]
    return kept
