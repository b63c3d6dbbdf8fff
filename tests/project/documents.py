"""Reads a Markdown document and plays its fenced blocks: loads, replays, executes, and compares what is shown."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopguard import cli
from loopguard.fingerprints import broken_examples
from loopguard.rules import RuleSet, load_rules, parse_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
#: The address that the documents' clients speak to.
ADDRESS = '"127.0.0.1:50051"'
_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+)(?P<info>.*)$")
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Block:
    """A fenced block: its language and the words after it, of which one may be a file's name."""

    place: str
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def file(self) -> str:
        return next((word for word in self.words if "." in word), "")


def read_blocks(text: str, name: str) -> list[Block]:
    """Return the fenced blocks of a document in order."""
    blocks = []
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        opened = _FENCE.match(line)
        if opened is None:
            continue
        indent, fence = len(opened["indent"]), opened["fence"]
        inside = []
        for _, inner in lines:
            if inner.strip() == fence:
                break
            inside.append(inner[indent:])
        else:
            raise AssertionError(f"{name}:{number}: this block never ends")
        language, *words = opened["info"].split() or [""]
        blocks.append(Block(f"{name}:{number}", language, tuple(words), "".join(f"{line}\n" for line in inside)))
    return blocks


def is_trace(text: str) -> bool:
    """Tell whether JSON is a trace, not a configuration."""
    try:
        return "open" in json.loads(text.splitlines()[0])
    except ValueError:
        return False


class _Caught(io.TextIOWrapper):
    """What a command prints, as text or as bytes."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self) -> str:
        self.flush()
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue().decode()


class Player:
    """Plays the blocks of one document in order, in a folder that its named blocks are saved to.

    `played` counts the blocks by what was done with them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "conformance").symlink_to(ROOT / "conformance")
        self.played: dict[str, int] = {}
        self._output = ""
        self._names: dict[str, Any] = {}

    def play(self, block: Block) -> None:
        """Do what the block's language says; raise `AssertionError` where the document is wrong."""
        players: dict[str, Callable[[Block], str]] = {
            "json": self._json,
            "json5": self._json,
            "jsonl": self._json,
            "console": self._console,
            "sh": self._commands,
            "python": self._python,
            "toml": self._rules,
            "text": self._text,
            "mermaid": lambda _: "picture",
        }
        assert block.language in players, f"{block.place}: nobody tests blocks in `{block.language}`"
        if block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        try:
            kind = players[block.language](block)
        except AssertionError as wrong:
            raise AssertionError(f"{block.place}: {wrong}") from wrong
        self.played[kind] = self.played.get(kind, 0) + 1

    def _json(self, block: Block) -> str:
        file = block.file or f"unnamed.{block.language}"
        (self.folder / file).write_text(block.text, encoding="utf-8")
        if block.language == "jsonl" or is_trace(block.text):
            code, shown, complaints = self._loopguard("replay", "--json", file)
            assert code in (0, 1), complaints
            assert complaints == ""
            assert shown
            return "trace"
        code, _, complaints = self._loopguard("config", "check", file)
        assert code == (2 if "refused" in block.words else 0), complaints or "it is not refused"
        return "configuration"

    def _console(self, block: Block) -> str:
        sessions = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
        assert len(sessions) > 1, "no command"
        assert sessions[0] == "", "text before the first command"
        code = 0
        for session in sessions[1:]:
            command, _, expected = session.partition("\n")
            words = shlex.split(command, comments=True)
            if words == ["echo", "$?"]:
                shown = f"{code}\n"
            else:
                assert words[0] == "loopguard", f"`{command}` is nothing that a test may run"
                code, *both = self._loopguard(*words[1:])
                shown = "".join(both)
            assert matches(expected, shown), f"`{command}` shows something else:\n{shown}"
        return "console"

    def _commands(self, block: Block) -> str:
        for line in block.text.splitlines():
            words = shlex.split(line, comments=True)
            if not words:
                continue
            if words[0] == "loopguard":
                code, shown, complaints = self._loopguard(*words[1:])
                assert code in (0, 1), f"`{line}` ends with {code}: {complaints}"
                assert shown
            else:
                check_command(words)
        return "commands"

    def _python(self, block: Block) -> str:
        if "continued" not in block.words:
            self._names = {"__name__": "example"}
        output = io.StringIO()
        with chdir(self.folder), redirect_stdout(output):
            if ADDRESS in block.text:
                with serving() as (address, _):
                    # A guard that is away must not look like one that allows.
                    away = "" if "on_unavailable=" in block.text else ', on_unavailable="block"'
                    text = block.text.replace(ADDRESS, f'"{address}", deadline_s={_PATIENCE_S}{away}')
                    exec(compile(text, block.place, "exec"), self._names)
                assert self._names["run"].decided_unavailable == 0
            else:
                exec(compile(block.text, block.place, "exec"), self._names)
        self._output = output.getvalue()
        return "python"

    def _rules(self, block: Block) -> str:
        own = RuleSet(parse_file(block.text, block.place))
        assert broken_examples(own.before(load_rules("openclaw"))) == []
        return "rules"

    def _text(self, block: Block) -> str:
        if "output" in block.words:
            assert matches(block.text, self._output), f"the Python block before it prints:\n{self._output}"
        return "output" if "output" in block.words else "text"

    def _loopguard(self, *words: str) -> tuple[int, str, str]:
        if words[0] == "serve":
            with chdir(self.folder), serving(*words[1:]) as (_, lines):
                return 0, "".join(lines), ""
        shown, complaints = _Caught(), _Caught()
        with chdir(self.folder), redirect_stdout(shown), redirect_stderr(complaints):
            code = cli.run(list(words))
        return code, shown.text(), complaints.text()


