"""Who may call: asks for a token where the service has tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopguard.errors import Reason

from .status import StreamEnd
from .tokens import ANYBODY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .tokens import Grant, Tokens


class Access:
    """Lets callers in by the token of their `authorization` metadata; without `tokens`, everybody."""

    def __init__(self, tokens: Tokens | None) -> None:
        self._tokens = tokens

    def use(self, tokens: Tokens) -> None:
        """Ask for these tokens from now on."""
        self._tokens = tokens

    def admit(self, metadata: Iterable[tuple[str, Any]]) -> Grant:
        """Return what the caller may do. Raises `StreamEnd`, with the same words whatever is wrong with a token."""
        if self._tokens is None:
            return ANYBODY
        given = [value for name, value in metadata if name == "authorization"]
        if len(given) != 1 or not isinstance(given[0], str):
            raise StreamEnd(Reason.UNAUTHENTICATED, "this service wants `authorization: Bearer TOKEN`")
        scheme, _, token = given[0].partition(" ")
        grant = self._tokens.find(token.strip()) if scheme.lower() == "bearer" else None
        if grant is None:
            raise StreamEnd(Reason.UNAUTHENTICATED, "this token is not known here")
        return grant

    def holds(self, grant: Grant) -> bool:
        """Tell whether who was let in once still would be."""
        return self._tokens is None or self._tokens.holds(grant)
