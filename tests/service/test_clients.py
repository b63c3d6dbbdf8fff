from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from loopguard import Outcome, Status
from loopguard.errors import InvalidConfig, InvalidFrame, Reason, RunRefused
from loopguard.model import Action, Flag, History, Level, Record
from tests.service.players import CONFIG, KINDS, Client, Run, call, done, play

if TYPE_CHECKING:
    from tests.service.conftest import Server

pytestmark = pytest.mark.parametrize("kind", KINDS)


def actions_of(answer: Any) -> str:
    verdicts = answer if isinstance(answer, list) else [answer] if answer else []
    return " ".join(verdict.action for verdict in verdicts)


async def test_a_run_from_open_to_close(server: Server, kind: str) -> None:
    async with Client(kind, server.address) as client:
        run = await client.open_run("r", agent_id="a")

        answers = await play(run)
        await run.close()

    opened = run.raw.opened
    assert (opened.run_id, opened.epoch, opened.last_seq, opened.rebuilt) == ("r", 1, 0, False)
    assert opened.config["warningThreshold"] == CONFIG["warningThreshold"]
    assert [actions_of(answer) for answer in answers] == [
        "", "ALLOW ALLOW", "ALLOW", "ALLOW", "WARN", "WARN", "ALLOW", "", "WARN", "ALLOW", "BLOCK", "", "ALLOW"
    ]  # fmt: skip
    blocked = answers[10][0]
    assert (blocked.finding.detector, blocked.finding.level) == ("generic_repeat", Level.CRITICAL)
    assert blocked.note


async def test_leaving_the_block_closes_the_run(server: Server, kind: str) -> None:
    async with Client(kind, server.address) as client:
        run = await client.open_run()
        if kind.startswith("tasks"):
            async with run.raw:
                await run.judge([call()])
        else:

            def inside() -> None:
                with run.raw:
                    run.raw.judge([call()])

            await asyncio.to_thread(inside)

        assert len(server.sessions) == 0
        with pytest.raises(RunRefused):
            await run.judge([call()])


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"maxLoops": 1}, "maxLoops"),
        ({"detectors": {"x": True}}, "detectors.x"),
        ({"detectors": 5}, "detectors"),
        ({"historySize": "5"}, "historySize"),
        ({"historySize": True}, "historySize"),
        ({"historySize": 0}, "historySize"),
        ({"enabled": 1}, "enabled"),
        ({"postCompactionGuard": {"windowSize": 2.5}}, "postCompactionGuard.windowSize"),
        ({"warningThreshold": 2**63}, "warningThreshold"),
        ({"warningThreshold": 30.0}, "warningThreshold"),
    ],
)
async def test_a_bad_configuration_is_refused_with_its_key(
    server: Server, kind: str, config: dict[str, Any], key: str
) -> None:
    async with Client(kind, server.address) as client:
        with pytest.raises(InvalidConfig) as mistake:
            await client.open_run(config=config)

    assert mistake.value.key == key


async def test_null_is_absent_and_ten_point_zero_is_ten(server: Server, kind: str) -> None:
    async with Client(kind, server.address) as client:
        run = await client.open_run(config={"enabled": None, "detectors": {"pingPong": None}, "warningThreshold": 9.0})
        await run.close()

    assert run.raw.opened.config["warningThreshold"] == 9
    assert "enabled" not in run.raw.opened.config


@pytest.mark.parametrize(
    ("method", "argument", "reason"),
    [
        ("judge", [], Reason.INVALID_FRAME),
        ("judge", [call(" ")], Reason.EMPTY_TOOL),
        ("judge", [call(call_id="x"), call(call_id="x")], Reason.DUPLICATE_CALL),
        ("judge", [call() for _ in range(1025)], Reason.TOO_MANY_CALLS),
        ("judge", [call(args=b"x" * (17 << 20))], Reason.TOO_LARGE),
        ("report", Outcome("nobody"), Reason.UNKNOWN_CALL),
        ("record", History([Record("")]), Reason.EMPTY_TOOL),
    ],
)
async def test_a_mistake_is_raised_and_the_run_goes_on(
    server: Server, kind: str, method: str, argument: Any, reason: Reason
) -> None:
    async with Client(kind, server.address) as client:
        run = await client.open_run()

        with pytest.raises(InvalidFrame) as mistake:
            await getattr(run, method)(argument)
        (verdict,) = await run.judge([call()])
        await run.close()

    assert mistake.value.reason is reason
    assert (verdict.call_id, verdict.action) == ("c1", Action.ALLOW)


async def test_calls_without_id_are_numbered_as_the_server_would(server: Server, kind: str) -> None:
    mine = call()
    async with Client(kind, server.address) as client:
        run = await client.open_run()

        first = await run.judge([mine, call(call_id="c2"), call(args=b"1")])
        dry = await run.check([mine])
        second = await run.judge([mine])
        await run.close()

    assert [verdict.call_id for verdict in first] == ["c1", "c2", "c3"]
    assert [verdict.call_id for verdict in (*dry, *second)] == ["c4", "c4"]
    assert mine.call_id == ""


