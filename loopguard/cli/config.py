"""`loopguard config`: checks a configuration file, shows what is in effect, prints the schema for editors."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopguard.cli.app import Failure
from loopguard.cli.inputs import read_bytes
from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from loopguard.config import Configuration

app = typer.Typer(no_args_is_help=True, help="Check a configuration file, show what is in effect, print its schema.")

#: Top-level keys that are read; a key that stands twice elsewhere is nobody's business here.
_OURS = ("tools", "agents", "loopguard")

File = Annotated[str, typer.Argument(metavar="FILE", help="The configuration (JSON5), or - for standard input.")]


@app.command()
def check(file: File) -> int:
    """Check a configuration file; exits 2 if the service would refuse it."""
    text = _read(file)
    configuration = _load(text, file)
    _start(configuration, text, file)
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
    from loopguard.loop_detection import FIELDS

    configuration = _load(_read(file), file)
    effective, origins = configuration.effective(agent), configuration.origins(agent)
    rows = {key: (getattr(effective, field), origins[key]) for key, field in FIELDS.items()}
    if as_json:
        shown = {key: {"value": value, "from": origin} for key, (value, origin) in rows.items()}
        print(json.dumps({"profile": configuration.profile, "agent": agent, "loopDetection": shown}, indent=2))
        return 0
    if agent and agent not in configuration.agents:
        print(f"The file has no agent `{agent}`: the global values hold.")
    print(f"profile {configuration.profile}")
    _print_rows([(key, _shown(value), origin) for key, (value, origin) in rows.items()])
    return 0


@app.command()
def schema() -> int:
    """Print the JSON schema of the configuration file, for editors."""
    from loopguard.config_file import json_schema

    print(json.dumps(json_schema(), indent=2))
    return 0


def _read(file: str) -> str:
    try:
        return read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Failure(f"{file}: not UTF-8 (byte {error.start})") from None


def _load(text: str, file: str) -> Configuration:
    from loopguard.config import Configuration

    try:
        return Configuration.from_text(text, file)
    except InvalidConfig as error:
        message = str(error)
        raise Failure(message if message.startswith(file) else f"{file}: {message}") from None


def _start(configuration: Configuration, text: str, file: str) -> None:
    """Check what only the engine and the service know: profiles, and the settings under `loopguard.server`."""
    from loopguard.config_places import place_of
    from loopguard.engine import Engine
    from loopguard.server.settings import check_table

    try:
        Engine(configuration)
        check_table(configuration)
    except InvalidConfig as error:
        place = place_of(text, error.path) if error.path else None
        where = f"{file}:{place.line}:{place.column}" if place else file
        raise Failure(f"{where}: {error}") from None


def _twice(text: str) -> list[tuple[str, str]]:
    from loopguard.config_places import duplicate_keys

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
