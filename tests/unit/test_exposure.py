from __future__ import annotations

from typing import Any

import pytest
from loopguard.server.exposure import is_local
from loopguard.server.settings import load_settings

from loopguard.errors import InvalidConfig


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1", "ipv4:127.0.0.1:1", "dns:localhost:1", "unix:/run/g"],
)
def test_these_stay_on_this_machine(address: str) -> None:
    assert is_local(address)


@pytest.mark.parametrize(
    "address", ["0.0.0.0:1", "[::]:1", ":1", "10.0.0.1:1", "guard.example:1", "localhost.example:1", "", "50051"]
)
def test_these_can_be_reached_from_elsewhere(address: str) -> None:
    assert not is_local(address)


@pytest.mark.parametrize(
    ("flags", "key"),
    [
        ({"address": "0.0.0.0:0"}, "loopguard.server.address"),
        ({"tls_certificate": "c"}, "loopguard.server.tlsKey"),
        ({"tls_key": "k"}, "loopguard.server.tlsKey"),
        ({"tls_client_ca": "a"}, "loopguard.server.tlsClientCa"),
    ],
)
def test_what_would_be_open_by_mistake_is_refused(flags: dict[str, Any], key: str) -> None:
    with pytest.raises(InvalidConfig) as mistake:
        load_settings({}, **flags)

    assert mistake.value.key == key


@pytest.mark.parametrize(
    "flags", [{"allow_insecure": True}, {"tls_certificate": "c", "tls_key": "k"}, {"address": "127.0.0.1:0"}]
)
def test_what_is_meant_is_taken(flags: dict[str, Any]) -> None:
    settings, _ = load_settings({}, **({"address": "0.0.0.0:0"} | flags))

    assert settings.address


def test_the_switch_is_read_from_the_environment() -> None:
    settings, _ = load_settings({"LOOPGUARD_ALLOW_INSECURE": "true", "LOOPGUARD_ADDRESS": "0.0.0.0:0"})

    assert settings.allow_insecure
    with pytest.raises(InvalidConfig, match="LOOPGUARD_ALLOW_INSECURE"):
        load_settings({"LOOPGUARD_ALLOW_INSECURE": "maybe"})
