"""The event loop that serves: uvloop's, woken up once for whatever gRPC has for it by then."""

from __future__ import annotations

import socket
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import uvloop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

#: More than gRPC can have written while the loop was busy; what is left only wakes it up once more.
_MOST: Final = 4096


class _Wakeups(socket.socket):
    """Where gRPC's thread writes a byte for each event.

    Its reader takes one byte and then all events, so that the bytes of the others wake it up for nothing.
    """

    __slots__ = ()

    def recv(self, _size: int, flags: int = 0, /) -> bytes:
        """Take all bytes that are there; their events were there before them."""
        return super().recv(_MOST, flags)


class Loop(uvloop.Loop):
    """An event loop for `grpc.aio`."""

    # The stub ties `args` to what the callback takes, which is told to nobody here.
    def add_reader(self, fd: Any, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
        """Call back when there is something to read."""
        if type(fd) is socket.socket and _is_of_grpc(callback):
            fd.__class__ = _Wakeups
        super().add_reader(fd, callback, *args)


def _is_of_grpc(callback: Callable[..., Any]) -> bool:
    """Tell whether it is what takes gRPC's events. If it is called otherwise one day, nothing is gained, or lost."""
    method = callback.func if isinstance(callback, partial) else callback
    return type(getattr(method, "__self__", None)).__name__ == "PollerCompletionQueue"


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run until `main` is done."""
    uvloop.run(main, loop_factory=Loop)
