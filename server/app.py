"""Runs the service until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING

from loopguard.errors import InvalidConfig

from . import loop
from .logs import logs_in_background, set_up_logs
from .parent import Parent
from .service import AddressUnavailable, Service, tell_guards
from .settings import load_settings

if TYPE_CHECKING:
    from loopguard.config import Configuration

    from .settings import Settings

__all__ = ["AddressUnavailable", "Service", "main", "run"]


def main() -> int:
    """Run the service as the environment says; return the exit code."""
    try:
        settings, configuration = load_settings()
    except InvalidConfig as mistake:
        sys.stderr.write(f"loopguard: {mistake}\n")
        return 2
    return run(settings, configuration)


def run(settings: Settings, configuration: Configuration) -> int:
    """Run the service until SIGTERM or SIGINT; return the exit code."""
    set_up_logs(settings.log_level, settings.log_format)
    try:
        with logs_in_background():
            loop.run(_run(settings, configuration))
    except (AddressUnavailable, InvalidConfig) as mistake:
        sys.stderr.write(f"loopguard: {mistake}\n")
        return 2
    return 0


async def _run(settings: Settings, configuration: Configuration) -> None:
    stopping = asyncio.Event()
    service = Parent(settings, configuration) if settings.workers > 1 else Service(settings, configuration)
    running = asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        running.add_signal_handler(signal_number, stopping.set)
    running.add_signal_handler(signal.SIGHUP, service.reload_soon)
    tell_guards(configuration)
    starting = asyncio.create_task(service.start())
    told = asyncio.create_task(stopping.wait())
    if isinstance(service, Parent):
        # Its workers take a while, and whoever wants it to go waits for none of them.
        await asyncio.wait((starting, told), return_when=asyncio.FIRST_COMPLETED)
    if told.done() and not starting.done():
        starting.cancel()
    else:
        address = await starting
        sys.stdout.write(f"loopguard listening on {address}\n")
        sys.stdout.flush()
        await told
    await service.stop()
