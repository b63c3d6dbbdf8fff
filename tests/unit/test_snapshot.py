"""What a snapshot holds, how large it is, and what is refused."""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING, Any

import pytest
import xxhash

from loopguard._pack import Reader, Writer
from loopguard.balanced.run import BalancedRun
from loopguard.config import Configuration
from loopguard.course import Course
from loopguard.engine import Engine
from loopguard.errors import InvalidFrame, InvalidSnapshot
from loopguard.model import Call, CallBatch, Mode, Outcome, RunOpen
from loopguard.snapshot import VERSION, dump_run
from tests.unit.balanced_runs import open_balanced
from tests.unit.balanced_runs import play as play_balanced
from tests.unit.run_state import assert_equal_runs
from tests.unit.runs import FAILURE, call, guarded, play

if TYPE_CHECKING:
    from loopguard.balanced.watch import Watch
    from loopguard.run import Run


def restore(snapshot: bytes, run_id: str = "run", engine: Engine | None = None, tenant: str = "") -> Run:
    engine = Engine(Configuration.empty()) if engine is None else engine
    return engine.restore(snapshot, run_id=run_id, tenant=tenant)


def looping() -> Run:
    run = guarded()
    play(run, times=4)
    play(run, FAILURE, tool="exec", times=2)
    run.compaction_retry()
    run.judge([call(), call("exec"), call("write")])
    return run


def resealed(written: bytes) -> bytes:
    return written + xxhash.xxh3_64_digest(written)


def test_how_a_run_was_opened_is_kept() -> None:
    engine = Engine(Configuration.empty())
    config = {"enabled": True, "historySize": 50, "detectors": {"pingPong": False}, "failOpen": True}
    opened = RunOpen("r é", agent_id="coder", parent_run_id="above", config=config, mode=Mode.OBSERVE)
    run = engine.open(opened, tenant="acme")

    again = restore(dump_run(run), "r é", tenant="acme")

    assert_equal_runs(again, run)
    assert (again.run_id, again.tenant, again.agent_id, again.parent_run_id) == ("r é", "acme", "coder", "above")
    assert (again.mode, again.config) == (Mode.OBSERVE, run.config)


def test_what_the_file_said_about_tools_is_kept() -> None:
    tools = {"exec": {"exempt": True}, "poll": {"poll": ["wait"]}, "read": {"warningThreshold": 2}}
    told = {"tools": {"loopDetection": {"enabled": True}}, "loopguard": {"tools": tools}}
    run = Engine(Configuration(told)).open("run")

    again = restore(dump_run(run))

    assert again.config.tools == run.config.tools
    play(again, times=2)
    assert again.judge([call()], dry_run=True)[0].finding is not None


def test_a_restored_run_is_found_by_its_id_and_replaces_another_one() -> None:
    engine = Engine(Configuration.empty())
    run = engine.open("run")
    snapshot = dump_run(run)

    again = engine.restore(snapshot, run_id="run")

    assert engine.run("run") is again is not run
    assert len(engine) == 1


def test_a_full_history_takes_less_than_2500_bytes() -> None:
    run = guarded(historySize=30)
    for number in range(100):
        call_id = f"toolu_01A09q90qw90lq917835lq9{number:03}"
        run.judge([Call("some_tool_or_other", b'{"n": %d}' % number, call_id)])
        run.observe(Outcome(call_id, result=b'"%d"' % number))

    assert len(dump_run(run)) < 2_500


@pytest.mark.parametrize("parent_is_here", [True, False])
def test_tasks_are_counted_up_through_restored_runs(parent_is_here: bool) -> None:
    def spawn(run: Run) -> Any:
        told = run.apply(CallBatch([Call("sessions_spawn", b'{"task": "port the parser of module seven to rust"}')]))
        assert isinstance(told, list)
        return told[0].finding and told[0].finding.count

    engine = Engine(Configuration.empty())
    above = open_balanced(engine=engine, run_id="above")
    spawn(above)
    child = open_balanced(engine=engine, run_id="child", parent="above")
    other = Engine(Configuration.empty())
    if parent_is_here:
        restore(dump_run(above), "above", other)

    again = restore(dump_run(child), "child", other)

    assert spawn(again) == spawn(child) == 2


