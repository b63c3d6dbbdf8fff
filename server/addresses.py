"""What an address to listen on looks like; one that gRPC or the system would bend to fit is refused."""

from __future__ import annotations

import errno
import os
import re
import socket
from pathlib import Path
from typing import Final

_PORT: Final = re.compile(r"[0-9]{1,5}")
_PORTS: Final = 1 << 16
#: Spaces, control characters and what only a URL has.
_ODD: Final = re.compile(r"[\s\x00-\x1f/@?#]")
_SOCKETS: Final = ("unix:", "unix-abstract:")
_SCHEMES: Final = ("ipv4:", "ipv6:", "dns:///", "dns:")
#: So long may the path of a socket be on Linux.
_SOCKET_PATH_BYTES: Final = 107


def is_socket_file(address: str) -> bool:
    """Tell whether an address is a socket of this machine's, without a port."""
    return address.startswith(_SOCKETS)


def split_address(address: str) -> tuple[str, int]:
    """Return host, without brackets, and port. Raises `ValueError` with the rule that is broken."""
    for scheme in _SCHEMES:
        address = address.removeprefix(scheme)
    host, colon, port = address.rpartition(":")
    if not colon or _ODD.search(host):
        raise ValueError("should be `HOST:PORT`")
    if not _PORT.fullmatch(port) or int(port) >= _PORTS:
        raise ValueError("should end with a port from 0 to 65535")
    bare = host.removeprefix("[").removesuffix("]")
    if (":" in bare) != (host == f"[{bare}]"):
        raise ValueError("should have an IPv6 address, and nothing else, in brackets")
    return bare, int(port)


def check_address(address: str) -> str:
    """Return an address to listen on as it is. Raises `ValueError` with the rule that is broken."""
    if not is_socket_file(address):
        split_address(address)
        return address
    path = address.partition(":")[2]
    if not path or "\0" in path:
        raise ValueError("should have a path behind `unix:`")
    if len(path.encode()) > _SOCKET_PATH_BYTES:
        raise ValueError(f"should have a path of at most {_SOCKET_PATH_BYTES} bytes")
    return address


def check_port_address(address: str) -> str:
    """Return an address with a port as it is. Raises `ValueError` with the rule that is broken."""
    split_address(address)
    return address


def check_file(path: str) -> str:
    """Return the path of a file as it is. Raises `ValueError` where it can be none."""
    if not path or "\0" in path:
        raise ValueError("should be the path of a file")
    return path


def probe_address(address: str) -> None:
    """Raise `OSError` with the reason why nobody could listen there now; gRPC only says that it can't."""
    if is_socket_file(address):
        if address.startswith("unix:"):
            _probe_socket_file(Path(address.removeprefix("unix:")))
        return
    host, port = split_address(address)
    failure: OSError | None = None
    for family, kind, protocol, _, where in socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ):
        try:
            with socket.socket(family, kind, protocol) as alone:
                alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                alone.bind(where)
        except OSError as mistake:
            failure = failure or mistake
        else:
            return
    if failure is not None:
        raise failure


def _probe_socket_file(path: Path) -> None:
    # A socket that a service left behind is replaced.
    if path.exists() and not path.is_socket():
        raise FileExistsError(errno.EEXIST, "there is another file")
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, f"no right to write to {path.parent}")
