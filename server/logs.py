"""Logs on stderr: one JSON object a line, or text for people."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

_log = logging.getLogger("loopguard.server")


def set_up_logs(level: str, form: str = "json") -> None:
    """Send the standard library's log records, with what stands in their `extra`, through structlog."""
    before: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=before,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _renderer(form),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())


def _renderer(form: str) -> Any:
    if form == "console":
        return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    return structlog.processors.JSONRenderer(ensure_ascii=False)


def log_failure(doing: str, failure: Exception, run_id: str = "") -> None:
    """Log a failure of our own by its kind and place; not its text, which may quote arguments."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "?"
    _log.error("%s failed: %s at %s", doing, type(failure).__name__, where, extra={"run_id": run_id})
