"""Builds the command line from the commands' modules and turns what goes wrong into one line and an exit code."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from loopguard.cli.plain_text import plain
from loopguard.errors import GuardUnavailable, InvalidInput, RunRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BROKEN_PIPE = 141
INTERRUPTED = 130
BAD_INPUT = 2

#: Only some ways to use a command need these, so it is not asked for them beforehand.
_CLIENT_PACKAGES = ("grpc", "google")


class Failure(Exception):
    """A command can't go on; the message is shown as it is and the exit code is 2."""


def run_app(arguments: list[str], commands: Sequence[str]) -> int:
    """Run `arguments` with only the named commands loaded; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app = build_app(commands)
    try:
        code = app(arguments, prog_name="loopguard", standalone_mode=False)
    except Exception as error:
        # typer carries its own copy of click or uses the installed one; both tell usage errors by this method.
        if not hasattr(error, "format_message"):
            raise
        message = " ".join(error.format_message().split())
        if not message:
            # Called without a command: the help was printed instead.
            return BAD_INPUT
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "loopguard"
        return _complain(f"{message} (`{path} --help` tells more)")
    return code if isinstance(code, int) else 0


def build_app(commands: Sequence[str]) -> typer.Typer:
    """Return the command line with the named commands; a module has one `command` or an `app` of several."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(_about)
    for name in commands:
        module = import_module(f"loopguard.cli.{name}")
        if hasattr(module, "app"):
            for registered in module.app.registered_commands:
                registered.callback = guarded(registered.callback)
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(guarded(module.command))
    return app


def guarded(command: Callable[..., int | None]) -> Callable[..., int]:
    """Wrap a command so that bad input, a closed pipe and an interrupt end it without a traceback."""

    @functools.wraps(command)
    def call(*args: Any, **kwargs: Any) -> int:
        try:
            code = command(*args, **kwargs) or 0
            sys.stdout.flush()
        except BrokenPipeError:
            _drop_output()
            return BROKEN_PIPE
        except KeyboardInterrupt:
            return INTERRUPTED
        except (Failure, InvalidInput, GuardUnavailable, RunRefused) as error:
            return _complain(str(error))
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in _CLIENT_PACKAGES:
                raise
            return _complain(
                f"this needs the extra `client`: pip install 'loopguard-grpc[client]' (missing: {package})"
            )
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            return _complain(f"{place}{error.strerror or error}")
        return code

    return call


def _about(
    version: bool = typer.Option(False, "--version", "-V", help="Show the version and exit."),
) -> None:
    """Tell an agent gateway, call by call, whether an agent is stuck."""


def _complain(message: str) -> int:
    with contextlib.suppress(BrokenPipeError):
        # What was printed already comes first where both go to one terminal.
        sys.stdout.flush()
    print(plain(f"loopguard: {message}"), file=sys.stderr)
    return BAD_INPUT


def _drop_output() -> None:
    # The interpreter flushes at exit; without a live descriptor that would complain a second time.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
