"""The stubs are what the extensions have, and the core's examples run and pass the type checker."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "tests/typing/examples.py"


def check(*arguments: str) -> str:
    """Run one of mypy's tools over the installed package and return its complaints."""
    ran = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return "" if ran.returncode == 0 else ran.stdout.decode()


def test_the_stubs_are_what_is_there() -> None:
    modules = [
        f"loopguard.{name}" for name in ("_core", "_course", "_facts", "_intake", "_pack", "_prints", "_ring", "_wire")
    ]

    assert check("mypy.stubtest", "--mypy-config-file", "pyproject.toml", *modules) == ""


def test_examples_pass_the_type_checker() -> None:
    assert check("mypy", str(EXAMPLES)) == ""


def test_examples_run() -> None:
    runpy.run_path(str(EXAMPLES), run_name="__main__")
