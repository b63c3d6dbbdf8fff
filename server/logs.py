"""Logs on stderr: one JSON object a line, or text for people."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import sys
import threading
from logging.handlers import QueueHandler, QueueListener
from typing import TYPE_CHECKING, Any, Final

import structlog

if TYPE_CHECKING:
    from collections.abc import Iterator

#: How many lines may wait to be written, and how long an exit waits for them.
_LINES: Final = 10_000
_FLUSH_S: Final = 2.0

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


class _Descriptor:
    """Writes to a file descriptor, without a buffer that a full disk would fill."""

    def __init__(self, number: int) -> None:
        self._number = number

    def write(self, text: str) -> int:
        data = text.encode(errors="backslashreplace")
        while data:
            data = data[os.write(self._number, data) :]
        return len(text)

    def flush(self) -> None:
        """Have nothing to flush."""


class _Queueing(QueueHandler):
    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        # Lines that don't fit are lost: whoever reads the log must not hold up verdicts.
        with contextlib.suppress(queue.Full):
            self.queue.put_nowait(record)


class _Listener(QueueListener):
    def enqueue_sentinel(self) -> None:
        waiting: Any = self.queue
        waiting.put(None)


@contextlib.contextmanager
def logs_in_background() -> Iterator[None]:
    """Let a thread write the log to the process's stderr, so that nobody waits for a disk or a reader of the log."""
    root = logging.getLogger()
    writing = root.handlers[:]
    for handler in writing:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(_Descriptor(sys.stderr.fileno()))
    waiting: queue.Queue[Any] = queue.Queue(_LINES)
    listener = _Listener(waiting, *writing)
    root.handlers[:] = [_Queueing(waiting)]
    # A log that can't be written has nowhere to say so.
    logging.raiseExceptions = False
    listener.start()
    try:
        yield
    finally:
        stopping = threading.Thread(target=listener.stop, daemon=True)
        stopping.start()
        stopping.join(_FLUSH_S)
        if stopping.is_alive():
            # It would wait for the handler's lock, and so for a reader of the log.
            atexit.unregister(logging.shutdown)


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
