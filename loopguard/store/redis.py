"""A store in Redis or Valkey, one server or a cluster: any node can take a run over, and scripts there fence."""

from __future__ import annotations

import asyncio
import hashlib
from binascii import crc32
from typing import TYPE_CHECKING, Any, Final

import redis.asyncio as client
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from loopguard.store.interface import Claim, Deletion, Held, Save, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    #: Indexes of runs that one call of a script is for, with their keys and its arguments.
    Part = tuple[list[int], list[str], list[Any]]

#: A server that doesn't answer in this time is away.
_ANSWER_S: Final = 2.0
_CONNECT_S: Final = 1.0
#: How long the epoch of a run that has ended is remembered, so that a stale owner can't bring it back.
_GRAVE_MS: Final = 60_000
#: Keys of one bucket share a slot of a cluster, and one call of a script is for one slot.
_BUCKETS: Final = 1024
#: Longer calls of a script would hold up the other clients of the server.
_RUNS_PER_CALL: Final = 256

# Each run is a hash of `e`, its epoch, and `d`, its snapshot. ARGV[1] is how long it is kept.
_CLAIM: Final = """
local out = {}
for i, key in ipairs(KEYS) do
  local held = tonumber(ARGV[i + 1])
  local stored = tonumber(redis.call('HGET', key, 'e') or '0')
  local epoch = math.max(stored, held) + 1
  out[i] = {epoch, stored <= held and 1 or 0, stored > held and redis.call('HGET', key, 'd')}
  redis.call('HSET', key, 'e', string.format('%d', epoch))
  redis.call('PEXPIRE', key, ARGV[1])
end
return out
"""
_SAVE: Final = """
local out = {}
for i, key in ipairs(KEYS) do
  local epoch = tonumber(ARGV[3 * i - 1])
  local stored = tonumber(redis.call('HGET', key, 'e') or '0')
  if ARGV[3 * i] == '1' and stored >= epoch then epoch = stored + 1 end
  if stored <= epoch then
    redis.call('HSET', key, 'e', string.format('%d', epoch), 'd', ARGV[3 * i + 1])
    redis.call('PEXPIRE', key, ARGV[1])
    stored = epoch
  end
  out[i] = stored
end
return out
"""
_DELETE: Final = """
for i, key in ipairs(KEYS) do
  local epoch = tonumber(ARGV[2 * i])
  local stored = tonumber(redis.call('HGET', key, 'e') or '0')
  if ARGV[2 * i + 1] == '1' or stored <= epoch then
    redis.call('HDEL', key, 'd')
    redis.call('HSET', key, 'e', string.format('%d', math.max(stored, epoch)))
    redis.call('PEXPIRE', key, ARGV[1])
  end
end
return {}
"""


