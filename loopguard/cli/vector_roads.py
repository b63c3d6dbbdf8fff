"""The roads over which vectors are played: the engine in this process, and a server's stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.fingerprint import default_fingerprinter

if TYPE_CHECKING:
    from loopguard.model import Record, RunOpen
    from loopguard.run import Run


class LibraryRoad:
    """Plays on an engine of its own; without a configuration file nothing is set globally."""

    def __init__(self, config_file: bytes | None) -> None:
        """Read the text of a configuration file. Raises `InvalidConfig`."""
        text = None if config_file is None else config_file.decode()
        self.configuration = Configuration.empty() if text is None else Configuration.from_text(text, "configFile")
        # A clock that stands still: elapsed time counts only where a frame has `at`.
        self.engine = Engine(self.configuration, now=lambda: 0.0)

    def open(self, run: RunOpen) -> Run:
        """Open a run."""
        return self.engine.open(run)

    def digests(self, profile: str, records: list[Record]) -> list[tuple[object, object]]:  # noqa: ARG002
        """Return for every record the identity of its call and of its outcome."""
        fingerprinter = default_fingerprinter()
        found: list[tuple[object, object]] = []
        for record in records:
            call = fingerprinter.call(record)
            found.append(((call.tool, call.digest), fingerprinter.outcome(call, record).digest))
        return found
