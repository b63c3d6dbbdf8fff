from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING

import pytest
from loopguard.server.addresses import check_address, check_port_address, probe_address, split_address

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("127.0.0.1:0", "127.0.0.1", 0),
        (":50051", "", 50051),
        ("guard.example:65535", "guard.example", 65535),
        ("[::1]:1", "::1", 1),
        ("ipv4:10.0.0.1:1", "10.0.0.1", 1),
        ("ipv6:[::]:1", "::", 1),
        ("dns:///localhost:1", "localhost", 1),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, host: str, port: int) -> None:
    assert check_address(address) == address
    assert split_address(address) == (host, port)


@pytest.mark.parametrize("address", ["unix:/run/guard", "unix:guard", "unix-abstract:guard"])
def test_a_socket_has_no_port(address: str) -> None:
    assert check_address(address) == address
    with pytest.raises(ValueError, match="should"):
        check_port_address(address + " ")


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("", "HOST:PORT"),
        ("127.0.0.1", "HOST:PORT"),
        ("http://127.0.0.1:1", "HOST:PORT"),
        ("127.0.0.1 :1", "HOST:PORT"),
        ("\0:1", "HOST:PORT"),
        # gRPC takes these for other ports than they name.
        ("127.0.0.1:65536", "port from 0 to 65535"),
        ("127.0.0.1:-1", "port from 0 to 65535"),
        ("127.0.0.1:1\n", "port from 0 to 65535"),
        ("127.0.0.1:\u0661", "port from 0 to 65535"),
        ("127.0.0.1:", "port from 0 to 65535"),
        ("::1:1", "in brackets"),
        ("[localhost]:1", "in brackets"),
        ("unix:", "a path behind"),
        ("unix:a\0b", "a path behind"),
        ("unix:" + "x" * 108, "at most 107 bytes"),
    ],
)
def test_what_would_be_bent_to_fit_is_refused(address: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        check_address(address)


def test_the_reason_why_nobody_can_listen_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match=os.strerror(errno.EADDRINUSE)):
            probe_address(f"127.0.0.1:{taken.getsockname()[1]}")
    probe_address("127.0.0.1:0")

    file = tmp_path / "file"
    file.touch()
    with pytest.raises(FileExistsError, match="another file"):
        probe_address(f"unix:{file}")
    with pytest.raises(FileNotFoundError, match="no folder"):
        probe_address(f"unix:{tmp_path}/nowhere/socket")


def test_a_socket_that_was_left_behind_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "guard"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))

    probe_address(f"unix:{path}")

    assert path.is_socket()
