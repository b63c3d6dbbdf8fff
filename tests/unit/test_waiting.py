"""What waits for the store on one stream: in order by runs, and so much of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from loopguard.server.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class Store:
    """Lets each message go when the test says so, and notes in which order they went."""

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = {}
        self.taken: list[str] = []

    def message(self, name: str) -> Callable[[], Awaitable[None]]:
        gate = self.gates[name] = asyncio.Event()

        async def take() -> None:
            await gate.wait()
            self.taken.append(name)

        return take


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_messages_of_one_run_go_one_after_the_other_and_others_past_them() -> None:
    waiting, store = Waiting(1 << 20), Store()
    waiting.put({"a", "b"}, 1, store.message("ab"))
    waiting.put({"b"}, 1, store.message("b"))
    waiting.put({"c"}, 1, store.message("c"))

    store.gates["b"].set()
    store.gates["c"].set()
    await settle()
    first = list(store.taken)
    held = [waiting.has({name}) for name in "abc"]
    store.gates["ab"].set()
    await waiting.over()

    assert (first, held) == (["c"], [True, True, False])
    assert store.taken == ["c", "ab", "b"]
    assert not waiting
    assert not waiting.has({"a", "b", "c"})


async def test_it_is_full_with_so_many_bytes_and_empty_again() -> None:
    waiting, store = Waiting(10_000), Store()
    waiting.put({"a"}, 5_000, store.message("a"))
    before = waiting.is_full
    waiting.put({"b"}, 1, store.message("b"))
    full = waiting.is_full

    for gate in store.gates.values():
        gate.set()
    await waiting.over()

    assert (before, full, waiting.is_full) == (False, True, False)


async def test_what_is_dropped_is_not_taken() -> None:
    waiting, store = Waiting(10_000), Store()
    waiting.put({"a"}, 1, store.message("a"))
    waiting.put({"a"}, 1, store.message("a again"))
    await settle()

    waiting.drop()
    for gate in store.gates.values():
        gate.set()
    await waiting.over()

    assert store.taken == []
