"""`loopguard token`: makes a bearer token for a tenant."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

_BYTES = 32


def command(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="Letters, digits, `.`, `_` and `-`.")],
) -> int:
    """Make a token: the first line printed is for the client, the second for the service's tokens file."""
    from loopguard.server.tokens import entry_of

    token = secrets.token_urlsafe(_BYTES)
    entry = entry_of(tenant, token)
    print(token)
    print(entry)
    return 0
