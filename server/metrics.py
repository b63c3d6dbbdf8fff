"""The metrics that Prometheus reads, by name; docs/operating.md lists them."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from .tally import BOUNDS_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prometheus_client import Metric

    from .tally import Sample

#: Name, what it says, names of the labels. Counters get `_total` put to their names.
COUNTERS: Final = (
    ("loopguard_verdicts", "Verdicts, by action and the detector behind it.", ("action", "detector")),
    ("loopguard_refusals", "Frames and streams refused, by the wire's reason.", ("reason",)),
    ("loopguard_runs_opened", "Runs opened: new, resumed, or replaced by an empty one.", ("how",)),
    (
        "loopguard_runs_ended",
        "Runs ended: closed by the client, expired, idle, crowded_out, replaced, or taken_over by others.",
        ("how",),
    ),
    ("loopguard_runs_rebuilt", "Runs that a client has told anew after their server was lost.", ()),
    ("loopguard_decided_unavailable", "Calls that clients decided themselves while the guard was away.", ()),
    ("loopguard_opaque_json", "Arguments and outcomes that are no JSON, or nested too deep.", ()),
    ("loopguard_reloads", "Reloads, by what was read and whether it was fit for use.", ("what", "result")),
    ("loopguard_watch_events_lost", "Events that watchers were too slow for.", ()),
    ("loopguard_worker_restarts", "Workers replaced because they ended.", ()),
    ("loopguard_store_commits", "Commits to the store.", ()),
    ("loopguard_store_snapshots", "Snapshots of runs written to the store.", ()),
    ("loopguard_store_snapshot_bytes", "Bytes of those snapshots.", ()),
    ("loopguard_store_fenced", "Runs that others had taken over when they were to be written.", ()),
    ("loopguard_store_failures", "What the store did not do, by what was asked of it.", ("doing",)),
    ("loopguard_store_restored", "Stored runs taken in: good, bad, or no_room for them.", ("result",)),
    ("loopguard_failures", "Batches and outcomes that loopguard itself failed to judge.", ()),
)
GAUGES: Final = (
    ("loopguard_open_runs", "Runs kept, with a stream or waiting for one.", ()),
    ("loopguard_interrupted_runs", "Runs kept that have no stream.", ()),
    ("loopguard_open_streams", "Streams of Guard and GuardMany.", ()),
    ("loopguard_watchers", "Streams of Watch.", ()),
    ("loopguard_certificate_expiry_seconds", "When the certificate expires, in seconds since 1970.", ()),
    ("loopguard_store_up", "Whether the store did what it was asked last.", ()),
    ("loopguard_store_dirty_runs", "Runs that have changed since their last snapshot that the store confirmed.", ()),
    ("loopguard_workers", "Worker processes that serve.", ()),
)
_HISTOGRAM: Final = ("loopguard_decision_seconds", "From a message's arrival to its answer, by rpc.", ("rpc",))


class _Collector(Collector):
    def __init__(self, samples: Callable[[], Iterable[Sample]]) -> None:
        self._samples = samples

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        families: dict[str, CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily] = {}
        for name, text, labels in COUNTERS:
            families[name] = CounterMetricFamily(name, text, labels=labels)
        for name, text, labels in GAUGES:
            families[name] = GaugeMetricFamily(name, text, labels=labels)
        name, text, labels = _HISTOGRAM
        families[name] = HistogramMetricFamily(name, text, labels=labels)
        for name, values, value in self._samples():
            family = families[name]
            if isinstance(family, HistogramMetricFamily):
                assert isinstance(value, tuple)
                bounds = (*map(str, BOUNDS_S), "+Inf")
                family.add_metric(values, list(zip(bounds, accumulate(value[0]), strict=True)), value[1])
            else:
                assert not isinstance(value, tuple)
                family.add_metric(values, value)
        yield from families.values()


def build_registry(samples: Callable[[], Iterable[Sample]]) -> CollectorRegistry:
    """Return a registry of its own with our metrics and the process's; `samples` is asked at each scrape."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(samples))
    ProcessCollector(registry=registry)
    return registry
