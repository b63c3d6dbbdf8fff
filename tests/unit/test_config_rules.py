"""Rules of a configuration file are asked before those that ship, in every profile and on every road."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loopguard import cli
from loopguard.cli.vector_roads import LibraryRoad
from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.errors import InvalidConfig
from loopguard.model import Call, Outcome, Record

if TYPE_CHECKING:
    from pathlib import Path

TICKET = {"name": "ticket", "tools": ["book"], "drop": ["result.ticket"]}
BROKEN = {**TICKET, "differ": ['{"result": {"ticket": 1}}', '{"result": {"ticket": 2}}']}


def configured(*rules: dict[str, Any], **own: Any) -> Configuration:
    block = {"enabled": True, "warningThreshold": 2, "criticalThreshold": 3}
    return Configuration.from_text(
        json.dumps({"tools": {"loopDetection": block}, "loopguard": {"rules": list(rules), **own}}), "f.json5"
    )


def outcomes(engine: Engine, profile: str) -> set[bytes | None]:
    fingerprinter = engine.fingerprinter(profile)
    call = fingerprinter.call(Call("book", b"{}"))
    return {
        fingerprinter.outcome(call, Outcome(result=b'{"seat": 4, "ticket": %d}' % ticket)).digest for ticket in range(3)
    }


@pytest.mark.parametrize("profile", ["openclaw", "balanced"])
def test_a_rule_counts_in_every_profile(profile: str) -> None:
    assert len(outcomes(Engine(configured(TICKET)), profile)) == 1
    assert len(outcomes(Engine(configured()), profile)) == 3


def test_a_run_is_judged_by_it() -> None:
    run = Engine(configured(TICKET)).open("r")
    run.record([Record("book", result=b'{"seat": 4, "ticket": %d}' % ticket) for ticket in range(3)])

    finding = run.judge([Call("book")])[0].finding

    assert finding is not None
    assert (finding.count, finding.level.value, finding.stripped) == (3, "critical", ("ticket",))


def test_balanced_has_the_rules_that_ship_for_it() -> None:
    engine = Engine(Configuration({"loopguard": {"profile": "balanced"}}))

    assert engine.fingerprinter() is engine.fingerprinter("balanced")
    assert engine.fingerprinter() is not engine.fingerprinter("openclaw")


def test_a_bad_rule_leaves_the_last_configuration_in_use() -> None:
    engine = Engine(good := configured(TICKET))

    with pytest.raises(InvalidConfig, match=r"f\.json5:1:\d+: unknown key `tols`") as refused:
        engine.configure(configured({"name": "x", "tols": ["y"]}))

    assert refused.value.key == "loopguard.rules.0.tols"
    assert engine.configuration is good
    assert len(outcomes(engine, "openclaw")) == 1


def test_examples_are_run_when_asked_for() -> None:
    engine = Engine(configured(TICKET, BROKEN | {"name": "broken"}))

    with pytest.raises(InvalidConfig) as refused:
        engine.check_examples()

    assert refused.value.key == "loopguard.rules.1.differ"


def test_an_example_that_is_no_record_is_refused() -> None:
    engine = Engine(configured(TICKET | {"equal": ["5", "{}"]}))

    with pytest.raises(InvalidConfig, match="no JSON object: 5"):
        engine.check_examples()


def test_vectors_are_played_with_the_rules_of_their_file() -> None:
    file = json.dumps({"loopguard": {"rules": [TICKET]}}).encode()
    records = [Record("book", result=b'{"ticket": %d}' % ticket) for ticket in range(2)]

    assert len(set(LibraryRoad(file).digests(records, ""))) == 1
    assert len(set(LibraryRoad(None).digests(records, ""))) == 2


def test_replay_and_explain_use_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f.json5").write_text(
        json.dumps({"tools": {"loopDetection": {"enabled": True}}, "loopguard": {"rules": [TICKET]}})
    )
    frames: list[dict[str, Any]] = [{"open": {"runId": "r"}}]
    for ticket in range(21):
        frames += [{"calls": [{"tool": "book"}]}, {"outcome": {"result": {"ticket": ticket}}}]
    trace = tmp_path / "t.jsonl"
    trace.write_text("\n".join(map(json.dumps, frames)))

    replayed = cli.run(["replay", str(trace), "--config", str(tmp_path / "f.json5")])
    code = cli.run(["explain", str(trace), "--config", str(tmp_path / "f.json5")])

    explained = capsys.readouterr().out
    assert (replayed, code) == (1, 0)
    assert "left out to find them equal: ticket" in explained
    assert "with 1 different outcomes" in explained