async def test_flags_and_four_mebibytes_arrive(server: Server, kind: str) -> None:
    async with Client(kind, server.address) as client:
        run = await client.open_run()

        (opaque,) = await run.judge([call(args=b"{" + b"x" * (4 << 20))])
        told = await run.report(Outcome(opaque.call_id, Status.ERROR, error=b'"no"'))
        await run.close()

    assert (opaque.action, opaque.flags, told.action) == (Action.ALLOW, Flag.OPAQUE, Action.ALLOW)


async def test_many_runs_at_once(server: Server, kind: str) -> None:
    async with Client(kind, server.address) as client:

        async def one(number: int) -> list[Any]:
            run = await client.open_run(f"run-{number}")
            answers = await play(run)
            await run.close()
            return answers

        answers = await asyncio.gather(*(one(number) for number in range(8)))

    assert all(answer == answers[0] for answer in answers)


async def test_frames_may_be_under_way_together(server: Server, kind: str) -> None:
    async with Client(kind, server.address) as client:
        run = await client.open_run()

        batches = await asyncio.gather(*(run.judge([call(args=f"{n}".encode())]) for n in range(100)))
        verdicts = await asyncio.gather(*(run.report(done(verdict.call_id)) for (verdict,) in batches))
        await run.close()

    assert {verdict.call_id for (verdict,) in batches} == {f"c{n}" for n in range(1, 101)}
    assert {verdict.action for verdict in verdicts} == {Action.ALLOW}


async def test_a_run_left_by_one_client_is_resumed_by_another(server: Server, kind: str) -> None:
    async with Client(kind, server.address) as client:
        run = await client.open_run()
        for _ in range(5):
            (verdict,) = await run.judge([call()])
            await run.report(done(verdict.call_id))

    async with Client(kind, server.address) as client:
        run = await client.open_run(resume=True)
        (verdict,) = await run.judge([call(call_id="mine")])
        await run.close()

    assert run.raw.opened.last_seq == 10
    assert verdict.action is Action.BLOCK


async def test_a_frame_close_to_the_limit_costs_no_other_run_its_answers(server: Server, kind: str) -> None:
    async with Client(kind, server.address) as client:
        run, other = await client.open_run("r"), await client.open_run("other")
        most = run.raw.opened.limits.message_bytes
        # On a stream of many runs the frame would fit, but not what is wrapped around it.
        args = b'"' + b"x" * (most - (30 if kind.endswith("many") else 0)) + b'"'

        with pytest.raises(InvalidFrame) as refused:
            await run.judge([call(args=args)])
        answers = [await run.judge([call()]), await other.judge([call()])]

        assert refused.value.reason is Reason.TOO_LARGE
        assert [actions_of(answer) for answer in answers] == ["ALLOW", "ALLOW"]
        await run.close()
        await other.close()


@pytest.mark.parametrize("resume", [False, True])
async def test_of_a_run_opened_twice_by_one_client_the_newest_has_it(server: Server, kind: str, resume: bool) -> None:
    async with Client(kind, server.address) as client:
        older = await client.open_run("r")
        await older.judge([call()])

        newer = await client.open_run("r", resume=resume)
        newest = await client.open_run("r", resume=resume)
        (verdict,) = await newest.judge([call()])

        opened = newest.raw.opened
        assert (opened.epoch, opened.last_seq, verdict.action) == (3, int(resume), Action.ALLOW)
        for gone in (older, newer):
            with pytest.raises(RunRefused):
                await gone.judge([call()])
        await newest.close()


async def test_a_stream_of_one_run_tells_proxies_which_run_it_is_for(
    server: Server, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    admit, told = server.service.servicer._access.admit, []

    def spy(metadata: Any) -> Any:
        told.append([value for name, value in metadata if name == "loopguard-run-id"])
        return admit(metadata)

    monkeypatch.setattr(server.service.servicer._access, "admit", spy)
    ids = {"a/b-1._~": "a%2Fb-1._~", " Jürgen 7 ": "J%C3%BCrgen%207", "x" * 300: "x" * 256}
    async with Client(kind, server.address) as client:
        for run_id in ids:
            run = await client.open_run(run_id)
            await run.close()

    assert told == ([[]] if kind.endswith("many") else [[value] for value in ids.values()])


async def test_of_many_openings_of_one_run_at_once_one_has_it(server: Server, kind: str) -> None:
    async with Client(kind, server.address) as client:
        tries = await asyncio.gather(*[client.open_run("r") for _ in range(8)], return_exceptions=True)

        answers = await asyncio.gather(
            *[run.judge([call()]) for run in tries if isinstance(run, Run)], return_exceptions=True
        )

        assert [actions_of(answer) for answer in answers if isinstance(answer, list)] == ["ALLOW"]
        assert all(
            isinstance(answer, RunRefused | list) for answer in (*answers, *tries) if not isinstance(answer, Run)
        )
        for run in tries:
            if isinstance(run, Run):
                await run.close()
