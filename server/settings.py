"""What the service is told by its command line, its environment and its configuration file, in this order."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, ValidationError
from pydantic.alias_generators import to_camel

from loopguard.config import Configuration, load_configuration
from loopguard.errors import InvalidConfig

from .limits import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What the names of our environment variables start with.
PREFIX = "LOOPGUARD_"
#: Variables of that name that are read elsewhere (`_core`) or name the configuration file.
_NOT_FIELDS = frozenset({"CPU", "CONFIG"})


def _whole(value: object) -> object:
    # 10.0 is 10, as in `loopDetection`; "5" and true are no numbers.
    if isinstance(value, bool):
        raise ValueError("should be a number")
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[int, BeforeValidator(_whole), Field(strict=True, ge=1, le=2**31 - 1)]
Seconds = Annotated[float, BeforeValidator(_whole), Field(strict=True, ge=0, allow_inf_nan=False)]

_DEFAULTS = Limits()


class Settings(BaseModel):
    """The service's settings; keys of `loopguard.server` are the same in camel case.

    `run_ttl_s` is how long a run is kept that has no stream; `drain_grace_s` how long clients may finish after a
    SIGTERM; a peer that doesn't answer a ping of every `keepalive_time_s` within `keepalive_timeout_s` is dead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True)

    address: StrictStr = "127.0.0.1:50051"
    message_bytes: Count = _DEFAULTS.message_bytes
    frame_bytes: Count = _DEFAULTS.frame_bytes
    calls_per_batch: Count = _DEFAULTS.calls_per_batch
    in_flight: Count = _DEFAULTS.in_flight
    history_size: Count = _DEFAULTS.history_size
    runs: Count = _DEFAULTS.runs
    run_ttl_s: Seconds = 900.0
    drain_grace_s: Seconds = 5.0
    keepalive_time_s: Seconds = 10.0
    keepalive_timeout_s: Seconds = 5.0
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    def limits(self) -> Limits:
        """Return what of it are limits."""
        return Limits(
            message_bytes=self.message_bytes,
            frame_bytes=self.frame_bytes,
            calls_per_batch=self.calls_per_batch,
            in_flight=self.in_flight,
            history_size=self.history_size,
            runs=self.runs,
        )


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
    values |= _checked(_from_environment(environment), PREFIX, camel=False)
    values |= _checked({name: value for name, value in flags.items() if value is not None}, "--", camel=False)
    return Settings(**values), configuration


def check_table(configuration: Configuration) -> dict[str, Any]:
    """Return what the file says under `loopguard.server`, by field. Raises `InvalidConfig`."""
    return _checked(configuration.server, "loopguard.server.", camel=True)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for variable, text in environment.items():
        name = variable.removeprefix(PREFIX)
        if name == variable or name in _NOT_FIELDS:
            continue
        field = Settings.model_fields.get(name.lower())
        if field is None:
            raise InvalidConfig(variable, f"unknown environment variable `{variable}`")
        values[name.lower()] = _number(text) if field.annotation in (int, float) else text
    return values


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _checked(values: Mapping[str, Any], source: str, *, camel: bool) -> dict[str, Any]:
    """Check one source by itself, so that the message can name the key as it stands there."""
    try:
        settings = Settings.model_validate(dict(values), by_alias=camel, by_name=not camel)
    except ValidationError as mistake:
        first = mistake.errors(include_url=False, include_context=False)[0]
    else:
        return settings.model_dump(exclude_unset=True)
    name = str(first["loc"][0])
    key = f"{source}{name if camel else name.upper() if source == PREFIX else name.replace('_', '-')}"
    path = ("loopguard", "server", name) if camel else ()
    if first["type"] == "extra_forbidden":
        raise InvalidConfig(key, f"unknown key `{key}`", path)
    raise InvalidConfig(key, f"`{key}`: {first['msg'][0].lower()}{first['msg'][1:]}, not {first['input']!r}", path)
