from __future__ import annotations

from loopguard.server.metrics import COUNTERS, GAUGES, build_registry
from loopguard.server.tally import BOUNDS_S, Tally, add_up
from prometheus_client import generate_latest

from loopguard._intake import Latencies
from loopguard.model import Action, Finding, Flag, Level, Verdict


def test_verdicts_are_told_apart() -> None:
    tally = Tally()
    finding = Finding("ping_pong", Level.WARNING, 3, 3)

    tally.judge([Verdict("a"), Verdict("b", Action.ALLOW, finding), Verdict("c", Action.BLOCK, finding)])
    tally.judge([Verdict("d", Action.BLOCK)])
    tally.observe(Verdict("a"))
    tally.observe(Verdict("b", Action.ABORT, finding, flags=Flag.OPAQUE | Flag.BIGINT))

    samples = {(name, labels): value for name, labels, value in tally.samples()}
    verdicts = {labels: value for (name, labels), value in samples.items() if name == "loopguard_verdicts"}
    assert verdicts == {
        ("ALLOW", ""): 1,
        ("ALLOW", "ping_pong"): 1,
        ("BLOCK", "ping_pong"): 1,
        ("BLOCK", ""): 1,
        ("ABORT", "ping_pong"): 1,
    }
    assert samples["loopguard_opaque_json", ()] == 1


def test_a_latency_falls_into_the_first_bucket_that_holds_it() -> None:
    latencies = Latencies(BOUNDS_S)

    for seconds in (0.0, BOUNDS_S[0], BOUNDS_S[0] * 1.01, 10.0):
        latencies.add(seconds)

    assert (latencies.counts[0], latencies.counts[1], latencies.counts[-1]) == (2, 1, 1)
    assert latencies.sum_s > 10


def test_processes_are_added_up() -> None:
    one = [("a", ("x",), 1), ("h", (), ((1, 0), 0.5))]
    other = [("a", ("x",), 2), ("a", ("y",), 4), ("h", (), ((0, 2), 1.5))]

    together = add_up([one, other, []])

    assert sorted(together) == [("a", ("x",), 3), ("a", ("y",), 4), ("h", (), ((1, 2), 2.0))]


def test_every_metric_can_be_exposed() -> None:
    samples = [(name, tuple("x" for _ in labels), 1.0) for name, _, labels in COUNTERS + GAUGES]

    text = generate_latest(build_registry(lambda: samples + Tally().samples())).decode()

    for name, _, _ in COUNTERS:
        assert f"\n{name}_total" in text
    for name, _, _ in GAUGES:
        assert f"\n{name}" in text


def test_every_metric_stands_in_the_manual() -> None:
    from pathlib import Path

    manual = (Path(__file__).parents[2] / "docs/operating.md").read_text()

    for name, _, _ in COUNTERS:
        assert f"`{name}_total`" in manual
    for name, _, _ in GAUGES:
        assert f"`{name}`" in manual


def test_every_setting_stands_in_the_manual_with_its_default() -> None:
    from pathlib import Path

    from loopguard.server.settings import LimitSettings, ServerSettings

    text = (Path(__file__).parents[2] / "docs/operating.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("|")]

    for model in (LimitSettings, ServerSettings):
        for name, field in model.model_fields.items():
            (row,) = [row for row in rows if f"`{field.alias}`" in row.split("|")[1]]
            default = field.default
            if isinstance(default, bool) or default is None or isinstance(default, str):
                continue
            shown = f"{default // (1 << 20)} MiB" if name.endswith("_bytes") else f"{default:,.0f}"
            assert shown in row.split("|")[2], name
