from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from loopguard.server.limits import GRPC_HEADROOM_BYTES
from loopguard.server.service import channel_options
from loopguard.server.settings import load_settings

from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from pathlib import Path


def test_without_anything_the_detectors_are_on() -> None:
    settings, configuration = load_settings({})

    assert settings.address == "127.0.0.1:50051"
    assert configuration.effective().enabled is True


def test_the_command_line_beats_the_environment_and_that_the_file(tmp_path: Path) -> None:
    file = tmp_path / "guard.json5"
    file.write_text('{loopguard: {server: {address: "file:1", limits: {inFlight: 7.0, runTtlS: 1.5}}}}')

    settings, configuration = load_settings(
        {"LOOPGUARD_CONFIG": str(file), "LOOPGUARD_ADDRESS": "env:2", "LOOPGUARD_RUN_TTL_S": "2"},
        address="localhost:3",
        log_level=None,
    )

    assert (settings.address, settings.run_ttl_s, settings.in_flight) == ("localhost:3", 2.0, 7)
    assert configuration.effective().enabled is None


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("{port: 5}", "loopguard.server.port"),
        ("{inFlight: 5}", "loopguard.server.inFlight"),
        ("{limits: 5}", "loopguard.server.limits"),
        ("{limits: {port: 5}}", "loopguard.server.limits.port"),
        ("{limits: {in_flight: 5}}", "loopguard.server.limits.in_flight"),
        ("{limits: {inFlight: 0}}", "loopguard.server.limits.inFlight"),
        ('{limits: {inFlight: "5"}}', "loopguard.server.limits.inFlight"),
        ("{limits: {inFlight: true}}", "loopguard.server.limits.inFlight"),
        ("{limits: {inFlight: 1.5}}", "loopguard.server.limits.inFlight"),
        ("{limits: {runTtlS: -1}}", "loopguard.server.limits.runTtlS"),
        ("{limits: {callsPerS: 0}}", "loopguard.server.limits.callsPerS"),
        ("{limits: {callsPerBatch: 1025}}", "loopguard.server.limits.callsPerBatch"),
        ("{address: 5}", "loopguard.server.address"),
        ('{logLevel: "loud"}', "loopguard.server.logLevel"),
        ("{keepaliveTimeS: 1e308}", "loopguard.server.keepaliveTimeS"),
        ("{keepaliveTimeS: 3000000}", "loopguard.server.keepaliveTimeS"),
        ("{keepaliveTimeoutS: 0}", "loopguard.server.keepaliveTimeoutS"),
        ("{reloadPollS: 1e-9}", "loopguard.server.reloadPollS"),
        ("{limits: {runTtlS: 1e308}}", "loopguard.server.limits.runTtlS"),
        ("{limits: {messageBytes: 2147483647}}", "loopguard.server.limits.messageBytes"),
        ("{limits: {streamsPerConnection: 2147483647}}", "loopguard.server.limits.streamsPerConnection"),
        ('{address: "127.0.0.1:99999"}', "loopguard.server.address"),
        ('{metricsAddress: "127.0.0.1:99999"}', "loopguard.server.metricsAddress"),
        ('{metricsAddress: "unix:/run/metrics"}', "loopguard.server.metricsAddress"),
        ('{tokensFile: ""}', "loopguard.server.tokensFile"),
        ('{tlsCertificate: "a\\u0000b", tlsKey: "k"}', "loopguard.server.tlsCertificate"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, table: str, key: str) -> None:
    file = tmp_path / "guard.json5"
    file.write_text(f"{{loopguard: {{server: {table}}}}}")

    with pytest.raises(InvalidConfig) as mistake:
        load_settings({}, config=str(file))

    assert mistake.value.key == key
    assert key in str(mistake.value)


@pytest.mark.parametrize(
    ("flags", "key"),
    [
        ({"in_flight": 0}, "--in-flight"),
        ({"drain_grace_s": -1.0}, "--drain-grace"),
        ({"metrics_address": "9090"}, "--metrics"),
    ],
)
def test_a_mistake_on_the_command_line_is_named(flags: dict[str, Any], key: str) -> None:
    with pytest.raises(InvalidConfig, match=f"`{key}` "):
        load_settings({}, **flags)


def test_the_largest_settings_are_taken_by_grpc_too() -> None:
    limits = {"message_bytes": 2**31 - 1 - GRPC_HEADROOM_BYTES, "streams_per_connection": 2**31 - 1 - 256}
    settings, _ = load_settings({}, keepalive_time_s=2_147_483, keepalive_timeout_s=2_147_483, **limits)

    assert max(value for _, value in channel_options(settings)) < 2**31
