"""Build the compiled core; everything else is declared in pyproject.toml."""

from __future__ import annotations

import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

FLAGS = ["/O2", "/std:c++17"] if sys.platform == "win32" else ["-O3", "-std=c++17"]

setup(
    ext_modules=cythonize(
        [Extension("loopguard._core", ["loopguard/_core.pyx"], language="c++", extra_compile_args=FLAGS)]
    )
)
