"""`loopguard config`: checks a configuration file, shows what is in effect, prints the schema for editors."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopguard.cli.app import Failure
from loopguard.cli.inputs import read_bytes
from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from loopguard.config import Configuration
    from loopguard.server.settings import Settings

app = typer.Typer(no_args_is_help=True, help="Check a configuration file, show what is in effect, print its schema.")

#: Top-level keys that are read; a key that stands twice elsewhere is nobody's business here.
_OURS = ("tools", "agents", "loopguard")

#: How pydantic calls a constraint -> how JSON schema does.
_LONG_NAMES = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}

File = Annotated[str, typer.Argument(metavar="FILE", help="The configuration (JSON5), or - for standard input.")]


@app.command()
def check(file: File) -> int:
    """Check a configuration file; exits 2 if the service would refuse it."""
    text = _read(file)
    configuration = _load(text, file)
    _start(configuration)
    twice = _twice(text)
    for key, where in twice:
        print(f"loopguard: {file}:{where}: the key `{key}` stands there twice; the last one would win", file=sys.stderr)
    if twice:
        return 2
    count = len(configuration.agents)
    agents = f", {count} agent{'s' if count > 1 else ''}" if count else ""
    print(f"{file}: fine (profile {configuration.profile}{agents})")
    if configuration.ignored:
        print(f"ignored, because they belong to others: {', '.join(map(str, configuration.ignored))}")
    return 0


@app.command()
def show(
    file: File,
    agent: Annotated[str, typer.Option("--agent", metavar="ID", help="Show what is in effect for this agent.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> int:
    """Show the effective values and where each of them comes from."""
    from loopguard.config.loop_detection import FIELDS

    configuration = _load(_read(file), file)
    effective, origins = configuration.effective(agent), configuration.origins(agent)
    rows = {key: (getattr(effective, field), origins[key]) for key, field in FIELDS.items()}
    thresholds = _thresholds(configuration) if configuration.profile == "balanced" else {}
    if thresholds and rows["enabled"][0] is None:
        rows["enabled"] = (True, "default")
    if as_json:
        told: dict[str, Any] = {"profile": configuration.profile, "agent": agent, "loopDetection": _by_key(rows)}
        if thresholds:
            told["profiles"] = {configuration.profile: _by_key(thresholds)}
        print(json.dumps(told, indent=2))
        return 0
    if agent and agent not in configuration.agents:
        print(f"The file has no agent `{agent}`: the global values hold.")
    print(f"profile {configuration.profile}")
    rows |= {f"profiles.balanced.{key}": row for key, row in thresholds.items()}
    _print_rows([(key, _shown(value), origin) for key, (value, origin) in rows.items()])
    return 0


def _thresholds(configuration: Configuration) -> dict[str, tuple[Any, str]]:
    """Return the thresholds of profile `balanced` in effect, and where each comes from."""
    from loopguard.balanced_limits import KEYS, build_limits

    table = configuration.profiles.get("balanced", {})
    limits = build_limits(table)
    rows = {key: (getattr(limits, field), "global" if key in table else "default") for key, field in KEYS.items()}
    classes = {name: tool_class.name.lower() for name, tool_class in limits.classes.items()}
    return rows | {"classes": (classes, "global" if classes else "default")}


def _by_key(rows: dict[str, tuple[Any, str]]) -> dict[str, dict[str, Any]]:
    return {key: {"value": value, "from": origin} for key, (value, origin) in rows.items()}


@app.command()
def schema() -> int:
    """Print the JSON schema of the configuration file, for editors."""
    from loopguard.config.schema import json_schema
    from loopguard.rules.schema import rule_schema

    print(json.dumps(json_schema(rules=rule_schema(), server=_server_schema()), indent=2))
    return 0


def _server_schema() -> dict[str, Any]:
    from loopguard.server.settings import LimitSettings, ServerSettings

    schema, limits = (model.model_json_schema(by_alias=True) for model in (ServerSettings, LimitSettings))
    schema["properties"]["limits"] = limits
    standard: dict[str, Any] = _without_short_names(schema)
    return standard


def _without_short_names(schema: Any) -> Any:
    """Return a schema with JSON schema's own words where pydantic leaves those of its constraints."""
    if isinstance(schema, list):
        return [_without_short_names(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {_LONG_NAMES.get(key, key): _without_short_names(value) for key, value in schema.items()}


def _read(file: str) -> str:
    try:
        return read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Failure(f"{file}: not UTF-8 (byte {error.start})") from None


def _load(text: str, file: str) -> Configuration:
    from loopguard.config import Configuration

    return Configuration.from_text(text, file)


def _start(configuration: Configuration) -> None:
    """Check what only the engine and the service know: rules with their examples, `loopguard.server`, its limits."""
    from loopguard.engine import Engine
    from loopguard.server.settings import Settings, check_table
    from loopguard.store import open_store

    settings = Settings(**check_table(configuration))
    engine = Engine(configuration, history_limit=settings.limits().history_size)
    engine.check_examples()
    with configuration.placing():
        open_store(settings.store, ttl_s=settings.run_ttl_s, clock=time.time)
        try:
            _check_access(settings)
        except InvalidConfig as mistake:
            raise InvalidConfig(mistake.key, str(mistake), tuple(mistake.key.split("."))) from None


def _check_access(settings: Settings) -> None:
    """Check who could reach a service and with which files it would let them in, as its start does."""
    from loopguard.server.exposure import check_exposure
    from loopguard.server.tokens import Tokens

    check_exposure(settings)
    if settings.tokens_file is not None:
        Tokens.load(settings.tokens_file)
    if settings.tls_certificate is not None:
        from loopguard.server.certificates import Certificate

        Certificate.load(settings)


def _twice(text: str) -> list[tuple[str, str]]:
    from loopguard.config.places import duplicate_keys

    found = duplicate_keys(text)
    return [(key, f"{place.line}:{place.column}") for key, place in found if key.split(".")[0] in _OURS]


def _shown(value: Any) -> str:
    return "not set" if value is None else json.dumps(value)


def _print_rows(rows: list[tuple[str, str, str]]) -> None:
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("Key", "Value", "From"):
        table.add_column(heading)
    for key, value, origin in rows:
        table.add_row(key, value, origin, style="dim" if origin == "default" else "")
    Console().print(table)
