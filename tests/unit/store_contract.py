"""What every store has to do, as functions of two connections to one and the same store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from loopguard.store import Claim, Deletion, Held, Save, Store

Contract = Callable[[Store, Store], Awaitable[None]]


async def an_unknown_run_is_claimed_with_the_first_epoch(one: Store, other: Store) -> None:
    assert await one.claim([Held("t", "r", 0)]) == [Claim(1, True, None)]
    assert await other.claim([Held("t", "r", 0)]) == [Claim(2, False, None)]


async def what_was_saved_is_loaded_by_who_claims(one: Store, other: Store) -> None:
    data = bytes(range(256)) * 40

    assert await one.save([Save("t", "r", 3, data)]) == [3]
    assert await other.claim([Held("t", "r", 0), Held("t", "other", 0)]) == [
        Claim(4, False, data),
        Claim(1, True, None),
    ]


async def who_has_the_newest_gets_no_data(one: Store, other: Store) -> None:
    await one.save([Save("t", "r", 3, b"x")])

    assert await one.claim([Held("t", "r", 3)]) == [Claim(4, True, None)]
    assert await other.claim([Held("t", "r", 9)]) == [Claim(10, True, None)]


async def a_claim_fences_the_older_owner(one: Store, other: Store) -> None:
    await one.save([Save("t", "r", 1, b"old")])
    await other.claim([Held("t", "r", 0)])

    assert await one.save([Save("t", "r", 1, b"stale"), Save("t", "mine", 1, b"mine")]) == [2, 1]
    assert await other.save([Save("t", "r", 2, b"new")]) == [2]
    assert await one.save([Save("t", "r", 1, b"stale")]) == [2]
    assert (await one.claim([Held("t", "r", 0)]))[0].data == b"new"


async def one_that_was_opened_anew_overtakes(one: Store, other: Store) -> None:
    await one.save([Save("t", "r", 5, b"old")])

    assert await other.save([Save("t", "r", 1, b"anew", newest=True)]) == [6]
    assert await one.save([Save("t", "r", 5, b"old")]) == [6]
    assert await other.save([Save("t", "fresh", 1, b"anew", newest=True)]) == [1]


async def the_newest_snapshot_counts(one: Store, other: Store) -> None:
    for data in (b"1", b"22", b"333"):
        assert await one.save([Save("t", "r", 1, data)]) == [1]

    assert (await other.claim([Held("t", "r", 0)]))[0].data == b"333"


async def what_has_ended_is_gone_and_fenced(one: Store, other: Store) -> None:
    await one.save([Save("t", "r", 2, b"x")])
    await other.claim([Held("t", "r", 0)])
    await other.delete([Deletion("t", "r", 3)])

    assert await one.save([Save("t", "r", 2, b"back")]) == [3]
    assert await one.claim([Held("t", "r", 0)]) == [Claim(4, False, None)]


async def a_stale_owner_deletes_nothing(one: Store, other: Store) -> None:
    await one.save([Save("t", "r", 1, b"x")])
    await other.claim([Held("t", "r", 0)])
    await other.save([Save("t", "r", 2, b"y")])
    await one.delete([Deletion("t", "r", 1)])

    assert (await one.claim([Held("t", "r", 0)]))[0].data == b"y"


async def one_that_was_opened_anew_and_ended_leaves_nothing(one: Store, other: Store) -> None:
    await one.save([Save("t", "r", 5, b"old")])
    await other.delete([Deletion("t", "r", 1, newest=True)])

    assert await one.claim([Held("t", "r", 0)]) == [Claim(6, False, None)]


async def tenants_are_apart(one: Store, other: Store) -> None:
    await one.save([Save("a", "b:r", 1, b"1"), Save("a:b", "r", 1, b"2"), Save("", "a:b:r", 1, b"3")])

    claims = await other.claim([Held("a", "b:r", 0), Held("a:b", "r", 0), Held("", "a:b:r", 0), Held("b", "r", 0)])

    assert [claim.data for claim in claims] == [b"1", b"2", b"3", None]


async def names_are_any_text(one: Store, other: Store) -> None:
    names = ["{a}", "a b\n", "é\N{SNOWMAN}", "%s", "'; DROP TABLE runs --", "\0"]
    await one.save([Save(name, name, 1, name.encode()) for name in names])

    assert [claim.data for claim in await other.claim([Held(name, name, 0) for name in names])] == [
        name.encode() for name in names
    ]


async def many_runs_go_at_once(one: Store, other: Store) -> None:
    runs = [f"r{number}" for number in range(1_500)]

    assert await one.save([Save("t", run, 1, run.encode()) for run in runs]) == [1] * len(runs)
    assert [claim.data for claim in await other.claim([Held("t", run, 0) for run in runs])] == [
        run.encode() for run in runs
    ]
    await other.delete([Deletion("t", run, 2) for run in runs])
    assert {claim.data for claim in await other.claim([Held("t", run, 0) for run in runs])} == {None}


CONTRACT: Final[tuple[Contract, ...]] = (
    an_unknown_run_is_claimed_with_the_first_epoch,
    what_was_saved_is_loaded_by_who_claims,
    who_has_the_newest_gets_no_data,
    a_claim_fences_the_older_owner,
    one_that_was_opened_anew_overtakes,
    the_newest_snapshot_counts,
    what_has_ended_is_gone_and_fenced,
    a_stale_owner_deletes_nothing,
    one_that_was_opened_anew_and_ended_leaves_nothing,
    tenants_are_apart,
    names_are_any_text,
    many_runs_go_at_once,
)
