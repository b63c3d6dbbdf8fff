"""Every example in the documents holds: configurations load, traces replay, commands and code show what is shown."""

import re
from pathlib import Path

import pytest

from tests.project.documents import ROOT, Block, Player, anchors, read_blocks, read_links

#: The documents with examples, and what has to be found in each: a reader that finds nothing tests nothing.
DOCUMENTS = {
    "README.md": {"python", "commands", "trace"},
    "CONTRIBUTING.md": {"python", "commands", "console", "rules"},
    "docs/loop-detection.md": {"python", "output", "console", "trace", "configuration"},
    "docs/configuration.md": {"python", "output", "console", "configuration"},
    "docs/detection.md": {"picture", "commands"},
    "docs/protocol.md": {"python", "picture"},
    "docs/security.md": {"text"},
    "docs/scaling.md": {"python", "output"},
    "examples/envoy/README.md": {"python"},
    "deploy/README.md": {"commands"},
}
LINKED = [*DOCUMENTS, "docs/README.md", "docs/operating.md", "docs/digests.md", "conformance/README.md"]

TRACE = '{"open": {"runId": "r"}}\n{"calls": [{"tool": "read", "args": {"path": "a"}}]}\n{"outcome": {"result": "x"}}\n'


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_example_holds(name: str, tmp_path: Path) -> None:
    blocks = read_blocks(text_of(name), name)
    player = Player(tmp_path)
    # The documents call the reader's own files by these names.
    (tmp_path / "runs.jsonl").write_text(TRACE)
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "runs.jsonl").write_text(TRACE)
    (tmp_path / "arguments.json").write_text('{"command": "make"}')

    for block in blocks:
        player.play(block)

    assert player.played.keys() >= DOCUMENTS[name]


@pytest.mark.parametrize("name", LINKED)
def test_links_lead_somewhere(name: str) -> None:
    for link in read_links(text_of(name)):
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), f"{name}: {link}"
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), f"{name}: {link}"


def test_the_index_names_every_document() -> None:
    links = read_links(text_of("docs/README.md"))

    assert {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"} <= set(links)


def test_files_that_contributors_are_sent_to_are_there() -> None:
    named = set(re.findall(r"`((?:\.?[\w-]+/)+[\w.-]*)`", text_of("CONTRIBUTING.md")))

    assert len(named) > 20
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def block(language: str, text: str, *words: str) -> Block:
    return Block("doc:1", language, words, text)


@pytest.mark.parametrize(
    "wrong",
    [
        block("", "text without a language\n"),
        block("yaml", "a: 1\n"),
        block("json5", "{loopguard: {nonsense: 1}}\n"),
        block("json5", "{}\n", "refused"),
        block("json", '{"open": {"runId": "r"}}\n{"nonsense": {}}\n'),
        block("json", '{"open": {"runId": "r"}}\n{"outcome": {"callId": "never asked"}}\n'),
        block("console", "$ loopguard --version\nsomething else\n"),
        block("console", "$ ls\n"),
        block("console", "no command\n"),
        block("sh", "loopguard replay nothing.jsonl\n"),
        block("sh", "make nonsense\n"),
        block("sh", "pip install '.[nonsense]'\n"),
        block("sh", "rm -r x\n"),
        block("sh", ".venv/bin/pytest tests/nonsense.py\n"),
        block("python", "assert False, 'no'\n"),
        block("text", "never printed\n", "output"),
    ],
    ids=lambda wrong: f"{wrong.language or 'none'}-{wrong.text.split()[-1]}",
)
def test_a_wrong_example_is_noticed(wrong: Block, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"^doc:1: |^no"):
        Player(tmp_path).play(wrong)


def test_a_block_that_never_ends_is_noticed() -> None:
    with pytest.raises(AssertionError, match="doc:2: this block never ends"):
        read_blocks("text\n```sh\nloopguard\n", "doc")


def test_blocks_in_lists_and_longer_fences_are_read() -> None:
    blocks = read_blocks("- x\n  ```sh one.txt\n  a\n  ```\n````text\n```\n````\n", "doc")

    assert [(found.language, found.file, found.text) for found in blocks] == [
        ("sh", "one.txt", "a\n"),
        ("text", "", "```\n"),
    ]
