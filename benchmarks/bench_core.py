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


_BAR, _GAP, _LEFT, _WIDTH = 18, 30, 210, 800
_OWN, _OTHERS, _TEXT, _FAINT = "#0b7a75", "#9aa5b1", "#1f2933", "#52606d"
#: What people read beside a bar, where it is not the contender's own name.
_LABELS = {
    BASE: "orjson, sorted keys",
    "loopguard": "loopguard",
    "loopguard, masks": "loopguard, with masks",
    "jcs_admit": "jcs-admit",
}


def chart(report: dict[str, Any]) -> str:
    """Draw the ratios as bars, a group a size class, a line where the base is."""
    results = report["results"]
    scale = (_WIDTH - _LEFT - 80) / max(found["ratio"] for row in results.values() for found in row.values())
    parts = []
    y = 52
    for size, row in results.items():
        about = f"{size}: {report['bytesPerDocument'][size]:,} bytes a document"
        parts.append(f'<text x="12" y="{y}" font-weight="bold">{about}</text>')
        y += 8
        for name, found in row.items():
            own = name.startswith("loopguard")
            label, length = _LABELS.get(name, name), max(found["ratio"] * scale, 1)
            parts.append(f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{label}</text>')
            parts.append(
                f'<rect x="{_LEFT}" y="{y + 1}" width="{length:.1f}" height="{_BAR - 3}" rx="2"'
                f' fill="{_OWN if own else _OTHERS}"/>'
            )
            weight = ' font-weight="bold"' if own else ""
            parts.append(f'<text x="{_LEFT + length + 6:.1f}" y="{y + 13}"{weight}>{found["ratio"]:.2g}x</text>')
            y += _BAR
        y += _GAP
    base = _LEFT + scale
    parts.insert(
        0,
        f'<line x1="{base:.1f}" x2="{base:.1f}" y1="40" y2="{y - _GAP + 4}" stroke="{_FAINT}" stroke-dasharray="3 3"/>',
    )
    foot = f"CPython {report['python']}, {report['machine']}, {report['cpu']}, {report['hash']}; medians"
    parts.append(f'<text x="12" y="{y - 8}" fill="{_FAINT}" font-size="11">{foot}</text>')
    title = "Canonical JSON and its XXH3-128 digest: speed as a ratio to orjson + xxhash"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y + 4}" width="{_WIDTH}" height="{y + 4}"'
        f' role="img" font-family="system-ui, sans-serif" font-size="13" fill="{_TEXT}">\n<title>{title}</title>\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n'
        f'<text x="12" y="24" font-size="16" font-weight="bold">{title}</text>\n' + "\n".join(parts) + "\n</svg>\n"
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
    bytes_each: dict[str, int] = {}
    for size, documents in build(SEED).items():
        few = documents[: SLOW_DOCUMENTS[size]]
        others = measure(few, slow, max(3, options.rounds // 5))
        results[size] = {**measure(documents, fast, options.rounds), **{k: v for k, v in others.items() if k != BASE}}
        bytes_each[size] = sum(map(len, documents)) // len(documents)
        print(f"{size}: {bytes_each[size]} bytes a document")
        for name, found in results[size].items():
            print(f"  {name:18} {found['nsPerDocument']:>12,} ns {found['ratio']:>7.2f}x")
    report = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **_core.features(),
        "bytesPerDocument": bytes_each,
        "results": results,
    }
    for path, text in ((options.json, json.dumps(report, indent=1) + "\n"), (options.svg, chart(report))):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