def matches(expected: str, shown: str) -> bool:
    """Compare what is shown, but for white space within lines; `…` stands for anything, alone on a line for lines."""
    pattern = ""
    for line in expected.splitlines():
        words = re.escape(" ".join(line.split())).replace("…", ".*")
        pattern += r"(?:.*\n)*" if line.strip() == "…" else f"{words}\n"
    plain = "".join(" ".join(line.split()) + "\n" for line in shown.splitlines())
    return re.fullmatch(pattern, plain) is not None


def check_command(words: list[str]) -> None:
    """Hold that what a command names is there, for commands that take too long or too much to run."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    program, *arguments = words
    if program == "make":
        missing = [target for target in arguments if not re.search(rf"^{target}:", makefile, re.MULTILINE)]
    elif program == "pip":
        missing = [extra for extra in re.findall(r"\[(\w+)\]", " ".join(arguments)) if extra not in extras]
    else:
        paths = [word for word in words if "/" in word and not word.startswith("-")]
        assert paths, f"`{shlex.join(words)}`: nobody checks this command"
        missing = [path for path in paths if not _place(path).exists()]
    assert missing == [], f"`{shlex.join(words)}`: {missing} not there"


def _place(path: str) -> Path:
    # The environment that the tests run in need not be the one that `make` creates.
    tool = path.removeprefix(".venv/bin/")
    return ROOT / path if tool == path else Path(sys.executable).with_name(tool)


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[str, list[str]]]:
    """Run `loopguard serve` on a free port; yield its address and what it said until it was ready."""
    command = [str(Path(sys.executable).with_name("loopguard")), "serve", *arguments]
    environment = {**os.environ, "LOOPGUARD_ADDRESS": "127.0.0.1:0"}
    server = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert server.stdout is not None
    assert server.stderr is not None
    overdue = threading.Timer(_PATIENCE_S, server.kill)
    overdue.start()
    try:
        lines = []
        # The log is written in its own time, which may be after the line on standard output.
        for line in server.stderr:
            lines.append(line)
            if '"event": "listening' in line:
                break
        lines.append(server.stdout.readline())
        if not lines[-1].startswith("loopguard listening on "):
            raise AssertionError(f"`{shlex.join(command)}` did not start: {''.join(lines)}")
        overdue.cancel()
        yield lines[-1].split()[-1], lines
    finally:
        overdue.cancel()
        server.terminate()
        server.communicate()


def read_tables(text: str) -> list[list[list[str]]]:
    """Return the tables of a document: rows of cells, the heading first."""
    tables: list[list[list[str]]] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            tables.append([])
        inside = True
        if not re.fullmatch(r"[|\s:-]+", line):
            tables[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))])
    return tables


def read_links(text: str) -> list[str]:
    """Return the links of a document that stay in the repository."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link]


def anchors(text: str) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
