"""Build the compiled core; everything else is declared in pyproject.toml."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FLAGS = ["-std=c++17", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"]
if "-O" not in os.environ.get("CFLAGS", ""):
    FLAGS.append("-O3")
# The headers use what GCC and Clang have built in, 128-bit products among it, so on Windows clang-cl compiles them.
CLANG_CL = "clang-cl"
CLANG_CL_FLAGS = ["/std:c++17", "/O2", "/EHsc"]
DISPATCHING = "#include <xxh_x86dispatch.h>\nint main() { return XXH3_128bits_withSeed(0, 0, 0).low64 == 1; }\n"
PLAIN = "#include <xxhash.h>\nint main() { return XXH3_128bits_withSeed(0, 0, 0).low64 == 1; }\n"


class BuildCore(build_ext):
    """Link the system's libxxhash where a program that uses it links; else the core calls the xxhash wheel.

    `LOOPGUARD_HASH=wheel` asks for the wheel, `LOOPGUARD_HASH=system` refuses to do without the library.
    `LOOPGUARD_SANITIZE=address,undefined` builds for the sanitizers.
    """

    def build_extensions(self) -> None:
        """Settle the flags that depend on the machine."""
        wanted = os.environ.get("LOOPGUARD_HASH", "auto")
        sanitizers = os.environ.get("LOOPGUARD_SANITIZE", "")
        on_windows = self.compiler.compiler_type == "msvc"
        if on_windows:
            self._use_clang_cl()
        for extension in self.extensions:
            extension.extra_compile_args += CLANG_CL_FLAGS if on_windows else FLAGS
            if sanitizers:
                flags = [
                    f"-fsanitize={sanitizers}",
                    "-fno-sanitize-recover=all",
                    "-O1",
                    "-g",
                    "-fno-omit-frame-pointer",
                ]
                extension.extra_compile_args += flags
                extension.extra_link_args += flags[:1]
            if wanted == "wheel":
                continue
            for source, macro in ((DISPATCHING, "LOOPGUARD_XXHASH_DISPATCH"), (PLAIN, "LOOPGUARD_XXHASH")):
                if self._links(source):
                    extension.define_macros.append((macro, None))
                    extension.libraries.append("xxhash")
                    break
            else:
                if wanted == "system":
                    sys.exit("LOOPGUARD_HASH=system: no program that uses libxxhash links here")
        super().build_extensions()

    def _use_clang_cl(self) -> None:
        program = shutil.which(CLANG_CL)
        if program is None:
            sys.exit(f"{CLANG_CL} is not on the path: it comes with LLVM, and as a component of Visual Studio")
        self.compiler.initialize()
        self.compiler.cc = program

    def _links(self, source: str) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            probe = Path(folder, "probe.cpp")
            probe.write_text(source)
            stderr = os.dup(2)
            with Path(folder, "log").open("w") as log:
                # The compiler's complaint is the answer here, not something for the user.
                os.dup2(log.fileno(), 2)
                try:
                    objects = self.compiler.compile([str(probe)], output_dir=folder)
                    self.compiler.link_executable(objects, str(Path(folder, "probe")), libraries=["xxhash"])
                except Exception:  # noqa: BLE001 - any failure of a foreign tool chain means "not here"
                    return False
                finally:
                    os.dup2(stderr, 2)
                    os.close(stderr)
        return True


def extension(name: str, *headers: str) -> Extension:
    """Describe an extension of the package and the headers that it is built anew for."""
    depends = [str(path) for header in headers for path in sorted(Path("loopguard/native").glob(header))]
    return Extension(f"loopguard.{name}", [f"loopguard/{name}.pyx"], language="c++", depends=depends)


setup(
    cmdclass={"build_ext": BuildCore},
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=cythonize(
        [
            extension("_core", "*.hpp"),
            extension("_prints", "*.hpp"),
            extension("_ring", "history*.hpp"),
            extension("_facts", "*.hpp"),
            extension("_course", "*.hpp"),
            extension("_pack", "pack.hpp", "index.hpp"),
            extension("_wire"),
            extension("_intake"),
        ]
    ),
)
