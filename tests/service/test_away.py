from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from loopguard.server.settings import Settings

from loopguard.errors import GuardUnavailable, InvalidFrame, Reason, RunRefused
from loopguard.model import Action, Outcome
from tests.service.conftest import running
from tests.service.players import KINDS, Client, call, done
from tests.service.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from loopguard.model import RunOpen
    from tests.service.conftest import Server

pytestmark = pytest.mark.parametrize("kind", KINDS)
#: Long enough that a busy machine answers in time.
PATIENT_S = 5.0


@pytest.fixture
async def proxy(server: Server) -> AsyncIterator[Proxy]:
    async with Proxy(server.address) as proxy:
        yield proxy


@pytest.fixture
def openings(server: Server, monkeypatch: pytest.MonkeyPatch) -> list[RunOpen]:
    """Every `RunOpen` that the server gets."""
    seen: list[RunOpen] = []
    open_ = server.sessions.open

    def spy(request: RunOpen, *rest: Any) -> Any:
        seen.append(request)
        return open_(request, *rest)

    monkeypatch.setattr(server.sessions, "open", spy)
    return seen


async def settled(run: Any) -> None:
    """Wait until the guard has answered again."""
    while run.raw._session.late or run.raw._stream.link.state.value != "up":
        await asyncio.sleep(0.005)


@pytest.mark.parametrize(("policy", "action"), [("allow", Action.ALLOW), ("block", Action.BLOCK)])
async def test_without_any_guard_the_client_decides_and_counts(
    server: Server, openings: list[RunOpen], kind: str, policy: str, action: Action
) -> None:
    async with (
        Proxy() as proxy,
        Client(kind, proxy.address, on_unavailable=policy, deadline_s=PATIENT_S) as client,
    ):
        run = await client.open_run()
        one = await run.judge([call()])
        two = await run.judge([call(), call(args=b"2")])
        dry = await run.check([call()])
        told = await run.report(done(one[0].call_id))
        await run.user_message()
        decided = run.raw.decided_unavailable

        proxy.upstream = server.address
        await settled(run)
        (late,) = await run.judge([call(args=b"3")])
        await run.close()

    assert [(verdict.call_id, verdict.action) for verdict in (*one, *two, *dry)] == [
        ("c1", action),
        ("c2", action),
        ("c3", action),
        ("c4", action),
    ]
    assert all(bool(verdict.note) is (action is Action.BLOCK) for verdict in one)
    assert (told.call_id, told.action) == ("c1", Action.ALLOW)
    assert decided == 3
    assert (late.call_id, late.action) == ("c4", Action.ALLOW)
    assert [opening.decided_unavailable for opening in openings] == [3]


async def test_nobody_waits_for_a_guard_that_is_known_to_be_away(server: Server, proxy: Proxy, kind: str) -> None:
    async with Client(kind, proxy.address, on_unavailable="allow", deadline_s=60) as client:
        run = await client.open_run()
        proxy.upstream = ""
        proxy.cut()
        await asyncio.wait_for(server.service.servicer.emptied(), 5)
        await run.judge([call()])

        started = time.perf_counter()
        for number in range(200):
            await run.judge([call(args=f"{number}".encode())])
        taken_s = time.perf_counter() - started

        proxy.upstream = server.address
        await settled(run)
        await run.close()

    assert taken_s < 10
    assert run.raw.decided_unavailable == 201


async def test_who_asks_in_a_loop_without_waiting_leaves_others_their_turn(kind: str) -> None:
    async with Proxy() as proxy, Client(kind, proxy.address, on_unavailable="allow", deadline_s=60) as client:
        run = await client.open_run()
        run.raw._session.late = True
        turns: list[int] = []
        for number in range(3):
            asyncio.get_running_loop().call_soon(turns.append, number)
            await run.judge([call()])
        meanwhile = list(turns)
        await run.close()

    assert meanwhile == [0, 1, 2]


async def test_a_call_right_after_a_lost_stream_is_answered_by_the_guard_that_comes_back(
    server: Server, proxy: Proxy, kind: str
) -> None:
    # The first try comes after a fifth of a second.
    settings = {"on_unavailable": "allow", "deadline_s": PATIENT_S, "random": lambda: 4.0}
    async with Client(kind, proxy.address, **settings) as client:
        run = await client.open_run()
        for _ in range(5):
            await run.judge([call()])
            await run.report(done())
        proxy.cut()
        await asyncio.wait_for(server.service.servicer.emptied(), 5)
        while run.raw._session.phase.value == "open":
            await asyncio.sleep(0.001)

        (verdict,) = await run.judge([call()])
        decided = run.raw.decided_unavailable
        await run.close()

    assert (verdict.action, decided) == (Action.BLOCK, 0)


async def test_a_call_that_waits_while_its_run_is_rebuilt_elsewhere_is_answered_there(kind: str) -> None:
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0)
    async with running(settings) as first, running(settings) as second, Proxy(first.address) as proxy:
        patient = {"on_unavailable": "allow", "deadline_s": PATIENT_S, "buffer_frames": 2}
        async with Client(kind, proxy.address, **patient) as client:
            run = await client.open_run()
            for _ in range(5):
                await run.judge([call()])
                await run.report(done())
            proxy.upstream = second.address
            proxy.cut()

            (verdict,) = await run.judge([call()])
            opened, decided = run.raw.opened, run.raw.decided_unavailable
            await run.close()
        first.sessions.evict(0)

    assert (verdict.action, opened.rebuilt, decided) == (Action.BLOCK, True, 0)


