"""The core's stub is what the extension has, and its examples run and pass the type checker."""

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


def test_the_stub_is_what_is_there() -> None:
    modules = ("loopguard._core", "loopguard._prints", "loopguard._wire", "loopguard._intake")
    assert check("mypy.stubtest", "--mypy-config-file", "pyproject.toml", *modules) == ""


def test_examples_pass_the_type_checker() -> None:
    assert check("mypy", str(EXAMPLES)) == ""


def test_examples_run() -> None:
    runpy.run_path(str(EXAMPLES), run_name="__main__")
