"""`loopguard bench`: measures loopguard on this machine, with the user's own data."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Annotated

import typer

from loopguard.cli import bench_wire
from loopguard.cli.app import Failure
from loopguard.cli.inputs import read_lines

app = typer.Typer(no_args_is_help=True, help="Measure loopguard on this machine, with your own data.")

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_ROUNDS_MIN = 5

app.command("stream")(bench_wire.stream)
app.command("many")(bench_wire.many)


@app.command("hash")
def hash_(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A file or folder; a .jsonl file is one document a line.")
    ],
    mask: Annotated[str | None, typer.Option(metavar="default|KIND,…", help="Kinds of volatile text to mask.")] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long to measure.")] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> int:
    """Measure canonical form and digest over your own documents: MB/s, ns a document, p50 and p99."""
    from loopguard._core import features, fingerprint
    from loopguard.cli.masks import bits_of

    bits = 0 if mask is None else bits_of(mask)
    documents = _documents(path)
    size = sum(map(len, documents))
    clock = time.perf_counter_ns
    for document in documents:
        fingerprint(document, mask=bits)
    best: list[int] = [0] * len(documents)
    totals: list[int] = []
    started = clock()
    while len(totals) < _ROUNDS_MIN or clock() - started < seconds * 1e9:
        total = 0
        for index, document in enumerate(documents):
            before = clock()
            fingerprint(document, mask=bits)
            spent = clock() - before
            total += spent
            best[index] = spent if not totals else min(best[index], spent)
        totals.append(total)
    total_ns = statistics.median(totals)
    cuts = statistics.quantiles(best, n=100, method="inclusive") if len(best) > 1 else best * 99
    report = {
        "documents": len(documents),
        "bytes": size,
        "megabytesPerSecond": round(size / total_ns * 1000, 1),
        "nsPerDocument": round(total_ns / len(documents)),
        "p50Ns": round(cuts[49]),
        "p99Ns": round(cuts[98]),
        "rounds": len(totals),
        **features(),
    }
    if as_json:
        print(json.dumps(report))
        return 0
    print(f"{len(documents)} documents, {size / 1e6:.2f} MB, {len(totals)} rounds; {report['hash']}, {report['cpu']}")
    print(f"{report['megabytesPerSecond']} MB/s, {report['nsPerDocument']} ns a document (median round)")
    print(f"p50 {report['p50Ns']} ns, p99 {report['p99Ns']} ns (each document's best round)")
    return 0


def _documents(path: str) -> list[bytes]:
    if not Path(path).is_dir():
        names = [path]
    else:
        names = sorted(str(name) for name in Path(path).rglob("*") if name.is_file() and name.name.endswith(_SUFFIXES))
    found: list[bytes] = []
    for name in names:
        if name.endswith(".json"):
            found.append(Path(name).read_bytes())
        else:
            found.extend(line.strip() for line in read_lines(name) if line.strip())
    if not found:
        raise Failure(f"{path}: no documents (files {', '.join(_SUFFIXES)})")
    return found
