"""Each detector at both sides of its threshold, their precedence, and the evidence behind a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loopguard.model import Action, Level, Record, Status
from tests.unit.runs import FAILURE, OTHER_FAILURE, SUCCESS, UNCHANGED, call, check, guarded, play, remember, seen

if TYPE_CHECKING:
    from loopguard.run import Run

LOG = '{"action": "log"}'
POLL = '{"action": "poll"}'
CHANGING = [{"result": b'"%d"' % number} for number in range(40)]
GHOST = {"status": Status.UNKNOWN_TOOL}
VETO = {"status": Status.LOOP_VETO}
PENDING = {"status": Status.PENDING}


def command_failed(output: str, code: int = 1) -> dict[str, Any]:
    details = f'{{"status": "completed", "exitCode": {code}, "aggregated": "{output}"}}'
    return {"result": f'{{"content": [], "details": {details}}}'.encode()}


def test_nothing_is_said_of_a_first_call() -> None:
    assert seen(check(guarded())) == (Action.ALLOW, "", 0)


@pytest.mark.parametrize(
    ("times", "action", "detector"),
    [
        (2, Action.ALLOW, ""),
        (3, Action.WARN, "generic_repeat"),
        (4, Action.WARN, "generic_repeat"),
        (5, Action.BLOCK, "generic_repeat"),
        (7, Action.BLOCK, "generic_repeat"),
        (8, Action.BLOCK, "global_circuit_breaker"),
    ],
)
def test_equal_calls_with_equal_outcomes(times: int, action: Action, detector: str) -> None:
    run = guarded()
    remember(run, times=times)

    assert seen(check(run)) == (action, detector, times if detector else 0)


def test_changing_outcomes_are_only_warned_of() -> None:
    run = guarded()
    for ending in CHANGING[:10]:
        remember(run, ending)

    assert seen(check(run)) == (Action.WARN, "generic_repeat", 10)


def test_records_without_outcome_are_only_warned_of() -> None:
    run = guarded()
    remember(run, PENDING, times=10)

    assert seen(check(run)) == (Action.WARN, "generic_repeat", 10)


def test_calls_in_between_do_not_reset_a_streak() -> None:
    run = guarded()
    for number in range(5):
        remember(run)
        remember(run, args=f'{{"n": {number}}}')

    assert seen(check(run)) == (Action.BLOCK, "generic_repeat", 5)


def test_vetoes_count_where_an_equal_outcome_lies_behind_them() -> None:
    run = guarded()
    remember(run, {"result": b'"old"'}, times=1)
    remember(run, VETO, times=2)
    remember(run, times=3)
    remember(run, VETO, times=2)

    # The two vetoes before the first equal outcome are dropped.
    assert seen(check(run)) == (Action.BLOCK, "generic_repeat", 5)


def test_vetoes_alone_are_a_streak() -> None:
    run = guarded()
    remember(run, VETO, times=5)

    assert seen(check(run)) == (Action.BLOCK, "generic_repeat", 5)


@pytest.mark.parametrize(
    ("tool", "args"), [("command_status", "{}"), ("process", POLL), ("process", '{"action":"log"}')]
)
def test_polls_have_their_own_detector(tool: str, args: str) -> None:
    run = guarded()
    remember(run, tool=tool, args=args, times=3)

    assert seen(check(run, tool, args)) == (Action.WARN, "known_poll_no_progress", 3)

    remember(run, tool=tool, args=args, times=2)
    assert seen(check(run, tool, args)) == (Action.BLOCK, "known_poll_no_progress", 5)

    remember(run, tool=tool, args=args, times=3)
    assert seen(check(run, tool, args)) == (Action.BLOCK, "global_circuit_breaker", 8)


def test_a_poll_with_news_or_without_outcome_is_left_alone() -> None:
    run = guarded()
    for ending in CHANGING[:9]:
        remember(run, ending, "process", POLL)
    remember(run, PENDING, "process", POLL, times=9)

    assert seen(check(run, "process", POLL)) == (Action.ALLOW, "", 0)


def test_polls_stay_exempt_when_their_detector_is_off() -> None:
    run = guarded(detectors={"knownPollNoProgress": False})
    remember(run, tool="process", args=POLL, times=7)

    assert seen(check(run, "process", POLL)) == (Action.ALLOW, "", 0)


def test_wait_is_never_warned_of_and_blocked_at_ten_at_the_latest() -> None:
    run = guarded(warningThreshold=3, criticalThreshold=20, globalCircuitBreakerThreshold=30)
    remember(run, tool="wait", times=9)
    assert seen(check(run, "wait")) == (Action.ALLOW, "", 0)

    remember(run, tool="wait")
    verdict = check(run, "wait")

    assert seen(verdict) == (Action.BLOCK, "known_poll_no_progress", 10)
    assert verdict.finding is not None
    assert verdict.finding.threshold == 10


def test_a_missing_tool_is_blocked_whatever_its_arguments() -> None:
    run = guarded()
    for number in range(3):
        remember(run, GHOST, "ghost", f'{{"n": {number}}}')
    assert seen(check(run, "ghost")) == (Action.ALLOW, "", 0)

    remember(run, VETO, "read")
    remember(run, GHOST, "ghost")

    assert seen(check(run, "ghost")) == (Action.BLOCK, "unknown_tool_repeat", 4)


@pytest.mark.parametrize(
    ("ending", "tool"), [(SUCCESS, "ghost"), (PENDING, "ghost"), (GHOST, "other"), (FAILURE, "ghost")]
)
def test_anything_else_ends_the_unknown_tool_streak(ending: dict[str, Any], tool: str) -> None:
    run = guarded()
    remember(run, GHOST, "ghost", '{"n": 1}', times=4)
    remember(run, ending, tool)

    assert seen(check(run, "ghost")) == (Action.ALLOW, "", 0)


def test_commands_that_fail_alike_are_one_streak_over_any_arguments() -> None:
    run = guarded(criticalThreshold=4)
    for number in range(4):
        remember(run, command_failed(f"boom pid {number}"), "exec", f'{{"command": "{number}"}}')

    verdict = check(run, "exec", '{"command": "new"}')

    assert seen(verdict) == (Action.BLOCK, "generic_repeat", 4)
    assert verdict.finding is not None
    assert verdict.finding.args_digest == b""


def test_failures_of_another_kind_are_no_streak() -> None:
    run = guarded(criticalThreshold=4)
    for number in range(4):
        remember(run, command_failed(f"boom {number}"), "exec", f'{{"command": "{number}"}}')

    assert seen(check(run, "exec", '{"command": "new"}')) == (Action.ALLOW, "", 0)


def alternating(times: int) -> Run:
    run = guarded()
    for number in range(times):
        remember(run, tool="ab"[number % 2])
    return run


def test_two_calls_in_turn() -> None:
    run = alternating(4)

    verdict = check(run, "a")

    assert seen(verdict) == (Action.BLOCK, "ping_pong", 5)
    assert verdict.finding is not None
    assert verdict.finding.paired_tool == "b"


def test_two_calls_in_turn_with_news_are_only_warned_of() -> None:
    run = guarded()
    for number in range(8):
        remember(run, CHANGING[number], "ab"[number % 2])

    # The repeat of each is not yet a warning for itself.
    assert seen(check(run, "a")) == (Action.WARN, "ping_pong", 9)


def test_a_third_call_clears_an_alternation() -> None:
    run = alternating(4)
    remember(run, tool="c")

    assert seen(check(run, "a")) == (Action.ALLOW, "", 0)


def test_ping_pong_can_be_switched_off() -> None:
    run = guarded(detectors={"pingPong": False})
    for number in range(4):
        remember(run, tool="ab"[number % 2])

    assert seen(check(run, "a")) == (Action.ALLOW, "", 0)


def test_arguments_in_churn_are_warned_of() -> None:
    run = guarded(warningThreshold=6, criticalThreshold=7)
    for number in range(6):
        remember(run, UNCHANGED, "write", f'{{"path": "{number % 2}"}}')
    # Two in turn: ping-pong stands before churn.
    assert seen(check(run, "write", '{"path": "0"}'))[1] == "ping_pong"

    run = guarded(warningThreshold=6, criticalThreshold=7)
    for number in (0, 0, 1, 1, 1, 0):
        remember(run, UNCHANGED, "write", f'{{"path": "{number}"}}')

    assert seen(check(run, "write", '{"path": "1"}')) == (Action.WARN, "argument_churn", 6)
    assert seen(check(run, "write", '{"path": "2"}')) == (Action.ALLOW, "", 0)


def test_generic_repeat_switches_repeats_and_churn() -> None:
    run = guarded(detectors={"genericRepeat": False})
    remember(run, times=7)

    assert seen(check(run)) == (Action.ALLOW, "", 0)

    remember(run)
    assert seen(check(run)) == (Action.BLOCK, "global_circuit_breaker", 8)


def test_a_poll_warning_does_not_hide_a_ping_pong_block() -> None:
    run = guarded()
    for number in range(6):
        remember(run, tool="process", args=(POLL, '{"action": "log"}')[number % 2])

    assert seen(check(run, "process", POLL)) == (Action.BLOCK, "ping_pong", 7)


def test_evidence_names_the_calls_that_count_oldest_first() -> None:
    run = guarded()
    play(run, OTHER_FAILURE)
    play(run, tool="list")
    play(run, times=2)
    run.judge([call(call_id="pending")])
    play(run)

    finding = check(run).finding

    assert finding is not None
    assert (finding.detector, finding.level, finding.count) == ("generic_repeat", Level.WARNING, 5)
    assert finding.call_ids == ("c1", "c3", "c4", "pending", "c5")
    assert len(finding.args_digest) == 16
    assert finding.outcome_digest == b""
    assert finding.cleared_by


def test_evidence_of_a_streak_has_its_outcome() -> None:
    run = guarded()
    play(run, FAILURE)
    run.user_message()
    play(run, times=5)

    finding = check(run).finding

    assert finding is not None
    assert finding.call_ids == ("c2", "c3", "c4", "c5", "c6")
    assert len(finding.outcome_digest) == 16


def test_evidence_counts_vetoes_and_siblings() -> None:
    run = guarded()
    play(run, times=4)

    verdicts = run.judge([call(call_id="x"), call(call_id="y")])

    finding = verdicts[1].finding
    assert finding is not None
    assert finding.call_ids == ("c1", "c2", "c3", "c4", "x")


def test_evidence_names_what_was_stripped() -> None:
    run = guarded()
    send = '{"action": "send", "text": "hi"}'
    for number in range(5):
        receipt = b'{"content": [], "details": {"ok": true, "messageId": "m%d"}}' % number
        play(run, {"result": receipt}, "message", send)

    finding = check(run, "message", send).finding

    assert finding is not None
    assert finding.level is Level.CRITICAL
    assert finding.stripped == ("messageId",)


def test_evidence_of_failed_commands_names_the_moving_parts_that_their_identity_leaves_out() -> None:
    def failed(output: bytes) -> dict[str, bytes]:
        return {
            "result": b'{"content": [], "details": {"status": "failed", "exitCode": 1, "aggregated": "%b"}}' % output
        }

    run, same = guarded(), guarded()
    for number in range(5):
        play(run, failed(b"2024-05-01 10:00:0%d attempt %d" % (number, number)), "exec")
        play(same, failed(b"attempt 1"), "exec")

    by_identity, by_digest = check(run, "exec").finding, check(same, "exec").finding

    assert by_identity is not None
    assert by_digest is not None
    assert (by_identity.count, by_identity.stripped) == (5, ("attempt", "timestamp"))
    assert (by_digest.count, by_digest.stripped) == (5, ())


def test_records_of_history_have_no_ids() -> None:
    run = guarded()
    run.record([Record("read", **SUCCESS)] * 3)

    finding = check(run).finding

    assert finding is not None
    assert finding.call_ids == ()
