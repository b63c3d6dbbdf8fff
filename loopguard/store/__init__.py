"""Where run state survives: one interface, and what is behind it by the address that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from loopguard.errors import InvalidConfig
from loopguard.store.interface import Claim, Deletion, Held, Save, Store, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Claim", "Deletion", "Held", "Save", "Store", "StoreUnavailable", "check_address", "open_store"]

_REDIS = ("redis", "rediss", "redis+cluster", "rediss+cluster")
_KNOWN = "`memory`, `sqlite:PATH`, `redis://HOST:PORT/DB`, `rediss://…`, `redis+cluster://…`, `rediss+cluster://…`"


def check_address(address: str) -> None:
    """Raise `InvalidConfig` for an address that names no store; the message never has a password."""
    key, path = "loopguard.store", ("loopguard", "store")
    scheme, _, rest = address.partition(":")
    if address == "memory" or (scheme == "sqlite" and rest not in ("", ":memory:") and "\0" not in rest):
        return
    if scheme == "sqlite":
        raise InvalidConfig(key, f"`{key}`: `sqlite:` needs the path of a file", path)
    if scheme not in _REDIS:
        raise InvalidConfig(key, f"`{key}` must be one of {_KNOWN}, not `{scheme[:32]}…`", path)
    try:
        parts = urlsplit(address)
        named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        database = parts.path.removeprefix("/")
    except ValueError:
        named, database = False, ""
    if not named:
        raise InvalidConfig(key, f"`{key}`: an address of `{scheme}` needs a host, and a port that is a number", path)
    if database and not (database.isascii() and database.isdecimal()):
        raise InvalidConfig(key, f"`{key}`: what stands behind the host is the number of a database", path)
    if "cluster" in scheme and int(database or 0):
        raise InvalidConfig(key, f"`{key}`: a cluster has no database but 0", path)


def open_store(address: str, *, ttl_s: float, clock: Callable[[], float]) -> Store | None:
    """Return the store behind an address, not connected yet; `None` for `memory`, where nothing survives.

    A run that nobody saves for `ttl_s` seconds is gone; `clock` tells the time of day. Raises `InvalidConfig`, also
    where the extra `redis` is missing.
    """
    check_address(address)
    if address == "memory":
        return None
    key, path = "loopguard.store", ("loopguard", "store")
    scheme, _, rest = address.partition(":")
    if scheme == "sqlite":
        from loopguard.store.sqlite import SqliteStore

        return SqliteStore(rest, ttl_s=ttl_s, clock=clock)
    try:
        from loopguard.store.redis import RedisStore
    except ModuleNotFoundError as missing:
        if missing.name != "redis":
            raise
        message = f"`{key}`: for `{scheme}` install `loopguard-grpc[redis]`"
        raise InvalidConfig(key, message, path) from None
    store = RedisStore(address, ttl_s=ttl_s)
    try:
        store.check_options()
    except ValueError as mistake:
        raise InvalidConfig(key, f"`{key}`: {mistake}", path) from None
    return store
