"""The system's libxxhash and the xxhash wheel give the same digests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loopguard import _core

ROOT = Path(__file__).parents[2]
PROGRAM = """
import hashlib
from loopguard import _core
print(_core.features()["hash"])
sizes = [*range(0, 300), 1023, 1024, 1025, 65_535, 65_536, 65_537, 200_000, 1_048_576, 1_300_000]
seen = hashlib.sha256()
for size in sizes:
    text = b"x" * size
    for data in (text, b'{"b":"%s","a":1}' % text, b'{"a":"%s"}' % text):
        seen.update(_core.fingerprint(data) + _core.inspect(data).digest + _core.fingerprint_values(3, [data, None]))
print(seen.hexdigest())
"""
# The core alone: what else is compiled takes as long and has no part in this.
BUILD = """
import runpy
import Cython.Build
real = Cython.Build.cythonize
Cython.Build.cythonize = lambda all, **more: real([one for one in all if one.name == "loopguard._core"], **more)
runpy.run_path("setup.py", run_name="__main__")
"""


def build(tree: Path, library: str) -> list[str]:
    """Build the extension with one library and return what it says."""
    (tree / "loopguard").mkdir()
    for path in (ROOT / "loopguard").iterdir():
        if path.suffix == ".pxd" or path.name == "_core.pyx":
            shutil.copy(path, tree / "loopguard")
    shutil.copytree(ROOT / "loopguard/native", tree / "loopguard/native")
    (tree / "loopguard/__init__.py").touch()
    shutil.copy(ROOT / "setup.py", tree)
    environment = {**os.environ, "LOOPGUARD_HASH": library, "CFLAGS": "-O0", "PYTHONPATH": str(tree)}
    built = subprocess.run(
        [sys.executable, "-c", BUILD, "-q", "build_ext", "--inplace"],
        cwd=tree,
        env=environment,
        capture_output=True,
        check=False,
    )
    if library == "system" and b"no program that uses libxxhash links here" in built.stderr:
        pytest.skip("this machine has no libxxhash to compare with")
    assert built.returncode == 0, built.stderr.decode()
    ran = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tree, env=environment, capture_output=True, check=True)
    return ran.stdout.decode().splitlines()


def test_both_builds_give_the_same_digests(tmp_path: Path) -> None:
    installed = str(_core.features()["hash"])
    other = "system" if installed == "xxhash wheel" else "wheel"
    here = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True).stdout.decode().splitlines()

    there = build(tmp_path, other)

    assert here[0] == installed
    assert there[0].startswith("libxxhash" if other == "system" else "xxhash wheel")
    assert there[1] == here[1]
