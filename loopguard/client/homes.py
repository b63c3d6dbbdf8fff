"""Which stream each run of a client is on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard.client.routing import Router
    from loopguard.client.session import RunSession

S = TypeVar("S")


class Homes(Generic[S]):
    """The streams of a client by their runs. Not thread-safe, but for `of`."""

    def __init__(self, router: Router, make: Callable[[str], S], *, many: bool) -> None:
        """Make streams by `make`, with `many` one for each endpoint that has runs, else one a run."""
        self._router = router
        self._make = make
        self._many = many
        self._streams: set[S] = set()
        #: The streams of many runs, by their endpoints.
        self._shared: dict[str, S] = {}
        self._of: dict[RunSession, S] = {}

    def of(self, session: RunSession) -> S | None:
        """Return the stream of a run, `None` if it has left."""
        return self._of.get(session)

    def place(self, session: RunSession) -> S:
        """Return the stream on which a run is from now on."""
        if not self._many:
            # It goes where its run belongs, whenever it begins anew.
            stream = self._make("")
        else:
            endpoint, session.redirect = session.redirect or self._router.place(session.request.run_id), ""
            shared = self._shared.get(endpoint)
            stream = self._shared[endpoint] = self._make(endpoint) if shared is None else shared
        self._streams.add(stream)
        self._of[session] = stream
        return stream

    def leave(self, session: RunSession) -> S | None:
        """Take a run from its stream and return that, `None` if it has left before."""
        stream = self._of.pop(session, None)
        if stream is not None and not self._many:
            self._streams.discard(stream)
        return stream

    def leave_all(self) -> set[S]:
        """Return all streams, for closing."""
        streams, self._streams = self._streams, set()
        return streams
