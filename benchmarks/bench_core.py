"""How much faster is the core's digest than what one would write without it? Ratios within a run, JSON and a chart."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import xxhash
from corpora import build

from loopguard import _core

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 7
BASE = "orjson"
#: The slow ones get fewer rounds over fewer documents: their ratio is known well enough after that.
SLOW_DOCUMENTS = {"small": 40, "medium": 8, "large": 4, "floats": 1}


def contenders() -> dict[str, Callable[[bytes], Any]]:
    """Return what is compared, by name; packages that are not installed are left out."""
    digest = xxhash.xxh3_128_digest
    found: dict[str, Callable[[bytes], Any]] = {
        BASE: lambda data: digest(orjson.dumps(orjson.loads(data), option=orjson.OPT_SORT_KEYS)),
        "loopguard": _core.fingerprint,
        "loopguard, masks": lambda data: _core.fingerprint(data, mask=_core.DEFAULT_MASK),
        "json": lambda data: digest(json.dumps(json.loads(data), sort_keys=True, separators=(",", ":")).encode()),
    }
    for name, function in (("rfc8785", "dumps"), ("jcs", "canonicalize"), ("jcs_admit", "admit")):
        try:
            dumps = getattr(importlib.import_module(name), function)
        except (ImportError, AttributeError):
            continue
        if name == "jcs_admit":
            # It takes the bytes themselves.
            found[name] = lambda data, admit=dumps: digest(admit(data))
        else:
            found[name] = lambda data, dumps=dumps: digest(dumps(json.loads(data)))
    return found


def measure(documents: list[bytes], contestants: dict[str, Callable[[bytes], Any]], rounds: int) -> dict[str, Any]:
    """Run all in turn, round by round, and take each one's ratio to the base within a round."""
    spent: dict[str, list[float]] = {name: [] for name in contestants}
    repeats = max(1, 400_000 // sum(map(len, documents)))
    for _ in range(rounds):
        for name, function in contestants.items():
            before = time.thread_time_ns()
            for _ in range(repeats):
                for data in documents:
                    function(data)
            spent[name].append((time.thread_time_ns() - before) / repeats / len(documents))
    return {
        name: {
            "nsPerDocument": round(statistics.median(times)),
            "ratio": round(statistics.median(base / own for base, own in zip(spent[BASE], times, strict=True)), 2),
        }
        for name, times in spent.items()
    }


def chart(results: dict[str, dict[str, Any]]) -> str:
    """Draw the ratios as bars, a group a size class."""
    bar, gap, left, width = 16, 26, 190, 760
    shown = [(size, name, found["ratio"]) for size, row in results.items() for name, found in row.items()]
    scale = (width - left - 70) / max(ratio for _, _, ratio in shown)
    parts = []
    y = 34
    last = ""
    for size, name, ratio in shown:
        if size != last:
            y += gap if last else 0
            parts.append(f'<text x="8" y="{y + 12}" font-weight="bold">{size}</text>')
            last = size
        colour = "#0b7a75" if name.startswith("loopguard") else "#9aa5b1"
        parts.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{name}</text>')
        parts.append(
            f'<rect x="{left}" y="{y}" width="{max(ratio * scale, 1):.1f}" height="{bar - 3}" fill="{colour}"/>'
        )
        parts.append(f'<text x="{left + ratio * scale + 6:.1f}" y="{y + 12}">{ratio:g}x</text>')
        y += bar
    title = "canonical form and XXH3-128: speed against orjson + xxhash (= 1x)"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 12}"'
        f' font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="#ffffff"/><text x="8" y="20" font-size="14">{title}</text>'
        f"{''.join(parts)}</svg>\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", type=Path, default=Path("build/bench_core.json"), help="where the figures go")
    parser.add_argument("--svg", type=Path, default=Path("build/bench_core.svg"), help="where the chart goes")
    options = parser.parse_args()
    everyone = contenders()
    fast = {name: everyone[name] for name in (BASE, "loopguard", "loopguard, masks")}
    slow = {name: function for name, function in everyone.items() if name == BASE or name not in fast}
    results: dict[str, dict[str, Any]] = {}
    for size, documents in build(SEED).items():
        few = documents[: SLOW_DOCUMENTS[size]]
        others = measure(few, slow, max(3, options.rounds // 5))
        results[size] = {**measure(documents, fast, options.rounds), **{k: v for k, v in others.items() if k != BASE}}
        print(f"{size}: {sum(map(len, documents)) // len(documents)} bytes a document")
        for name, found in results[size].items():
            print(f"  {name:18} {found['nsPerDocument']:>12,} ns {found['ratio']:>7.2f}x")
    report = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **_core.features(),
        "results": results,
    }
    for path, text in ((options.json, json.dumps(report, indent=1) + "\n"), (options.svg, chart(results))):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