class RedisStore:
    """Speaks to the primary of one server, or to those of a cluster."""

    kind = "redis"

    def __init__(self, address: str, *, ttl_s: float) -> None:
        """Name the server. The address may hold a password, and what redis-py takes in a query (`ssl_ca_certs`, …)."""
        scheme, _, rest = address.partition("://")
        self._is_cluster = scheme.endswith("+cluster")
        self._address = f"{scheme.removesuffix('+cluster')}://{rest}"
        self._ttl_ms = str(round(ttl_s * 1000))
        self._client: Any = None
        self._digests: dict[str, str] = {}

    def _connect(self) -> Any:
        options: dict[str, Any] = {"socket_timeout": _ANSWER_S, "socket_connect_timeout": _CONNECT_S}
        if self._is_cluster:
            return client.RedisCluster.from_url(self._address, **options)
        # Whoever asks tries again by itself: a second try in here would only make the first one late.
        return client.Redis.from_url(self._address, retry=Retry(NoBackoff(), 0), **options)

    async def start(self) -> None:
        """Connect, and see whether anybody answers."""
        await self._do(self._ping)

    async def _ping(self) -> None:
        await self._client.ping()

    async def claim(self, runs: Sequence[Held]) -> list[Claim]:
        """Take runs over: raise their epochs, and load what others wrote of them since."""
        told = await self._script(_CLAIM, self._ttl_ms, runs, lambda held: (held.epoch,))
        return [Claim(int(epoch), bool(current), data or None) for epoch, current, data in told]

    async def save(self, saves: Sequence[Save]) -> list[int]:
        """Write snapshots as one commit; in a cluster, one a slot. See `Store.save`."""
        told = await self._script(_SAVE, self._ttl_ms, saves, lambda save: (save.epoch, int(save.newest), save.data))
        return [int(epoch) for epoch in told]

    async def delete(self, runs: Sequence[Deletion]) -> None:
        """Forget runs, unless others have taken them over. Their epochs are remembered for a while."""
        await self._script(_DELETE, str(_GRAVE_MS), runs, lambda run: (run.epoch, int(run.newest)))

    async def expire(self) -> int:
        """Leave it to the server, whose keys expire by themselves."""
        return 0

    async def close(self) -> None:
        """Let go of the connections."""
        connected, self._client = self._client, None
        if connected is not None:
            await connected.aclose()

    async def _script(
        self, script: str, kept_ms: str, runs: Sequence[Any], arguments: Callable[[Any], Iterable[Any]]
    ) -> list[Any]:
        """Run a script for some runs; return what it says of each."""
        parts = self._parts(kept_ms, runs, arguments)
        said: list[Any] = [None] * len(runs)

        async def all_parts() -> None:
            if len(parts) == 1:
                answers = [await self._call(script, *parts[0][1:])]
            else:
                answers = await asyncio.gather(*(self._call(script, *part[1:]) for part in parts))
            for (indexes, *_), answer in zip(parts, answers, strict=True):
                for index, each in zip(indexes, answer, strict=False):
                    said[index] = each

        await self._do(all_parts)
        return said

    def _parts(self, kept_ms: str, runs: Sequence[Any], arguments: Callable[[Any], Iterable[Any]]) -> list[Part]:
        parts: list[Part] = []
        by_bucket: dict[int, Part] = {}
        for index, run in enumerate(runs):
            key, bucket = _key(run.tenant, run.run_id)
            part = by_bucket.get(bucket if self._is_cluster else 0)
            if part is None or len(part[0]) >= _RUNS_PER_CALL:
                part = by_bucket[bucket if self._is_cluster else 0] = ([], [], [kept_ms])
                parts.append(part)
            part[0].append(index)
            part[1].append(key)
            part[2].extend(arguments(run))
        return parts

    async def _call(self, script: str, keys: list[str], arguments: list[Any]) -> Any:
        digest = self._digests.get(script)
        if digest is not None:
            try:
                return await self._client.evalsha(digest, len(keys), *keys, *arguments)
            except NoScriptError:
                pass
        # A server that was restarted, or another node of the cluster, does not know it yet.
        answer = await self._client.eval(script, len(keys), *keys, *arguments)
        self._digests[script] = _sha1(script)
        return answer

    async def _do(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            if self._client is None:
                self._client = self._connect()
            await work()
        except (RedisError, OSError, TimeoutError) as failure:
            # A primary that was demoted answers too, so that only a new connection leads to the new one.
            await self._drop()
            raise StoreUnavailable(f"redis: {failure or type(failure).__name__}") from None

    async def _drop(self) -> None:
        try:
            await self.close()
        except (RedisError, OSError, TimeoutError):
            return


def _key(tenant: str, run_id: str) -> tuple[str, int]:
    """Return a run's key and its bucket; a tenant may have any name, so its length stands before it."""
    name = f"{len(tenant)}:{tenant}:{run_id}"
    bucket = crc32(name.encode()) % _BUCKETS
    return f"loopguard:{{{bucket}}}:{name}", bucket


def _sha1(script: str) -> str:
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
