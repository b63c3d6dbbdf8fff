"""The `loopguard` command; it looks at its first word before it imports anything heavy."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Every command is a module of this package, imported when its word is the first one.
COMMANDS = ("serve", "replay", "tune", "explain", "conformance", "config", "hash", "bench", "doctor", "token", "tail")

#: The extra that a command needs, and the modules that are missing without it.
_NEEDS = {
    "serve": (
        "server",
        ("typer", "rich", "grpc", "google.protobuf", "grpc_health", "grpc_reflection", "structlog", "uvloop"),
    ),
    "tail": ("cli,client", ("typer", "rich", "json5", "grpc", "google.protobuf")),
}
_NEEDS_OF_ALL = ("cli", ("typer", "rich", "json5"))

INTERRUPTED = 130
BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 fine, 1 something would be blocked or failed, 2 bad usage or input."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    unheard = sys.stdout is None
    _replace_closed_streams()
    if unheard and arguments[:1] != ["serve"]:
        # A service speaks to its clients; of every other command only the code would be left.
        print("loopguard: standard output is closed", file=sys.stderr)
        sys.exit(2)
    try:
        code = run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit:
        # Nobody but rich ends us so, where the reader of a help is gone; it has dropped the output already.
        code = BROKEN_PIPE
    except BrokenPipeError:
        _drop_output()
        code = BROKEN_PIPE
    except OSError as error:
        _drop_output()
        print(f"loopguard: {error.strerror or error}", file=sys.stderr)
        code = 2
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code."""
    first = arguments[0] if arguments else ""
    if first in ("--version", "-V"):
        from loopguard import __version__

        print(f"loopguard {__version__}")
        return 0
    extra, modules = _NEEDS.get(first, _NEEDS_OF_ALL)
    missing = [module for module in modules if not _installed(module)]
    if missing:
        what = f"`loopguard {first}`" if first in COMMANDS else "the command line"
        print(
            f"loopguard: {what} needs the extra `{extra}`: pip install 'loopguard-grpc[{extra}]'"
            f" (missing: {', '.join(missing)})",
            file=sys.stderr,
        )
        return 2
    from loopguard.cli.app import run_app

    return run_app(arguments, [first] if first in COMMANDS else COMMANDS)


def _replace_closed_streams() -> None:
    # Python has `None` for a stream whose descriptor was closed; input stays so, for its readers to tell.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  # open until the end


def _drop_output() -> None:
    # The interpreter flushes at exit, which would complain a second time.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
