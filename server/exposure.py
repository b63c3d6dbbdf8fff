"""Whether others than this machine can reach an address."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from .settings import Settings


def is_local(address: str) -> bool:
    """Tell whether only this machine reaches a gRPC address; one that isn't understood is taken for open."""
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    for scheme in ("ipv4:", "ipv6:", "dns:///", "dns:"):
        address = address.removeprefix(scheme)
    host = address.rpartition(":")[0].strip("[]")
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_exposure(settings: Settings) -> None:
    """Refuse to speak without TLS where others can listen, unless told to. Raises `InvalidConfig`."""
    if bool(settings.tls_certificate) != bool(settings.tls_key):
        raise InvalidConfig("loopguard.server.tlsKey", "`tlsCertificate` and `tlsKey` go together")
    if settings.tls_client_ca and not settings.tls_certificate:
        raise InvalidConfig("loopguard.server.tlsClientCa", "`tlsClientCa` needs `tlsCertificate` and `tlsKey`")
    if settings.tls_certificate or settings.allow_insecure or is_local(settings.address):
        return
    raise InvalidConfig(
        "loopguard.server.address",
        f"{settings.address} can be reached from elsewhere, and there is no TLS: set `tlsCertificate` and `tlsKey`, "
        "or `allowInsecure: true` where something else protects the connection",
    )
