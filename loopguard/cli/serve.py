"""`loopguard serve`: runs the service."""

from __future__ import annotations

from typing import Annotated

import typer

LOOPBACK = "127.0.0.1"
PORT = 50051


def command(
    host: Annotated[
        str | None,
        typer.Option(metavar="HOST", help=f"The address to listen on \\[default: {LOOPBACK}].", show_default=False),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help=f"The port; 0 takes a free one \\[default: {PORT}].", show_default=False),
    ] = None,
    address: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Both in one; also unix:PATH.")] = None,
    config: Annotated[str | None, typer.Option(metavar="FILE", help="The configuration file.")] = None,
    log_level: Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve /metrics and /healthz there \\[default: nowhere].")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes that share the port.")] = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Where runs survive: sqlite:PATH or redis://… \\[default: memory]."),
    ] = None,
    durability: Annotated[
        str | None, typer.Option(metavar="WHEN", help="behind or sync: whether answers wait for the store.")
    ] = None,
    drain_grace: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="How long clients may finish after SIGTERM.")
    ] = None,
) -> int:
    """Run the service until SIGTERM or Ctrl-C. It prints `loopguard listening on HOST:PORT` once clients may come."""
    from loopguard.server.app import run
    from loopguard.server.settings import load_settings

    if address is not None and (host is not None or port is not None):
        raise typer.BadParameter("--address excludes --host and --port")
    if address is None and (host is not None or port is not None):
        bracketed = f"[{host}]" if host and ":" in host and not host.startswith("[") else host
        address = f"{bracketed or LOOPBACK}:{PORT if port is None else port}"
    settings, configuration = load_settings(
        config=config,
        address=address,
        log_level=log_level,
        drain_grace_s=drain_grace,
        metrics_address=metrics,
        workers=workers,
        store=store,
        durability=durability,
    )
    return run(settings, configuration)
