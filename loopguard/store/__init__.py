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
    key = "loopguard.store"
    path = tuple(key.split("."))
    scheme, _, rest = address.partition(":")
    if address == "memory" or (scheme == "sqlite" and rest):
        return
    if scheme == "sqlite":
        raise InvalidConfig(key, f"`{key}`: `sqlite:` needs the path of a file", path)
    if scheme not in _REDIS:
        raise InvalidConfig(key, f"`{key}` must be one of {_KNOWN}, not `{scheme[:32]}…`", path)
    try:
        parts = urlsplit(address)
        named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        named = False
    if not named:
        raise InvalidConfig(key, f"`{key}`: an address of `{scheme}` needs a host, and a port that is a number", path)


def open_store(address: str, *, ttl_s: float, clock: Callable[[], float]) -> Store | None:
    """Return the store behind an address, not connected yet; `None` for `memory`, where nothing survives.

    A run that nobody saves for `ttl_s` seconds is gone; `clock` tells the time of day. Raises `InvalidConfig`, also
    where the extra `redis` is missing.
    """
    check_address(address)
    if address == "memory":
        return None
    scheme, _, rest = address.partition(":")
    if scheme == "sqlite":
        from loopguard.store.sqlite import SqliteStore

        return SqliteStore(rest, ttl_s=ttl_s, clock=clock)
    try:
        from loopguard.store.redis import RedisStore
    except ModuleNotFoundError as missing:
        if missing.name != "redis":
            raise
        key = "loopguard.store"
        message = f"`{key}`: for `{scheme}` install `loopguard-grpc[redis]`"
        raise InvalidConfig(key, message, ("loopguard", "store")) from None
    return RedisStore(address, ttl_s=ttl_s)
