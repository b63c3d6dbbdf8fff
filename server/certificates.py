"""TLS: the server's certificate and key, and whose clients' certificates it takes, read anew without a restart."""

from __future__ import annotations

import base64
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grpc

from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from .settings import Settings

_EXPIRED: Final = 10
_KEY = "loopguard.server.tlsCertificate"
#: What a file in PEM has to hold.
_CERTIFICATE: Final = b"CERTIFICATE-----"
_PRIVATE_KEY: Final = b"PRIVATE KEY-----"
_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
#: How the public key of a certificate begins whose kind gRPC's TLS does not speak, though Python's does.
_UNSPOKEN: Final = {
    "Ed25519": bytes.fromhex("300506032b6570032100"),
    "Ed448": bytes.fromhex("300506032b6571033a00"),
}
#: What the TLS library says -> what it means.
_WORDS: Final = {
    "": "what stands between the lines of PEM can't be read",
    "NO_CERTIFICATE_ASSIGNED": "the key is not the certificate's",
    "KEY_VALUES_MISMATCH": "the key is not the certificate's",
    "EE_KEY_TOO_SMALL": "the key is too short",
}


class Certificate:
    """A checked certificate with its key (PEM); `expires_at` is in seconds since 1970."""

    def __init__(self, chain: bytes, key: bytes, authority: bytes | None, expires_at: float) -> None:
        self._files = (chain, key, authority)
        self.configuration = grpc.ssl_server_certificate_configuration([(key, chain)], root_certificates=authority)
        self.expires_at = expires_at

    @classmethod
    def load(cls, settings: Settings) -> Certificate:
        """Read the files. Raises `InvalidConfig` if they don't fit together or the certificate has expired."""
        certificate, key, authority = settings.tls_certificate, settings.tls_key, settings.tls_client_ca
        assert certificate is not None
        assert key is not None
        chain, secret = _read(certificate, _CERTIFICATE), _read(key, _PRIVATE_KEY)
        trusted = _read(authority, _CERTIFICATE) if authority else None
        if b"ENCRYPTED" in secret:
            raise InvalidConfig(_KEY, f"{key}: the key is encrypted; the service needs it without a passphrase")
        try:
            expires_at = _expiry_of(certificate, key)
            if authority:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(authority)
        except ssl.SSLCertVerificationError as mistake:
            said = "has expired" if mistake.verify_code == _EXPIRED else f"is refused: {mistake.verify_message}"
            raise InvalidConfig(_KEY, f"the certificate {certificate} {said}") from None
        except ssl.SSLError as mistake:
            files = ", ".join(filter(None, (certificate, key, authority)))
            raise InvalidConfig(_KEY, f"TLS with {files}: {_WORDS.get(mistake.reason or '', mistake.reason)}") from None
        except (OSError, ValueError) as mistake:
            raise InvalidConfig(_KEY, f"{certificate}: {mistake}") from None
        _check_kind(certificate, chain)
        return cls(chain, secret, trusted, expires_at)

    def to_message(self) -> dict[str, Any]:
        """Return it as JSON knows it, the key too: for a process of ours only."""
        files = [None if file is None else base64.b64encode(file).decode() for file in self._files]
        return {"files": files, "expires_at": self.expires_at}

    @classmethod
    def from_message(cls, told: dict[str, Any]) -> Certificate:
        """Take over what was read and checked elsewhere."""
        chain, key, authority = (None if file is None else base64.b64decode(file) for file in told["files"])
        assert chain is not None
        assert key is not None
        return cls(chain, key, authority, told["expires_at"])


def _read(path: str, wanted: bytes) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as mistake:
        raise InvalidConfig(_KEY, f"{path}: {mistake.strerror}") from None
    if wanted not in data:
        what = wanted.decode().rstrip("-").lower()
        raise InvalidConfig(_KEY, f"{path}: there is no {what} in PEM in it")
    return data


def _check_kind(path: str, chain: bytes) -> None:
    """Raise `InvalidConfig` for a key that gRPC would not sign with: it would listen, and nobody would get in."""
    first = _PEM.search(chain)
    der = ssl.PEM_cert_to_DER_cert(first[0].decode()) if first else b""
    for kind, beginning in _UNSPOKEN.items():
        if beginning in der:
            raise InvalidConfig(_KEY, f"{path}: gRPC does not speak {kind}; take a key of RSA or ECDSA (P-256)")


def _expiry_of(certificate: str, key: str) -> float:
    """Return when a certificate expires, by letting it prove itself to a client that trusts nothing else."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # An encrypted key would have the passphrase asked for on the terminal.
    server.load_cert_chain(certificate, key, password="")
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_verify_locations(certificate)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking, answering = client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True)
    for side in (asking, answering, asking):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    proven = asking.getpeercert()
    return ssl.cert_time_to_seconds(str(proven["notAfter"])) if proven else 0.0


class Certificates:
    """The certificate in use; gRPC asks for it at each handshake."""

    def __init__(self, current: Certificate, *, wants_client: bool) -> None:
        self.current = current
        self._wants_client = wants_client

    def use(self, certificate: Certificate) -> None:
        """Present this one from the next handshake on; open connections stay."""
        self.current = certificate

    def credentials(self) -> grpc.ServerCredentials:
        """Return what to give to the server."""
        return grpc.dynamic_ssl_server_credentials(
            self.current.configuration, lambda: self.current.configuration, self._wants_client
        )
