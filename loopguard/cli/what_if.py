"""Configurations for what-if: a file, or the default of the command line, with single keys set otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyjson5

from loopguard.balanced_limits import KEYS
from loopguard.cli.app import Failure
from loopguard.cli.inputs import read_bytes
from loopguard.config import Configuration, load_configuration
from loopguard.config.loop_detection import FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence


#: Keys of `tools.loopDetection` that every profile reads.
_OF_ALL = frozenset({"enabled", "failOpen", "postCompactionGuard.windowSize"})
_KEYS_OF = {"openclaw": frozenset(FIELDS), "balanced": _OF_ALL | frozenset(KEYS)}


def configure(path: str, settings: Sequence[str], profiles: Sequence[str] = ()) -> Configuration:
    """Return the configuration of a file (none: detection on, defaults) with `KEY=VALUE` settings laid over it.

    A key is one of `tools.loopDetection` or one of `loopguard.profiles.balanced`; `balanced.KEY` names the latter
    only. One that none of `profiles` reads is refused; "" stands for the configuration's own, no profiles for any.
    Raises `InvalidConfig` and `Failure`.
    """
    if not settings:
        return load_configuration(path) if path else Configuration.guarded()
    data: dict[str, Any] = {"tools": {"loopDetection": {"enabled": True}}}
    if path:
        load_configuration(path)
        data = pyjson5.decode(read_bytes(path).decode("utf-8-sig"))
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise Failure(f"--set {setting}: write KEY=VALUE")
        table, name = _home(data, key.strip())
        table[name] = _value(value.strip())
    configuration = Configuration(data, path or "--set")
    _refuse_idle(settings, {name or configuration.profile for name in profiles})
    return configuration


def _refuse_idle(settings: Sequence[str], profiles: set[str]) -> None:
    # A profile that does not exist is told by the engine.
    if not profiles or not profiles <= _KEYS_OF.keys():
        return
    for setting in settings:
        key = setting.partition("=")[0].strip()
        if not any(key.removeprefix("balanced.") in _KEYS_OF[name] for name in profiles):
            raise Failure(f"--set {key}: profile {' and '.join(sorted(profiles))} has no such key")


def _home(data: dict[str, Any], key: str) -> tuple[dict[str, Any], str]:
    if key in FIELDS:
        table = _table(data, "tools", "loopDetection")
        *inner, name = key.split(".")
        return _table(table, *inner), name
    name = key.removeprefix("balanced.")
    if name in KEYS:
        return _table(data, "loopguard", "profiles", "balanced"), name
    raise Failure(f"--set {key}: there is no such key; there are {', '.join((*FIELDS, *KEYS))}")


def _table(data: dict[str, Any], *path: str) -> dict[str, Any]:
    for key in path:
        inner = data.get(key)
        if not isinstance(inner, dict):
            inner = data[key] = {}
        data = inner
    return data


def _value(text: str) -> object:
    try:
        return pyjson5.decode(text)
    except pyjson5.Json5DecoderException:
        return text
