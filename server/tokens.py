"""Bearer tokens: which belongs to which tenant. Only their hashes are kept."""

from __future__ import annotations

import hmac
import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

_TENANT: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HASH: Final = re.compile(r"sha256:([0-9a-f]{64})")


class Grant(NamedTuple):
    """What a token allows: to be this tenant. The `digest` is the token's."""

    tenant: str
    digest: bytes


#: Where no tokens are asked for, everybody is one tenant.
ANYBODY: Final = Grant("", b"")


class Tokens:
    """The tokens of a file: a line is a tenant and `sha256:` with the token's hash; `#` begins a comment."""

    def __init__(self, grants: Iterable[Grant]) -> None:
        self._grants = frozenset(grants)

    def __len__(self) -> int:
        return len(self._grants)

    @classmethod
    def load(cls, path: str) -> Tokens:
        """Read a file. Raises `InvalidConfig` with the line of the mistake, never with its text."""
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as mistake:
            reason = mistake.strerror if isinstance(mistake, OSError) else "not UTF-8"
            raise InvalidConfig("loopguard.server.tokensFile", f"{path}: {reason}") from None
        grants: dict[bytes, Grant] = {}
        for number, line in enumerate(text.splitlines(), 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            grant = _parse(words)
            if isinstance(grant, str):
                raise InvalidConfig("loopguard.server.tokensFile", f"{path}:{number}: {grant}")
            if grant.digest in grants:
                raise InvalidConfig("loopguard.server.tokensFile", f"{path}:{number}: this token stands there twice")
            grants[grant.digest] = grant
        return cls(grants.values())

    def to_message(self) -> list[list[str]]:
        """Return them as JSON knows them."""
        return [[grant.tenant, grant.digest.hex()] for grant in self._grants]

    @classmethod
    def from_message(cls, grants: list[list[str]]) -> Tokens:
        """Take over what was read elsewhere."""
        return cls(Grant(tenant, bytes.fromhex(digest)) for tenant, digest in grants)

    def find(self, token: str) -> Grant | None:
        """Return what a token allows; the time it takes tells nothing about the tokens of the file."""
        digest = sha256(token.encode()).digest()
        found = None
        for grant in self._grants:
            if hmac.compare_digest(grant.digest, digest):
                found = grant
        return found

    def holds(self, grant: Grant) -> bool:
        """Tell whether what was allowed once still is."""
        return grant in self._grants


def _parse(words: list[str]) -> Grant | str:
    if len(words) != 2:
        return f"a line is a tenant and a hash, not {len(words)} words"
    if not _TENANT.fullmatch(words[0]):
        return "a tenant's name has up to 64 letters, digits, `.`, `_` and `-`"
    match = _HASH.fullmatch(words[1])
    if match is None:
        return "a hash is `sha256:` and 64 digits of lower-case hexadecimal"
    return Grant(words[0], bytes.fromhex(match[1]))


def entry_of(tenant: str, token: str) -> str:
    """Return the line that lets a token in. Raises `InvalidConfig` for a name that is none."""
    if not _TENANT.fullmatch(tenant):
        raise InvalidConfig("tenant", "a tenant's name has up to 64 letters, digits, `.`, `_` and `-`")
    return f"{tenant} sha256:{sha256(token.encode()).hexdigest()}"