def test_a_parent_that_comes_back_after_its_child_is_the_child_s_parent() -> None:
    engine = Engine(Configuration.empty())
    above = open_balanced(engine=engine, run_id="above")
    child = open_balanced(engine=engine, run_id="child", parent="above")
    other = Engine(Configuration.empty())
    child_again = restore(dump_run(child), "child", other)

    task = Call("sessions_spawn", b'{"task": "port the parser of module seven to rust"}')
    restore(dump_run(above), "above", other).judge([task])

    finding = child_again.judge([task])[0].finding
    assert finding is not None
    assert finding.count == 2


def test_other_versions_are_refused() -> None:
    snapshot = dump_run(guarded())

    for version in (*range(VERSION), VERSION + 1):
        with pytest.raises(InvalidSnapshot, match=f"version {version}; this loopguard reads version {VERSION}"):
            restore(resealed(bytes([version]) + snapshot[1:-8]))


def test_snapshots_of_other_runs_are_refused() -> None:
    engine = Engine(Configuration.empty())
    snapshot = dump_run(engine.open("run", tenant="acme"))

    for run_id, tenant in (("other", "acme"), ("run", "zeta")):
        with pytest.raises(InvalidSnapshot, match="of another run"):
            restore(snapshot, run_id, tenant=tenant)


def test_more_history_than_an_engine_keeps_is_refused() -> None:
    snapshot = dump_run(guarded(historySize=200))

    with pytest.raises(InvalidSnapshot, match="must be at most 100 here"):
        restore(snapshot, engine=Engine(Configuration.empty(), history_limit=100))


@pytest.mark.parametrize("snapshot", [b"", b"\x01", b"no snapshot at all"])
def test_what_is_no_snapshot_is_refused(snapshot: bytes) -> None:
    with pytest.raises(InvalidSnapshot, match="cut or changed"):
        restore(snapshot)


def test_every_changed_bit_is_noticed() -> None:
    snapshot = dump_run(looping())

    for place in range(len(snapshot)):
        changed = bytearray(snapshot)
        changed[place] ^= 1 << place % 8
        with pytest.raises(InvalidSnapshot):
            restore(bytes(changed))
    for size in range(len(snapshot)):
        with pytest.raises(InvalidSnapshot):
            restore(snapshot[:size])


def balanced() -> Run:
    run = open_balanced()
    play_balanced(run, [("bash", {"command": "make"}, "!no rule to make target")] * 5)
    play_balanced(run, [("read", {"path": "a", "start_line": 1, "end_line": 9}, "some lines of text")] * 3)
    play_balanced(run, [("grep", {"pattern": "a", "n": number}, f"{number} of 90 hits") for number in range(4)])
    play_balanced(run, [("wait", {"seconds": 40}, "not yet")] * 4, at=[0.0, 5.0, 60.0, 130.0])
    return run


def watch_of(run: Run) -> Watch:
    assert isinstance(run, BalancedRun)
    assert run._watch is not None
    return run._watch


@pytest.mark.parametrize("build", [looping, balanced])
def test_hostile_bytes_with_the_right_sum_restore_a_run_or_are_refused(build: Any) -> None:
    chance = random.Random(1)
    written = dump_run(build())[:-8]
    refused = 0
    for _ in range(4_000):
        changed = bytearray(written)
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(changed))
            if chance.random() < 0.3:
                del changed[place : place + chance.randrange(1, 9)]
            else:
                changed[place] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
            if not changed:
                break
        engine = Engine(Configuration.empty())
        try:
            run = restore(resealed(bytes(changed)), engine=engine)
        except InvalidSnapshot:
            refused += 1
            continue
        if isinstance(run, BalancedRun) and run._watch is not None:
            try:
                run._watch.wake()
            except ValueError:
                refused += 1
                continue
        with contextlib.suppress(InvalidFrame):
            play(run, times=2)
        assert engine.failures == 0
    assert refused > 1_000


def test_a_run_whose_course_is_spoilt_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(Configuration.empty())
    run = restore(dump_run(balanced()), engine=engine)
    watch_of(run)._packed = b"\xff"

    told = play_balanced(run, [("bash", {"command": "make"}, "!no rule to make target")] * 5)

    assert told == play_balanced(open_balanced(), [("bash", {"command": "make"}, "!no rule to make target")] * 5)
    assert engine.failures == 1
    assert "reading what a run has done failed" in caplog.text


