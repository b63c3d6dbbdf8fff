from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import pytest
from loopguard.server.reload import Part, Reloader

from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from pathlib import Path


class Files:
    """Two parts of one file each, with what is in use."""

    def __init__(self, folder: Path) -> None:
        self.a, self.b = folder / "a", folder / "b"
        self.in_use: dict[str, str] = {}
        self.told: list[tuple[str, bool]] = []
        for path in (self.a, self.b):
            path.write_text("1")
        self.reloader = Reloader(
            [self._part(self.a), self._part(self.b)], lambda what, well: self.told.append((what, well))
        )

    def _part(self, path: Path) -> Part[str]:
        def load() -> str:
            text = path.read_text()
            if text == "bad":
                raise InvalidConfig("a", "`a` is bad")
            return text

        return Part(path.name, [str(path)], load, lambda text: self.in_use.update({path.name: text}))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def test_only_what_has_changed_is_read(files: Files) -> None:
    files.b.write_text("22")

    await files.reloader.reload(only_changed=True)
    await files.reloader.reload(only_changed=True)

    assert files.told == [("b", True)]
    assert files.in_use == {"b": "22"}


async def test_a_file_put_in_place_of_another_is_a_change(files: Files, tmp_path: Path) -> None:
    before = files.a.stat()
    new = tmp_path / "new"
    new.write_text("2")
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.replace(files.a)

    await files.reloader.reload(only_changed=True)

    assert files.in_use == {"a": "2"}


async def test_when_told_to_everything_is_read(files: Files) -> None:
    await files.reloader.reload()

    assert files.in_use == {"a": "1", "b": "1"}


async def test_a_bad_file_leaves_the_last_good_one_in_use(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    await files.reloader.reload()
    files.a.write_text("bad")

    with caplog.at_level(logging.INFO):
        await files.reloader.reload(only_changed=True)

    assert files.in_use["a"] == "1"
    assert files.told[-1] == ("a", False)
    assert [(r.levelname, vars(r)["because"]) for r in caplog.records] == [("ERROR", "`a` is bad")]


async def test_a_failure_of_our_own_ends_no_watching(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    def stumble() -> str:
        raise ValueError("embedded null byte")

    odd = Part("odd", [str(files.a)], stumble, files.told.append)  # type: ignore[arg-type]  # never called
    reloader = Reloader([odd, files._part(files.b)], lambda what, well: files.told.append((what, well)))

    await reloader.reload()

    assert files.told == [("odd", False), ("b", True)]
    assert "reading the odd anew failed: ValueError" in caplog.text


async def test_a_file_that_vanishes_and_comes_back_is_read(files: Files) -> None:
    files.a.unlink()
    changed = await files.reloader._parts[0].changed()
    files.a.write_text("3")

    await files.reloader.reload(only_changed=True)

    assert changed
    assert files.in_use == {"a": "3"}
