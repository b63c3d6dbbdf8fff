"""What tells two calls apart, and what kind of call one is (SEMANTICS 1, 2 and 5)."""

import json

import pytest

from loopguard import _core
from loopguard.errors import InvalidFrame, Reason
from loopguard.fingerprints import CallPrint, Fingerprinter, default_fingerprinter
from loopguard.model import Call, Flag
from loopguard.rules import RuleSet, load_rules

DIGEST = bytes(range(16))


def call(tool: str = "t", args: bytes | None = None, digest: bytes | None = None, action: str = "") -> CallPrint:
    return default_fingerprinter().call(Call(tool, args, args_digest=digest, action=action))


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("\u2003Bash\ufeff", "exec"),
        ("apply-patch", "apply_patch"),
        ("CRON", "automations"),
        (" Read\x85", "read"),
        # Not White_Space: U+001C to U+001F and U+180E stay.
        ("\x1cread", "\x1cread"),
        ("\u180eread", "\u180eread"),
    ],
)
def test_names_are_normalised(name: str, normal: str) -> None:
    assert call(name).tool == normal


@pytest.mark.parametrize("name", ["", " ", "\u3000\ufeff"])
def test_a_blank_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidFrame) as refused:
        call(name)

    assert refused.value.reason is Reason.EMPTY_TOOL


@pytest.mark.parametrize(
    "args", [b'{"b":2,"a":1.0}', b"null", b"[1]", b'"x"', b'{"title":1}', b"no json", b'{"a":1,"a":2}']
)
def test_a_digest_is_that_of_the_canonical_arguments(args: bytes) -> None:
    found = call("t", args)

    assert (found.digest, found.flags) == _core.fingerprint_flags(args)


def test_a_digest_made_by_the_client_is_equal() -> None:
    assert call("exec", b'{"command":"ls","title":"x"}').digest == _core.fingerprint(b'{"command":"ls"}')


@pytest.mark.parametrize("args", [None, b"", b"{}", b" { } "])
def test_absent_arguments_equal_an_empty_object(args: bytes | None) -> None:
    assert call("t", args).digest == call("t", b"{}").digest
    assert call("t", args).digest != call("t", b"null").digest


def test_a_title_is_left_out_of_exec_only() -> None:
    assert call("bash", rb'{"\u0074itle":1}').digest == call("exec", b"{}").digest
    assert call("write", b'{"title":1}').digest != call("write", b"{}").digest
    assert call("exec", b'[{"title":1}]').digest != call("exec", b"[{}]").digest
    assert call("exec", b'{"env":{"title":1}}').digest != call("exec", b'{"env":{}}').digest


def test_what_is_odd_in_a_title_is_told() -> None:
    found = call("exec", b'{"title":9007199254740993,"action":"x"}')

    assert found.digest == call("exec", b'{"action":"x"}').digest
    assert found.flags == Flag.BIGINT


@pytest.mark.parametrize("key", ["a/b", 'a"b', "a\\b", "\u00e9", "*k"])
def test_volatile_keys_in_every_spelling(key: str) -> None:
    quoted = '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
    path = f"args.{quoted}" if key != "*k" else "args.*.k"
    own = RuleSet.from_tables([{"name": "own", "tools": ["t"], "drop": [path]}], "loopguard.rules")
    fingerprinter = Fingerprinter(own.before(load_rules("openclaw")))
    spellings = [json.dumps(key), json.dumps(key, ensure_ascii=False), json.dumps(key).replace("/", "\\/")]

    for spelling in spellings:
        args = '{"x":{"k":1}}' if key == "*k" else f"{{{spelling}:1}}"
        left = b'{"x":{}}' if key == "*k" else b"{}"
        assert fingerprinter.call(Call("t", args.encode())).digest == _core.fingerprint(left)


def test_nonces_in_arguments_count() -> None:
    pair = '<<<EXTERNAL_UNTRUSTED_CONTENT id=\\"{0}\\">>>x<<<END_EXTERNAL_UNTRUSTED_CONTENT id=\\"{0}\\">>>'
    first, second = (f'{{"q":"{pair.format(nonce * 16)}"}}'.encode() for nonce in "ab")

    assert call("t", first).digest != call("t", second).digest