@pytest.mark.parametrize("place", range(8))
def test_a_course_believes_no_number_that_it_could_not_go_on_from(place: int) -> None:
    out = Writer()
    for number in range(8):
        out.number(2**60 if number == place else number)

    with pytest.raises(ValueError, match="where at most"):
        Course().unpack(Reader(out.written()))


def test_a_run_is_packed_once_between_two_changes() -> None:
    run = balanced()
    before = dump_run(run)
    packed = watch_of(run)._packed

    call_id = run.judge([Call("bash", b'{"command": "ls"}')])[0].call_id

    assert packed
    assert packed in before
    assert packed in dump_run(run)
    run.observe(Outcome(call_id, result=b'"a b c"'))
    assert packed not in dump_run(run)
    assert_equal_runs(restore(dump_run(run)), run)


def test_a_run_that_sleeps_is_written_as_it_was_read() -> None:
    snapshot = dump_run(balanced())
    again = restore(snapshot)

    assert watch_of(again).asleep
    assert dump_run(again) == snapshot
    assert watch_of(again).asleep


def test_a_full_history_of_balanced_takes_less_than_2500_bytes() -> None:
    run = open_balanced()
    for number in range(30):
        call_id = f"toolu_01A09q90qw90lq917835lq9{number:03}"
        args = b'{"command": "grep -rn part%d src/part%d.py | head", "explanation": "to see"}' % (number, number)
        run.judge([Call("bash", args, call_id)])
        run.observe(Outcome(call_id, result=b'"src/part%d.py: it is built with %d others"' % (number, number * 7)))

    assert len(dump_run(run)) < 2_500


def test_readers_believe_no_length() -> None:
    out = Writer()
    out.number(2**63)

    for read in ("count", "blob", "blobs", "text", "texts", "marks", "names", "optional_blob"):
        with pytest.raises(ValueError, match="left"):
            getattr(Reader(out.written()), read)()
    for read in ("mark", "name"):
        with pytest.raises(ValueError, match=r"thing .* of 0"):
            getattr(Reader(out.written()), read)()
    with pytest.raises(ValueError, match="more than 64 bits"):
        Reader(b"\xff" * 11).number()
    with pytest.raises(ValueError, match="nothing where a thing must be"):
        Reader(b"\1").name()
    with pytest.raises(ValueError, match="at most 0"):
        Reader(b"\0\1\1x").name()


def test_values_come_back() -> None:
    out = Writer()
    numbers, marks = [0, 1, 127, 128, 2**32, 2**64 - 1], [7, 0, 2**40 - 1, 7, 0, 7, 1]
    names = ["toolu_1", "toolu_2", "", "é", "è", "\ud800", "toolu_1", "tool", "\0"]
    for number in numbers:
        out.number(number)
    out.marks(marks)
    out.names(names)
    out.texts(["", "é", "\ud800", "\0"])
    out.optional(None)
    out.optional(0)
    out.optional_blob(None)
    out.optional_blob(b"")
    out.real(-0.25)
    out.flag(True)
    data = Reader(out.written())

    assert [data.number() for _ in numbers] == numbers
    assert data.marks() == marks
    assert data.names() == names
    assert data.texts() == ["", "é", "\ud800", "\0"]
    assert [data.optional(), data.optional(), data.optional_blob(), data.optional_blob()] == [None, 0, None, b""]
    assert (data.real(), data.flag(), data.left) == (-0.25, True, 0)


def test_what_comes_again_takes_a_byte() -> None:
    out = Writer()
    names = ["toolu_01A09q90qw90lq917835lq91", "toolu_01A09q90qw90lq917835lq92"]
    out.names(names)
    out.marks(range(2**39, 2**39 + 40))
    once = len(out.written())

    out.names(names)
    out.marks(range(2**39, 2**39 + 40))

    # A count each, and where the first of a lane is may be far away.
    assert len(out.written()) - once <= 1 + 2 + 1 + 40 + 2


def test_marks_have_a_size() -> None:
    with pytest.raises(ValueError, match="no mark"):
        Writer().mark(2**40)
