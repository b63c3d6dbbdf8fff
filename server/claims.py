"""Asks the store whose a run is before it is resumed: all that is asked in the meantime goes together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from loopguard.store import Held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard.store import Claim, Store

    from .sessions import Sessions
    from .tally import Tally

#: A run's tenant and id.
Key = tuple[str, str]

_BATCH: Final = 256
#: How long a run that is resumed waits for the store before it goes on with what is known here.
_ANSWER_S: Final = 1.0


class Claims:
    """What is asked of the store, and what its answers mean for the runs that are here."""

    def __init__(self, store: Store, sessions: Sessions, tally: Tally) -> None:
        self._store = store
        self._sessions = sessions
        self._tally = tally
        self._asked: list[tuple[Sequence[Key], asyncio.Future[dict[Key, int]]]] = []
        self._asking: asyncio.Task[None] | None = None

    async def claim(self, runs: Sequence[Key]) -> dict[Key, int]:
        """Take runs over, and load what others wrote of them; return the epochs that are granted.

        Raises `StoreUnavailable` or `TimeoutError`.
        """
        future: asyncio.Future[dict[Key, int]] = asyncio.get_running_loop().create_future()
        self._asked.append((runs, future))
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask_all())
        return await future

    async def _ask_all(self) -> None:
        # Streams that begin at the same time have their turn first.
        await asyncio.sleep(0)
        while self._asked:
            some, self._asked = self._asked, []
            try:
                granted = await self._ask(list(dict.fromkeys(key for runs, _ in some for key in runs)))
            except Exception as failure:  # noqa: BLE001 - whoever waits has to be told, whatever it was
                for _, future in some:
                    if not future.done():
                        future.set_exception(failure)
                continue
            for _, future in some:
                if not future.done():
                    future.set_result(granted)
        self._asking = None

    async def _ask(self, keys: Sequence[Key]) -> dict[Key, int]:
        granted: dict[Key, int] = {}
        for start in range(0, len(keys), _BATCH):
            some = keys[start : start + _BATCH]
            claims = await self._ask_some(some)
            for key, claim in zip(some, claims, strict=True):
                granted[key] = claim.epoch
                self._apply(key, claim)
        return granted

    async def _ask_some(self, keys: Sequence[Key]) -> list[Claim]:
        known = [self._sessions.find(run_id, tenant) for tenant, run_id in keys]
        held = [Held(*key, session.epoch if session else 0) for key, session in zip(keys, known, strict=True)]
        for session in filter(None, known):
            session.claiming += 1
        try:
            return await asyncio.wait_for(self._store.claim(held), _ANSWER_S)
        finally:
            for session in filter(None, known):
                session.claiming -= 1

    def _apply(self, key: Key, claim: Claim) -> None:
        if claim.current:
            return
        tenant, run_id = key
        session = self._sessions.find(run_id, tenant)
        if session is not None:
            self._sessions.lose(session)
        if claim.data is not None:
            self._tally.store_restored[self._sessions.adopt(claim.data, tenant, run_id)] += 1
