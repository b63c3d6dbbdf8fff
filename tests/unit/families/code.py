"""Editors, language servers, tests and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import Honest, Loop, each, ended, plain, prose, refused, times, word, words

if TYPE_CHECKING:
    from random import Random


def diagnostics(errors: list[str], version: int = 0) -> dict[str, Any]:
    return {
        "uri": "file:///src/app.ts",
        "version": version,
        "diagnostics": [{"severity": 1, "message": one, "source": "ts"} for one in errors],
    }


def mended(c: Random) -> list[Any]:
    """Diagnostics that get fewer, with edits that change none of them between."""
    left = [f"Cannot find name '{one}'." for one in words(c, 5)]
    steps: list[Any] = []
    for n in range(12):
        steps.append(("apply_edit", {"file": "src/app.ts", "range": [n, n + 2], "text": prose(c, 4)}, "Edit applied"))
        left = left[n % 3 == 2 :]
        steps.append(("lsp_diagnostics", {"file": "src/app.ts"}, diagnostics(left)))
    return steps


def clean(c: Random) -> list[Any]:
    return [("lsp_diagnostics", {"file": f"src/{name}.ts"}, {"diagnostics": []}) for name in words(c, 11)]


def references(c: Random) -> list[Any]:
    return [
        (
            "lsp_references",
            {"symbol": name},
            {
                "references": [],
                "note": (
                    "No references were found in the workspace. The symbol may be unused or only used "
                    "through reflection; declarations are not listed here."
                ),
            },
        )
        for name in words(c, 5)
    ]


def notebook(c: Random) -> list[Any]:
    """A cell rewritten until it runs; the error moves now and then."""
    wrong = [f"KeyError: '{one}'" for one in words(c, 3)]
    return each(
        8,
        lambda n: [
            ("notebook_edit_cell", {"index": 3, "source": prose(c, 12)}, "Cell updated"),
            (
                "notebook_run_cell",
                {"index": 3},
                {
                    "outputs": [
                        {
                            "output_type": "error",
                            "ename": "KeyError",
                            "evalue": wrong[n // 3],
                            "traceback": [f"Cell In[{n + 9}], line {n % 4}", wrong[n // 3]],
                        }
                    ],
                    "execution_count": n + 9,
                },
            ),
        ],
    )


def red(c: Random) -> list[Any]:
    """One red test through honest edits, looked into between."""
    failed = ended(
        (
            "FAILED tests/test_money.py::test_rounding - AssertionError: assert Decimal('1.005') == "
            "Decimal('1.01')\n1 failed, 83 passed in 2.14s"
        ),
        1,
    )
    return each(
        6,
        lambda n: [
            ("read_file", {"path": "src/money.py", "offset": 1 + 40 * n, "limit": 40}, prose(c, 60)),
            ("edit_file", {"path": "src/money.py", "old": prose(c, 4), "new": prose(c, 4)}, "1 replacement"),
            ("bash", {"command": "pytest -q tests/test_money.py"}, failed),
        ],
    )


def printed(c: Random) -> list[Any]:
    return each(
        7,
        lambda _: [
            ("write_file", {"path": "probe.py", "content": f"print({prose(c, 3)!r})"}, "Wrote 1 file"),
            ("bash", {"command": "python probe.py"}, ended(prose(c, 3))),
        ],
    )


def searched(c: Random) -> list[Any]:
    return [
        ("bash", {"command": f"rg -n '{name}' {place}"}, plain("", 1))
        for name, place in zip(words(c, 12), ["src", "lib", "."] * 4, strict=True)
    ]


def guessed(c: Random) -> list[Any]:
    """Places where a file might be; then the listing."""
    return [
        *[
            (
                "read_file",
                {"path": f"config/{name}.json"},
                refused(f"ENOENT: no such file or directory, open '/repo/config/{name}.json'"),
            )
            for name in words(c, 4)
        ],
        ("list_dir", {"path": "config"}, "app.toml"),
        ("read_file", {"path": "config/app.toml"}, prose(c, 20)),
    ]


def renamed(c: Random) -> list[Any]:
    return [("bash", {"command": f"git mv src/{name}.py app/{name}.py"}, plain("", 0)) for name in words(c, 10)]


def flaky(_: Random) -> list[Any]:
    said = ended("FAILED test_net.py::test_pool - TimeoutError: pool\n1 failed, 20 passed", 1)
    return [("bash", {"command": "pytest -q test_net.py"}, one) for one in (said, said, ended("21 passed"))]


def generated(c: Random) -> list[Any]:
    """Code made by one generator for many names, listed between."""
    names = words(c, 7)
    return each(
        7,
        lambda n: [
            (
                "bash",
                {"command": f"rails generate model {names[n]}"},
                ended("      invoke  active_record\n      create    db/migrate\n      create    app/models"),
            ),
            ("bash", {"command": "ls app/models"}, ended("\n".join(f"{one}.rb" for one in sorted(names[: n + 1])))),
        ],
    )


def patched(c: Random) -> list[Any]:
    """Files mended by one kind of patch, each checked by the same command afterwards."""
    return each(
        7,
        lambda _: [
            ("apply_patch", {"patch": f"*** Update File: src/{word(c)}.py\n-import os\n+import pathlib"}, "Done!"),
            ("bash", {"command": "ruff check ."}, ended("All checks passed!")),
        ],
    )


HONEST: dict[str, Honest] = {
    "diagnostics that get fewer": Honest(mended),
    "clean files": Honest(clean),
    "symbols nobody uses": Honest(references),
    "a cell rewritten until it runs": Honest(notebook),
    "a red test looked into": Honest(red),
    "probes written and run": Honest(printed),
    "words nowhere to be found": Honest(searched),
    "places where a file might be": Honest(guessed, hinted=True),
    "files moved": Honest(renamed),
    "a test that fails now and then": Honest(flaky),
    "models made": Honest(generated),
    "checks after each patch": Honest(patched),
}


def spaces(c: Random) -> list[Any]:
    """An edit whose old text is never there, in ever other white space."""
    line = prose(c, 5)
    return times(
        12,
        lambda n: [
            (
                "str_replace",
                {"path": "src/app.py", "old_str": f"{' ' * (n % 5)}{line}", "new_str": f"{' ' * (n % 5)}{line} # ok"},
                refused(
                    f"No replacement was performed, old_str `{' ' * (n % 5)}{line}` did not appear verbatim "
                    "in src/app.py."
                ),
            )
        ],
    )


def action(c: Random) -> list[Any]:
    wrong = [f"Type '{one}' is not assignable to type 'string'." for one in words(c, 2)]
    return times(
        10,
        lambda _: [
            ("lsp_code_action", {"file": "src/app.ts", "kind": "quickfix"}, "Applied 1 action"),
            ("lsp_diagnostics", {"file": "src/app.ts"}, diagnostics(wrong, 12)),
        ],
    )


def to_and_fro(c: Random) -> list[Any]:
    left, right = words(c, 2)
    texts = {0: (left, right), 1: (right, left)}
    said = ended(
        (
            f"error[E0308]: mismatched types\n --> src/main.rs:14:9\n   |\n14 |         {word(c)}\n   "
            "|         ^^^ expected `u32`, found `i64`"
        ),
        101,
    )
    return times(
        12,
        lambda n: [
            ("edit_file", {"path": "src/main.rs", "old": texts[n % 2][0], "new": texts[n % 2][1]}, "1 replacement"),
            ("bash", {"command": "cargo build"}, said),
        ],
    )


def same_cell(c: Random) -> list[Any]:
    """One cell run again; its traceback is coloured and numbered."""
    name = word(c)
    return times(
        12,
        lambda n: [
            (
                "notebook_run_cell",
                {"index": 3},
                {
                    "outputs": [
                        {
                            "output_type": "error",
                            "ename": "NameError",
                            "evalue": f"name '{name}' is not defined",
                            "traceback": [
                                "\x1b[0;31mNameError\x1b[0m Traceback (most recent call last)",
                                f"Cell \x1b[0;32mIn[{n + 4}]\x1b[0m, line 1\n\x1b[1;32m----> 1\x1b[0m {name}()",
                            ],
                        }
                    ],
                    "execution_count": n + 4,
                },
            )
        ],
    )


def silent(_: Random) -> list[Any]:
    return times(12, lambda _: [("run_command", {"command": "./check.sh --strict", "cwd": "/repo"}, plain("", 1))])


def overlapping(c: Random) -> list[Any]:
    """One part of a file read again in shifted windows."""
    lines = [prose(c, 5) for _ in range(80)]

    def part(start: int, count: int) -> str:
        return "\n".join(f"{start + k}: {lines[start + k]}" for k in range(count))

    windows = [(1, 60), (10, 50), (1, 40), (20, 40), (5, 50), (15, 45), (1, 60), (10, 30)]
    return times(
        14,
        lambda n: [
            (
                "read_file",
                {"path": "src/app.py", "offset": windows[n % 8][0], "limit": windows[n % 8][1]},
                part(*windows[n % 8]),
            )
        ],
    )


def same_tests(c: Random) -> list[Any]:
    """Tests run again without an edit; their durations differ and their order too."""
    names = words(c, 6)

    def said() -> Any:
        rows = [f"test_{one} ... {'FAIL' if n == 2 else 'ok'} ({c.random():.3f}s)" for n, one in enumerate(names)]
        c.shuffle(rows)
        return ended("\n".join([*rows, f"Ran 6 tests in {c.random() * 9:.3f}s", "FAILED (failures=1)"]), 1)

    return times(12, lambda _: [("bash", {"command": "python -m unittest"}, said())])


LOOPS: dict[str, Loop] = {
    "an edit that never fits": Loop(spaces, 5, 10),
    "one quick fix again": Loop(action, 4, 10),
    "two edits that undo each other": Loop(to_and_fro, 5, 12),
    "one cell run again": Loop(same_cell, 4, 9),
    "one silent failure": Loop(silent, 4, 8),
    "one part of a file in shifted windows": Loop(overlapping, 9),
    "tests run again untouched": Loop(same_tests, 6),
}