@pytest.mark.parametrize("size", [1, 15, 17, 32])
def test_a_digest_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(InvalidFrame, match="argsDigest") as refused:
        call("t", digest=bytes(size))

    assert refused.value.reason is Reason.INVALID_FRAME


def test_a_client_digest_stands_as_it_is() -> None:
    found = call("t", digest=DIGEST)

    assert (found.digest, found.flags) == (DIGEST, 0)


@pytest.mark.parametrize(
    ("tool", "args", "poll"),
    [
        ("process", b'{"action":"poll"}', True),
        ("process", rb'{"\u0061ction":"l\u006fg"}', True),
        ("process", b'{"action":"kill","action":"log"}', True),
        ("process", b'{"action":"Poll"}', False),
        ("process", b'{"a":{"action":"poll"}}', False),
        ("process", b'["action","poll"]', False),
        ("process", b'{"action":["poll"]}', False),
        ("process", b'{"action":"poll"', False),
        ("process", b'{"action":"kill"}', False),
        ("fetch", b'{"action":"poll"}', False),
        ("command_status", None, True),
        ("Wait", b"5", True),
    ],
)
def test_polls(tool: str, args: bytes | None, poll: bool) -> None:
    found = call(tool, args)

    assert found.poll is poll
    assert found.wait is (tool == "Wait")


def test_a_digest_needs_the_action_beside_it() -> None:
    assert call("process", digest=DIGEST, action="log").poll
    assert not call("process", digest=DIGEST).poll
    assert not call("process", b"{}", action="log").poll


def test_more_polls_can_be_named() -> None:
    fingerprinter = Fingerprinter(load_rules("openclaw"), poll_tools=frozenset({"tail_log"}))

    assert fingerprinter.call(Call("Tail_Log")).poll
    assert fingerprinter.call(Call("wait")).poll


@pytest.mark.parametrize(
    ("tool", "args", "send"),
    [
        ("sessions_send", None, True),
        ("conversations_send", b"5", True),
        ("conversations_turn", b'{"action":"read"}', True),
        ("message", b'{"action":"sendWithEffect"}', True),
        ("message", b'{"action":"sendwitheffect"}', False),
        ("message", b'{"action":"read"}', False),
        ("message", None, False),
        ("messages", b'{"action":"send"}', False),
    ],
)
def test_sends(tool: str, args: bytes | None, send: bool) -> None:
    assert call(tool, args).send is send


def test_a_send_by_digest() -> None:
    assert call("message", digest=DIGEST, action="sticker").send
    assert not call("message", digest=DIGEST, action="react").send


def test_an_action_is_told_of_any_tool() -> None:
    assert call("browser", b'{"action":"op\\u0065n"}').action == "open"


@pytest.mark.parametrize(
    ("args", "flags"),
    [
        (b'{"n":9007199254740993}', Flag.BIGINT),
        (b'{"a":1,"a":2}', Flag.DUPLICATE_KEY),
        (rb'{"a":"\ud800"}', Flag.SURROGATE),
        (b'{"n":1e400}', Flag.OVERFLOW),
        (b"{", Flag.OPAQUE),
    ],
)
def test_flags(args: bytes, flags: Flag) -> None:
    assert call("t", args).flags == flags


def test_keys_that_a_user_declares_volatile() -> None:
    own = RuleSet.from_tables([{"name": "own", "tools": ["mcp__*"], "drop": ["args.**.ts"]}], "loopguard.rules")
    fingerprinter = Fingerprinter(own.before(load_rules("openclaw")))

    first, second = (fingerprinter.call(Call("mcp__x", args)) for args in (b'{"q":[{"ts":1}]}', b'{"q":[{"ts":2}]}'))

    assert first.digest == second.digest
    assert fingerprinter.call(Call("x", b'{"ts":1}')).digest != fingerprinter.call(Call("x", b"{}")).digest


def test_any_number_of_names_is_answered() -> None:
    fingerprinter = Fingerprinter(load_rules("openclaw"))

    names = [fingerprinter.call(Call(f"Tool{number}")).tool for number in range(5000)]

    assert names == [f"tool{number}" for number in range(5000)]
    assert len(fingerprinter._tools) <= 4096