async def test_a_late_answer_is_decided_here_and_still_observed(server: Server, proxy: Proxy, kind: str) -> None:
    async with Client(kind, proxy.address, on_unavailable="allow", deadline_s=PATIENT_S) as client:
        run = await client.open_run()
        client.raw._settings.deadline_s = 0.05
        proxy.hold_answers()

        (first,) = await run.judge([call()])
        told = await run.report(done("c1"))
        (second,) = await run.judge([call()])
        client.raw._settings.deadline_s = PATIENT_S
        proxy.release()
        await settled(run)
        verdicts = []
        for _ in range(4):
            verdicts += await run.judge([call()])
            await run.report(done(verdicts[-1].call_id))
        decided = run.raw.decided_unavailable
        await run.close()

    assert [first.action, told.action, second.action] == [Action.ALLOW] * 3
    assert decided == 2
    assert [verdict.call_id for verdict in verdicts] == ["c3", "c4", "c5", "c6"]
    assert Action.WARN in [verdict.action for verdict in verdicts]
    assert len(server.sessions) == 0


async def test_calls_blocked_here_are_not_held_to_have_run(proxy: Proxy, kind: str) -> None:
    async with Client(kind, proxy.address, on_unavailable="block", deadline_s=PATIENT_S) as client:
        run = await client.open_run()
        client.raw._settings.deadline_s = 0.05
        proxy.hold_answers()
        (blocked,) = await run.judge([call()])
        client.raw._settings.deadline_s = PATIENT_S
        proxy.release()
        await settled(run)

        with pytest.raises(InvalidFrame) as unknown:
            await run.report(Outcome())
        in_spite = await run.report(done("c1"))
        again = [(await run.judge([call()]))[0].action for _ in range(3)]
        await run.close()

    assert blocked.action is Action.BLOCK
    assert unknown.value.reason is Reason.UNKNOWN_CALL
    assert (in_spite.call_id, in_spite.action) == ("c1", Action.ALLOW)
    # Given up and then told of: two records of the call stand before the first of these.
    assert again == [Action.ALLOW, Action.WARN, Action.ALLOW]


async def test_waiting_clients_wait_and_get_the_guards_answer(server: Server, proxy: Proxy, kind: str) -> None:
    async with Client(kind, proxy.address, on_unavailable="wait", deadline_s=0.01) as client:
        run = await client.open_run()
        for _ in range(5):
            await run.judge([call()])
            await run.report(done())
        proxy.upstream = ""
        proxy.cut()

        judging = asyncio.create_task(run.judge([call()]))
        done_early, _ = await asyncio.wait((judging,), timeout=0.2)
        proxy.upstream = server.address
        (verdict,) = await judging
        await run.close()

    assert not done_early
    assert verdict.action is Action.BLOCK
    assert run.raw.decided_unavailable == 0


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ([], Reason.INVALID_FRAME),
        ([call("")], Reason.EMPTY_TOOL),
        ([call(call_id="x"), call(call_id="x")], Reason.DUPLICATE_CALL),
    ],
)
async def test_a_mistake_shows_without_a_guard_too(kind: str, calls: Any, reason: Reason) -> None:
    async with Proxy() as proxy, Client(kind, proxy.address, on_unavailable="allow", deadline_s=0.05) as client:
        run = await client.open_run()

        with pytest.raises(InvalidFrame) as mistake:
            await run.judge(calls)
        await run.close()

    assert mistake.value.reason is reason


async def test_closing_is_not_held_up_by_a_dead_guard(proxy: Proxy, server: Server, kind: str) -> None:
    async with Client(kind, proxy.address, on_unavailable="allow", deadline_s=0.2) as client:
        run = await client.open_run()
        proxy.freeze()

        started = time.perf_counter()
        await run.close()
        taken_s = time.perf_counter() - started
        with pytest.raises((GuardUnavailable, RunRefused)):
            await run.judge([call()])
        proxy.cut()

    await asyncio.wait_for(server.service.servicer.emptied(), 5)
    server.sessions.evict(0)
    assert taken_s < 5


async def test_a_run_taken_over_by_another_client_is_refused_here(server: Server, kind: str) -> None:
    async with Client(kind, server.address) as one, Client(kind, server.address) as two:
        run = await one.open_run("r")
        other = await two.open_run("r", resume=True)

        while run.raw._session.error is None:
            await asyncio.sleep(0.001)
        with pytest.raises(RunRefused) as refusal:
            await run.judge([call()])
        (verdict,) = await other.judge([call(call_id="mine")])
        await run.close()
        await other.close()

    assert refusal.value.reason == "SUPERSEDED"
    assert verdict.action in (Action.ALLOW, Action.WARN)


async def test_failing_inside_counts_as_away(server: Server, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    async with Client(kind, server.address, on_unavailable="allow", deadline_s=PATIENT_S) as client:
        run = await client.open_run()
        with monkeypatch.context() as patch:
            patch.setattr("loopguard.run.Run.answer", fail)
            server.take_the_long_way()
            (verdict,) = await run.judge([call()])
        decided = run.raw.decided_unavailable
        await run.close()

    assert (verdict.action, decided) == (Action.ALLOW, 1)


async def test_failing_inside_is_raised_to_who_waits(
    server: Server, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    async with Client(kind, server.address, on_unavailable="wait") as client:
        run = await client.open_run()
        with monkeypatch.context() as patch:
            patch.setattr("loopguard.run.Run.answer", fail)
            server.take_the_long_way()
            with pytest.raises(GuardUnavailable, match="inside loopguard"):
                await run.judge([call()])
        await run.close()


async def test_a_closed_client_opens_nothing(server: Server, kind: str) -> None:
    client = Client(kind, server.address)
    async with client:
        run = await client.open_run()
    with pytest.raises(GuardUnavailable):
        await client.open_run()
    with pytest.raises(GuardUnavailable):
        await run.judge([call()])
    await asyncio.wait_for(server.service.servicer.emptied(), 5)
    server.sessions.evict(0)
