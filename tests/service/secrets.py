"""Certificates and tokens for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import trustme
from loopguard.server.tokens import entry_of

if TYPE_CHECKING:
    from pathlib import Path

_OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]


class Authority:
    """A certificate authority that writes the server's files and makes clients."""

    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA()
        self._folder = folder

    def write(self, **dates: Any) -> dict[str, str]:
        """Write a new certificate and key; return the settings that name them."""
        issued = self._ca.issue_cert("localhost", "127.0.0.1", **dates)
        certificate, key = self._folder / "server.pem", self._folder / "server.key"
        certificate.write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
        key.write_bytes(issued.private_key_pem.bytes())
        return {"tls_certificate": str(certificate), "tls_key": str(key)}

    def write_client_ca(self) -> dict[str, str]:
        path = self._folder / "clients.pem"
        path.write_bytes(self._ca.cert_pem.bytes())
        return {"tls_client_ca": str(path)}

    def channel(self, address: str, client_of: Authority | None = None) -> grpc.aio.Channel:
        """Open a connection of its own that trusts this authority, with a client certificate of `client_of`."""
        key = chain = None
        if client_of is not None:
            issued = client_of._ca.issue_cert("client.example")
            key = issued.private_key_pem.bytes()
            chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
        credentials = grpc.ssl_channel_credentials(self._ca.cert_pem.bytes(), key, chain)
        return grpc.aio.secure_channel(address, credentials, options=_OWN_CONNECTION)


def write_tokens(path: Path, **tokens: str) -> str:
    """Write a tokens file with `tenant="token"`; return its name."""
    path.write_text("".join(f"{entry_of(tenant, token)}\n" for tenant, token in tokens.items()))
    return str(path)


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)
