"""What the service is told by its command line, its environment and its configuration file, in this order."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    ValidationError,
)
from pydantic.alias_generators import to_camel

from loopguard.config import Configuration, load_configuration
from loopguard.config.places import show_value
from loopguard.errors import InvalidConfig
from loopguard.store import check_address as check_store

from .addresses import check_address, check_file, check_port_address
from .exposure import check_exposure
from .limits import CALLS_PER_BATCH_MAX, GRPC_HEADROOM_BYTES, GRPC_HEADROOM_STREAMS, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: What the names of our environment variables start with.
PREFIX = "LOOPGUARD_"
#: Variables of that name that are read elsewhere (`_core`).
_NOT_FIELDS = frozenset({"CPU"})
#: How pydantic begins what it says of a rule.
_SHOULD = re.compile(r"^(Input|String|Value error,) should")


def _whole(value: object) -> object:
    # 10.0 is 10, as in `loopDetection`; "5" and true are no numbers.
    if isinstance(value, bool):
        raise ValueError("should be a number")
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: What fits into the options of gRPC, and what into the clocks of stores and event loops.
_LARGEST: Final = 2**31 - 1
_LONGEST_S: Final = 1e9

Count = Annotated[int, BeforeValidator(_whole), Field(strict=True, ge=1, le=_LARGEST)]
Seconds = Annotated[float, BeforeValidator(_whole), Field(strict=True, ge=0, le=_LONGEST_S, allow_inf_nan=False)]
#: gRPC counts them in whole milliseconds.
PingSeconds = Annotated[Seconds, Field(ge=0.001, le=_LARGEST // 1000)]
File = Annotated[StrictStr, AfterValidator(check_file)]
Rate = Annotated[float, BeforeValidator(_whole), Field(strict=True, gt=0, allow_inf_nan=False)]

_DEFAULTS = Limits()


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True)


class LimitSettings(_Table):
    """Keys of `loopguard.server.limits`, in camel case there."""

    message_bytes: Annotated[Count, Field(le=_LARGEST - GRPC_HEADROOM_BYTES)] = _DEFAULTS.message_bytes
    frame_bytes: Count = _DEFAULTS.frame_bytes
    calls_per_batch: Annotated[Count, Field(le=CALLS_PER_BATCH_MAX)] = _DEFAULTS.calls_per_batch
    in_flight: Count = _DEFAULTS.in_flight
    history_size: Count = _DEFAULTS.history_size
    frames_per_message: Count = _DEFAULTS.frames_per_message
    records_per_history: Count = _DEFAULTS.records_per_history
    runs: Count = _DEFAULTS.runs
    runs_per_tenant: Count = _DEFAULTS.runs_per_tenant
    interrupted_runs: Count = _DEFAULTS.interrupted_runs
    streams_per_connection: Annotated[Count, Field(le=_LARGEST - GRPC_HEADROOM_STREAMS)] = (
        _DEFAULTS.streams_per_connection
    )
    watch_events: Count = _DEFAULTS.watch_events
    calls_per_s: Rate = _DEFAULTS.calls_per_s
    run_ttl_s: Seconds = _DEFAULTS.run_ttl_s
    idle_timeout_s: Seconds = _DEFAULTS.idle_timeout_s


class ServerSettings(_Table):
    """Keys of `loopguard.server` but `limits`, in camel case there.

    `drain_grace_s` is how long clients may finish after a SIGTERM; a peer that doesn't answer a ping of every
    `keepalive_time_s` within `keepalive_timeout_s` is dead. With `tls_client_ca` clients need a certificate that it
    signed; `tokens_file` says which tokens are which tenant's; `allow_insecure` lets others in without TLS.
    """

    address: Annotated[StrictStr, AfterValidator(check_address)] = "127.0.0.1:50051"
    tls_certificate: File | None = None
    tls_key: File | None = None
    tls_client_ca: File | None = None
    tokens_file: File | None = None
    allow_insecure: StrictBool = False
    drain_grace_s: Seconds = 5.0
    keepalive_time_s: PingSeconds = 10.0
    keepalive_timeout_s: PingSeconds = 5.0
    reload_poll_s: Annotated[Seconds, Field(ge=0.01)] = 1.0
    workers: Annotated[Count, Field(le=256)] = 1
    metrics_address: Annotated[StrictStr, AfterValidator(check_port_address)] | None = None
    traces: StrictBool = False
    log_format: Literal["json", "console"] = "json"
    log_level: Literal["debug", "info", "warning", "error"] = "info"


class StoreSettings(_Table):
    """Where runs survive; the keys `address` and `durability` of `loopguard.store`."""

    store: StrictStr = "memory"
    durability: Literal["behind", "sync"] = "behind"


class Settings(ServerSettings, LimitSettings, StoreSettings):
    """All that the service is told but its configuration of runs, which stands in the file `config`.

    Names of environment variables have no levels.
    """

    config: StrictStr | None = None

    def limits(self) -> Limits:
        """Return what of it are limits."""
        return Limits(**{name: getattr(self, name) for name in LimitSettings.model_fields})


def load_settings(
    environment: Mapping[str, str] | None = None, *, config: str | None = None, **flags: Any
) -> tuple[Settings, Configuration]:
    """Read everything; `flags` are fields of `Settings` from the command line, `None` where not given.

    `environment` `None` is the process's own.

    Without a file, here or in `LOOPGUARD_CONFIG`, the rolling detectors are on. Raises `InvalidConfig`.
    """
    environment = os.environ if environment is None else environment
    path = config or environment.get(f"{PREFIX}CONFIG")
    configuration = load_configuration(path) if path else Configuration.guarded()
    values = check_table(configuration)
    values |= _checked(Settings, _from_environment(environment), PREFIX)
    values.pop("config", None)
    values |= _checked(Settings, {name: value for name, value in flags.items() if value is not None}, "--")
    settings = Settings(**values, config=path)
    check_exposure(settings)
    check_store(settings.store)
    return settings, configuration


def check_table(configuration: Configuration) -> dict[str, Any]:
    """Return what the file says under `loopguard.server`, by field. Raises `InvalidConfig`."""
    table = dict(configuration.server)
    limits = table.pop("limits", {})
    with configuration.placing():
        if not isinstance(limits, dict):
            key = "loopguard.server.limits"
            raise InvalidConfig(
                key, f"`{key}` must be an object, not {show_value(limits)}", ("loopguard", "server", "limits")
            )
        values = _checked(ServerSettings, table, "loopguard.server.")
        store = dict(configuration.store)
        if "address" in store:
            check_store(store["address"])
            store["store"] = store.pop("address")
        values |= store
        return values | _checked(LimitSettings, limits, "loopguard.server.limits.")


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for variable, text in environment.items():
        name = variable.removeprefix(PREFIX)
        if name == variable or name in _NOT_FIELDS:
            continue
        field = Settings.model_fields.get(name.lower())
        if field is None:
            raise InvalidConfig(variable, f"unknown environment variable `{variable}`")
        values[name.lower()] = _READ.get(field.annotation, str)(text)
    return values


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _switch(text: str) -> Any:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)


_READ: dict[Any, Callable[[str], Any]] = {int: _number, float: _number, bool: _switch}


#: Options of the command line that are shorter than the settings they stand for.
_OPTIONS: Final = {"metrics_address": "metrics", "drain_grace_s": "drain-grace"}


def _hyphened(name: str) -> str:
    return name.replace("_", "-")


def _checked(model: type[_Table], values: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Check one source by itself, so that the message can name the key as it stands there."""
    camel = source not in (PREFIX, "--")
    try:
        settings = model.model_validate(dict(values), by_alias=camel, by_name=not camel)
    except ValidationError as mistake:
        first = mistake.errors(include_url=False, include_context=False)[0]
    else:
        return settings.model_dump(exclude_unset=True)
    name = str(first["loc"][0])
    key = f"{source}{name if camel else name.upper() if source == PREFIX else _OPTIONS.get(name) or _hyphened(name)}"
    path = tuple(key.split(".")) if camel else ()
    if first["type"] == "extra_forbidden":
        raise InvalidConfig(key, f"unknown key `{key}` (value {show_value(first['input'])})", path)
    rule = _SHOULD.sub("must", first["msg"])
    raise InvalidConfig(key, f"`{key}` {rule}, not {show_value(first['input'])}", path)
