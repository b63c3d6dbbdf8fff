"""The roads over which vectors are played: the engine in this process, and a server's stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.errors import InvalidInput
from loopguard.model import CallBatch, Frame, History, Outcome, Signal

if TYPE_CHECKING:
    from loopguard.cli.vector_play import Answer
    from loopguard.client import GuardClient, GuardRun
    from loopguard.model import Record, RunOpen
    from loopguard.run import Run


class LibraryRoad:
    """Plays on an engine of its own; without a configuration file nothing is set globally."""

    def __init__(self, config_file: bytes | None) -> None:
        """Read the text of a configuration file. Raises `InvalidConfig`."""
        text = None if config_file is None else config_file.decode()
        configuration = Configuration.empty() if text is None else Configuration.from_text(text, "configFile")
        # A clock that stands still: elapsed time counts only where a frame has `at`.
        self._engine = Engine(configuration, now=lambda: 0.0)

    def open(self, run: RunOpen) -> Run:
        """Open a run."""
        return self._engine.open(run)

    def digests(self, records: list[Record], profile: str) -> list[tuple[object, object]]:
        """Return for every record the identity of its call and of its outcome."""
        fingerprinter = self._engine.fingerprinter(profile)
        found: list[tuple[object, object]] = []
        for record in records:
            call = fingerprinter.call(record)
            found.append(((call.tool, call.digest), fingerprinter.outcome(call, record).digest))
        return found


class StreamRoad:
    """Plays on a server, which has to be started with the vector's configuration file."""

    def __init__(self, client: GuardClient) -> None:
        self._client = client
        self._runs: list[GuardRun] = []

    def open(self, run: RunOpen) -> StreamRun:
        """Open a run. Raises `InvalidConfig` if the server or the translation of its configuration refuses it."""
        opened = self._client.open_run(
            run.run_id,
            agent_id=run.agent_id,
            parent_run_id=run.parent_run_id,
            config=run.config,
            mode=run.mode,
            profile=run.profile,
            digest_scheme=run.digest_scheme,
        )
        self._runs.append(opened)
        return StreamRun(opened)

    def digests(self, records: list[Record], profile: str) -> list[tuple[object, object]]:  # noqa: ARG002 - a road's face
        """Refuse: a server answers no question about the digests of records."""
        raise InvalidInput(f"{len(records)} records can't be compared over a stream")

    def close(self) -> None:
        """Close the runs that were opened."""
        for run in self._runs:
            run.close()


class StreamRun:
    """A run over a stream; the client stamps the time of every frame itself."""

    def __init__(self, run: GuardRun) -> None:
        self._run = run

    def apply(self, frame: Frame, at: float | None = None) -> Answer:  # noqa: ARG002 - see above
        """Send one frame and return what answers it."""
        run = self._run
        match frame:
            case CallBatch():
                return run.check(frame.calls) if frame.dry_run else run.judge(frame.calls)
            case Outcome():
                return run.report(frame)
            case History():
                run.record(frame)
            case Signal():
                tell: dict[Signal, Any] = {
                    Signal.USER_MESSAGE: run.user_message,
                    Signal.COMPACTION_RETRY: run.compaction_retry,
                    Signal.CLOSE: run.close,
                }
                tell[frame]()
        return None
