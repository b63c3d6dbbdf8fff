"""The same frames get the same answers over every road: the library, a replay, and a server's stream."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from loopguard.server.app import Service
from loopguard.server.settings import Settings

from loopguard import cli
from loopguard.cli.vector_detection import Records, Vector, parse_vector
from loopguard.cli.vector_play import Answer, OpenRun, play_vector
from loopguard.cli.vector_roads import LibraryRoad, StreamRoad
from loopguard.client import GuardClient
from loopguard.config import Configuration
from loopguard.errors import InvalidConfig
from loopguard.model import Frame, Mode, Record, RunOpen, Verdict
from loopguard.trace import Place, format_frame, format_open

VECTORS = Path(__file__).parents[2] / "conformance" / "detect.jsonl"


@cache
def vectors() -> list[Vector]:
    lines = VECTORS.read_bytes().splitlines()
    return [parse_vector(line, Place(VECTORS.name, number)) for number, line in enumerate(lines, 1)]


def compares_records(vector: Vector) -> bool:
    return any(isinstance(act, Records) for step in vector.steps for act in step.acts)


def by_file() -> dict[bytes | None, list[Vector]]:
    """Return the vectors that have frames, by the configuration file of their service."""
    groups: dict[bytes | None, list[Vector]] = {}
    for vector in vectors():
        if not compares_records(vector):
            groups.setdefault(vector.config_file, []).append(vector)
    return groups


class Recorder:
    """The library's road, remembering what was sent and answered."""

    def __init__(self, config_file: bytes | None) -> None:
        self.road = LibraryRoad(config_file)
        self.runs: list[RecordedRun] = []

    def open(self, run: RunOpen) -> OpenRun:
        recorded = RecordedRun(run, self.road.open(run))
        self.runs.append(recorded)
        return recorded

    def digests(self, records: list[Record], profile: str) -> list[tuple[object, object]]:
        return self.road.digests(records, profile)


class RecordedRun:
    def __init__(self, opened: RunOpen, run: OpenRun) -> None:
        self.opened = opened
        self.run = run
        self.frames: list[tuple[Frame, float | None]] = []
        self.verdicts: list[tuple[str, Verdict]] = []

    def apply(self, frame: Frame, at: float | None = None) -> Answer:
        self.frames.append((frame, at))
        answer = self.run.apply(frame, at)
        if isinstance(answer, list):
            self.verdicts += [("call", verdict) for verdict in answer]
        elif isinstance(answer, Verdict):
            self.verdicts.append(("outcome", answer))
        return answer

    def lines(self, run_id: str) -> Iterator[str]:
        # A replay observes unless it is told otherwise, and a vector's run enforces.
        yield format_open(replace(self.opened, run_id=run_id, mode=self.opened.mode or Mode.ENFORCE))
        for frame, at in self.frames:
            yield format_frame(frame, at)


@contextmanager
def server(config_file: bytes | None) -> Iterator[str]:
    """Run a service with this configuration file on a free port of the loopback interface."""
    text = config_file.decode() if config_file is not None else "{}"
    started: list[str] = []
    ready = threading.Event()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        stopping = asyncio.Event()
        stop.append((asyncio.get_running_loop(), stopping))
        service = Service(Settings(address="127.0.0.1:0", drain_grace_s=0.0), Configuration.from_text(text))
        started.append(await service.start())
        ready.set()
        await stopping.wait()
        await service.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(30)
        yield started[0]
    finally:
        loop, stopping = stop[0]
        loop.call_soon_threadsafe(stopping.set)
        thread.join()


def play(vector: Vector, road: Recorder | StreamRoad) -> list[str]:
    return [str(mismatch) for mismatch in play_vector(vector, lambda _: road)]


def test_the_library_gives_the_expected_answers() -> None:
    failed = {vector.name: found for vector in vectors() if (found := play_vector(vector, LibraryRoad))}

    assert failed == {}
    assert len(vectors()) >= 120


def test_a_stream_gives_the_expected_answers() -> None:
    failed: dict[str, list[str]] = {}
    played = 0
    for config_file, group in by_file().items():
        if is_refused(config_file):
            continue
        with server(config_file) as address, GuardClient(address, deadline_s=30, on_unavailable="block") as client:
            for vector in group:
                road = StreamRoad(client)
                if found := play(vector, road):
                    failed[vector.name] = found
                road.close()
                played += 1

    assert failed == {}
    assert played >= 100


def is_refused(config_file: bytes | None) -> bool:
    """Tell whether no service can start with this file; its vectors expect that of the library too."""
    try:
        LibraryRoad(config_file)
    except InvalidConfig:
        return True
    return False


def test_the_command_plays_on_a_server_what_any_server_can_play(capsys: pytest.CaptureFixture[str]) -> None:
    with server(None) as address:
        code = cli.run(["conformance", "--server", address, str(VECTORS)])

    played = sum(vector.streams for vector in vectors())
    left_out = len(vectors()) - played
    assert code == 0
    assert capsys.readouterr().out == (
        f"{played} passed, 0 failed, {left_out} left out (they need a server of their own)\n"
    )


def test_a_replay_gives_the_answers_of_the_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared = 0
    for config_file, group in by_file().items():
        recorded = [run for vector in group for run in record(vector)]
        if not recorded:
            continue
        (tmp_path / "config.json5").write_bytes(config_file or b"{}")
        named = {f"{index}": run for index, run in enumerate(recorded)}
        lines = (line for run_id, run in named.items() for line in run.lines(run_id))
        (tmp_path / "trace.jsonl").write_text("\n".join(lines), encoding="utf-8")

        code = cli.run(["replay", "--json", "--config", str(tmp_path / "config.json5"), str(tmp_path / "trace.jsonl")])

        answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [brief(answer) for answer in answers] == [
            (run_id, on, verdict.call_id, *found(verdict))
            for run_id, run in named.items()
            for on, verdict in run.verdicts
        ]
        assert code == int(any(answer["action"] in ("BLOCK", "ABORT") for answer in answers))
        compared += len(answers)

    assert compared >= 1000


def record(vector: Vector) -> list[RecordedRun]:
    """Return the runs of a vector as the library played them."""
    if vector.expect_error is not None:
        return []
    road = Recorder(vector.config_file)
    play(vector, road)
    return road.runs


def found(verdict: Verdict) -> tuple[object, ...]:
    finding = verdict.finding
    named = (finding.detector, finding.level.value, finding.count) if finding else (None, None, None)
    return (verdict.action.value, *named)


def brief(answer: dict[str, object]) -> tuple[object, ...]:
    return tuple(answer.get(key) for key in ("runId", "on", "callId", "action", "detector", "level", "count"))
