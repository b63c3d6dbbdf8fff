"""`loopguard doctor`: tells what this installation has and what it lacks."""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

#: The packages that an extra brings, beyond those of the library itself.
_EXTRAS = {
    "cli": ("typer", "rich", "json-five"),
    "client": ("grpcio", "protobuf", "grpcio-status"),
    "server": ("grpcio-health-checking", "grpcio-reflection", "prometheus-client", "structlog", "uvloop"),
    "redis": ("redis",),
    "otel": ("opentelemetry-sdk",),
}
_LIBRARY = ("xxhash", "pyjson5", "pydantic")
#: Digest of `{}`: a build whose hash is wrong must not look healthy.
_DIGEST_OF_EMPTY = "dc7048f8f8747f561349cde127705c16"


def command(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False) -> int:
    """Tell which parts are installed, how this build hashes and which CPU path runs. Exits 1 if something is wrong."""
    from loopguard import __version__
    from loopguard._core import features, fingerprint
    from loopguard.model import DIGEST_SCHEME

    core = features()
    report = {
        "loopguard": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()} on {platform.platform()}",
        "hash": core["hash"],
        "cpu": core["cpu"],
        "avx2": core["avx2"],
        "digestScheme": DIGEST_SCHEME,
        "library": {name: _version(name) for name in _LIBRARY},
        "extras": {extra: {name: _version(name) for name in names} for extra, names in _EXTRAS.items()},
    }
    digest = fingerprint(b"{}").hex()
    problems = [f"{name} is missing" for name, found in report["library"].items() if found is None]
    if digest != _DIGEST_OF_EMPTY:
        problems.append(f"the digest of {{}} is {digest}, not {_DIGEST_OF_EMPTY}")
    if as_json:
        print(json.dumps(report | {"problems": problems}, indent=2))
    else:
        _print(report, problems)
    return 1 if problems else 0


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _print(report: dict[str, object], problems: list[str]) -> None:
    print(f"loopguard {report['loopguard']}, {report['python']}")
    print(f"hash      {report['hash']} (digest scheme {report['digestScheme']})")
    print(f"cpu path  {report['cpu']} (the CPU has {'' if report['avx2'] else 'no '}AVX2)")
    print(f"library   {_listed(report['library'])}")
    extras = report["extras"]
    assert isinstance(extras, dict)
    for extra, packages in extras.items():
        missing = [name for name, found in packages.items() if found is None]
        state = _listed(packages) if not missing else f"not complete, {', '.join(missing)} missing"
        print(f"[{extra}]".ljust(10) + state)
    for problem in problems:
        print(f"PROBLEM: {problem}", file=sys.stderr)
    if not problems:
        print("Everything that is installed works.")


def _listed(packages: object) -> str:
    assert isinstance(packages, dict)
    return ", ".join(f"{name} {found}" for name, found in packages.items())
