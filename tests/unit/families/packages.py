"""Packages, builds and codecs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import Honest, Loop, ended, hexed, plain, times, word, words

if TYPE_CHECKING:
    from random import Random


def packages(c: Random) -> list[Any]:
    return [
        (
            "bash",
            {"command": f"pip install {name}"},
            ended(f"Requirement already satisfied: {name} in /venv/lib/python3.12/site-packages (1.{n}.0)"),
        )
        for n, name in enumerate(words(c, 9))
    ]


def installed(c: Random) -> list[Any]:
    """Dependencies of many packages installed, with one long answer."""
    told = (
        "\nadded 214 packages, and audited 215 packages in 3s\n\n31 packages are looking for "
        "funding\n  run `npm fund` for details\n\nfound 0 vulnerabilities\n"
    )
    return [
        ("run_command", {"command": "npm ci", "cwd": f"/repo/packages/{name}"}, plain(told, 0)) for name in words(c, 8)
    ]


def versions(_: Random) -> list[Any]:
    tried = [
        (
            "bash",
            {"command": f"pip install torch=={one}"},
            ended(
                (
                    f"ERROR: Could not find a version that satisfies the requirement torch=={one} (from "
                    f"versions: 2.6.0, 2.7.0)\nERROR: No matching distribution found for torch=={one}"
                ),
                1,
            ),
        )
        for one in ("1.9.0", "1.10.0", "1.13.1")
    ]
    return [*tried, ("bash", {"command": "pip install torch==2.6.0"}, ended("Successfully installed torch-2.6.0"))]


def targets(c: Random) -> list[Any]:
    return [
        ("bash", {"command": f"make {name}"}, ended(f"make: Nothing to be done for '{name}'.")) for name in words(c, 8)
    ]


HONEST: dict[str, Honest] = {
    "packages that are there": Honest(packages),
    "many packages installed alike": Honest(installed),
    "versions tried until one is there": Honest(versions),
    "targets without work": Honest(targets),
}


def spelt(c: Random) -> list[Any]:
    name = word(c)
    forms = [
        name,
        f"python-{name}",
        f"{name}-python",
        f"{name}lib",
        f"py{name}",
        f"{name}-sdk",
        f"{name}.py",
        f"lib{name}",
    ]
    return times(
        14,
        lambda n: [
            (
                "bash",
                {"command": f"pip install {forms[n % 8]}"},
                ended(
                    (
                        f"ERROR: Could not find a version that satisfies the requirement {forms[n % 8]} (from "
                        f"versions: none)\nERROR: No matching distribution found for {forms[n % 8]}"
                    ),
                    1,
                ),
            )
        ],
    )


def resolve(c: Random) -> list[Any]:
    def said(n: int) -> Any:
        return plain(
            "",
            1,
            (
                "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\nnpm ERR! "
                'Found: react@18.2.0\nnpm ERR! Could not resolve dependency: peer react@"^17.0.0" from '
                f"{'grid'}@4.1.0\nnpm ERR! A complete log of this run can be found in: "
                f"/home/node/.npm/_logs/2031-05-06T10_{n:02}_{c.randrange(60):02}_{c.randrange(1000):03}Z-debug-0.log"
            ),
        )

    return times(12, lambda n: [("bash", {"command": "npm install"}, said(n))])


def encoder(c: Random) -> list[Any]:
    """One codec that is not there, behind a banner, under ever other options."""
    options = [
        "-crf 23",
        "-crf 18",
        "-preset fast",
        "-b:v 2M",
        "-preset slow -crf 20",
        "-pix_fmt yuv420p",
        "-threads 4",
    ]

    def said() -> Any:
        return plain(
            "",
            1,
            (
                "ffmpeg version 6.1 Copyright (c) the developers\n  built with gcc 13\nInput #0, mov, "
                f"from 'in.mov':\n[vost#0:0 @ 0x{hexed(c, 12)}] Unknown encoder 'libx265'\n[vost#0:0 @ "
                f"0x{hexed(c, 12)}] Error selecting an encoder\nError opening output file out.mp4."
            ),
        )

    return times(
        14, lambda n: [("bash", {"command": f"ffmpeg -i in.mov -c:v libx265 {options[n % 7]} out.mp4"}, said())]
    )


def rebuilt(c: Random) -> list[Any]:
    """Clean, build, fail: with other hashes of the same files in the output."""

    def said() -> Any:
        return ended(
            (
                f"[1/4] Compiling a.o ({hexed(c, 8)})\n[2/4] Compiling b.o ({hexed(c, 8)})\n[3/4] Linking "
                "app\n/usr/bin/ld: a.o: undefined reference to `start_engine'\ncollect2: error: ld "
                "returned 1 exit status"
            ),
            2,
        )

    return times(
        10,
        lambda _: [
            ("bash", {"command": "rm -rf build"}, ended("")),
            ("bash", {"command": "cmake --build build"}, said()),
        ],
    )


LOOPS: dict[str, Loop] = {
    "one package in other spellings": Loop(spelt, 7),
    "one conflict of versions with a fresh log": Loop(resolve, 4, 8),
    "one codec that is not there": Loop(encoder, 6),
    "built clean again": Loop(rebuilt, 5, 10),
}
