"""A store in Redis or Valkey, one server or a cluster: any node can take a run over, and scripts there fence."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
from binascii import crc32
from typing import TYPE_CHECKING, Any, Final

import redis.asyncio as client
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from loopguard.store.interface import Claim, Deletion, Held, Save, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    #: Indexes of runs that one call of a script is for, with their keys and its arguments.
    Part = tuple[list[int], list[str], list[Any]]

#: How Python names an argument that nobody takes.
_UNKNOWN: Final = re.compile(r"unexpected keyword argument '(\w+)'")
_FAILURES: Final = (RedisError, OSError, TimeoutError)
#: A server that doesn't answer in this time is away.
_ANSWER_S: Final = 2.0
_CONNECT_S: Final = 1.0
#: How long the epoch of a run that has ended is remembered, so that a stale owner can't bring it back.
_GRAVE_MS: Final = 60_000
#: Keys of one bucket share a slot of a cluster, and one call of a script is for one slot.
_BUCKETS: Final = 1024
#: So many calls at once; each takes a connection.
_CALLS: Final = 32
#: Longer calls of a script would hold up the other clients of the server.
_RUNS_PER_CALL: Final = 256

# Each run is a hash of `e`, its epoch, and `d`, its snapshot. ARGV[1] is how long it is kept. Whatever else stands at a
# key of ours is nobody's, and must not cost the other runs of a call.
_EPOCH: Final = """
local function epoch_of(key)
  local found = redis.pcall('HGET', key, 'e')
  if type(found) == 'table' and found.err then
    if not string.find(found.err, 'WRONGTYPE', 1, true) then error(found) end
    redis.call('DEL', key)
    return 0
  end
  return tonumber(found or '0') or 0
end
"""
_CLAIM: Final = (
    _EPOCH
    + """
local out = {}
for i, key in ipairs(KEYS) do
  local held = tonumber(ARGV[i + 1])
  local stored = epoch_of(key)
  local epoch = math.max(stored, held) + 1
  out[i] = {epoch, stored <= held and 1 or 0, stored > held and redis.call('HGET', key, 'd')}
  redis.call('HSET', key, 'e', string.format('%d', epoch))
  redis.call('PEXPIRE', key, ARGV[1])
end
return out
"""
)
_SAVE: Final = (
    _EPOCH
    + """
local out = {}
for i, key in ipairs(KEYS) do
  local epoch = tonumber(ARGV[3 * i - 1])
  local stored = epoch_of(key)
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
)
_DELETE: Final = (
    _EPOCH
    + """
for i, key in ipairs(KEYS) do
  local epoch = tonumber(ARGV[2 * i])
  local stored = epoch_of(key)
  if ARGV[2 * i + 1] == '1' or stored <= epoch then
    redis.call('HDEL', key, 'd')
    redis.call('HSET', key, 'e', string.format('%d', math.max(stored, epoch)))
    redis.call('PEXPIRE', key, ARGV[1])
  end
end
return {}
"""
)


class RedisStore:
    """Speaks to the primary of one server, or to those of a cluster."""

    kind = "redis"

    def __init__(self, address: str, *, ttl_s: float) -> None:
        """Name the server. The address may hold a password, and what redis-py takes in a query (`ssl_ca_certs`, …)."""
        scheme, _, rest = address.partition("://")
        self._is_cluster = scheme.endswith("+cluster")
        self._address = f"{scheme.removesuffix('+cluster')}://{rest}"
        # While a cluster's client finds its nodes anew, it may write to a connection that it has just closed.
        self._failures = (*_FAILURES, AttributeError) if self._is_cluster else _FAILURES
        self._ttl_ms = str(round(ttl_s * 1000))
        self._line: _Line | None = None
        self._connecting = asyncio.Lock()
        self._digests: dict[str, str] = {}

    def _connect(self) -> Any:
        options: dict[str, Any] = {"socket_timeout": _ANSWER_S, "socket_connect_timeout": _CONNECT_S}
        if self._is_cluster:
            return client.RedisCluster.from_url(self._address, **options)
        # Whoever asks tries again by itself: a second try in here would only make the first one late.
        return client.Redis.from_url(self._address, retry=Retry(NoBackoff(), 0), **options)

    def check_options(self) -> None:
        """Raise `ValueError` for an option behind `?` that redis-py does not take; nothing is connected."""
        try:
            made = self._connect()
            if not self._is_cluster:
                made.connection_pool.make_connection()
        except TypeError as mistake:
            name = _UNKNOWN.search(str(mistake))
            raise ValueError(f"there is no option `{name[1]}`" if name else str(mistake)) from None
        except RedisError as mistake:
            raise ValueError(str(mistake)) from None
        if made.get_encoder().decode_responses:
            raise ValueError("snapshots are no text: leave `decode_responses` out")

    async def start(self) -> None:
        """Connect, and see whether anybody answers."""
        await self._do(lambda server: server.ping())

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
        line, self._line = self._line, None
        if line is not None:
            await line.close()

    async def _script(
        self, script: str, kept_ms: str, runs: Sequence[Any], arguments: Callable[[Any], Iterable[Any]]
    ) -> list[Any]:
        """Run a script for some runs; return what it says of each."""
        parts = self._parts(kept_ms, runs, arguments)
        said: list[Any] = [None] * len(runs)

        async def all_parts(server: Any) -> None:
            waiting = iter(parts)
            calls = (some(server, waiting) for _ in range(min(len(parts), _CALLS)))
            # All have to be over before anybody lets go of the connections.
            for failure in await asyncio.gather(*calls, return_exceptions=True):
                if failure is not None:
                    raise failure

        async def some(server: Any, waiting: Iterator[Part]) -> None:
            for indexes, keys, told in waiting:
                for index, each in zip(indexes, await self._call(server, script, keys, told), strict=False):
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

    async def _call(self, server: Any, script: str, keys: list[str], arguments: list[Any]) -> Any:
        digest = self._digests.get(script)
        if digest is not None:
            try:
                return await server.evalsha(digest, len(keys), *keys, *arguments)
            except NoScriptError:
                pass
        # A server that was restarted, or another node of the cluster, does not know it yet.
        answer = await server.eval(script, len(keys), *keys, *arguments)
        self._digests[script] = hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
        return answer

    async def _do(self, work: Callable[[Any], Awaitable[Any]]) -> None:
        try:
            line = await self._line_up()
        except _FAILURES as failure:
            raise _unavailable(failure) from None
        line.users += 1
        try:
            await work(line.client)
        except self._failures as failure:
            # A primary that was demoted answers too, so that only a new connection leads to the new one.
            if self._line is line:
                self._line = None
            raise _unavailable(failure) from None
        finally:
            line.users -= 1
            if self._line is not line and not line.users:
                await line.close()

    async def _line_up(self) -> _Line:
        async with self._connecting:
            if self._line is None:
                line = _Line(self._connect())
                if self._is_cluster:
                    # Many calls at once would each do it.
                    await line.client.initialize()
                self._line = line
            return self._line


class _Line:
    """A client and how many use it now."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.users = 0

    async def close(self) -> None:
        with contextlib.suppress(*_FAILURES):
            await self.client.aclose()


def _unavailable(failure: Exception) -> StoreUnavailable:
    return StoreUnavailable(f"redis: {str(failure) or type(failure).__name__}")


def _key(tenant: str, run_id: str) -> tuple[str, int]:
    """Return a run's key and its bucket; a tenant may have any name, so its length stands before it."""
    name = f"{len(tenant)}:{tenant}:{run_id}"
    bucket = crc32(name.encode()) % _BUCKETS
    return f"loopguard:{{{bucket}}}:{name}", bucket
