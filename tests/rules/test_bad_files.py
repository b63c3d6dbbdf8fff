"""Each file below `bad` has one mistake, and its first line says how it is refused."""

from pathlib import Path

import pytest

from loopguard.errors import InvalidRule
from loopguard.rules import RuleSet, parse_file

BAD = sorted(Path(__file__).with_name("bad").glob("*.toml"))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_mistake_is_refused_with_file_rule_and_key(path: Path) -> None:
    text = path.read_text("utf-8")
    wanted = text.splitlines()[0].removeprefix("# ")

    with pytest.raises(InvalidRule) as refused:
        parse_file(text, path.name)

    assert wanted in str(refused.value)
    assert path.name in str(refused.value)


def test_there_are_bad_files() -> None:
    assert len(BAD) > 40


@pytest.mark.parametrize("tables", [None, "x", {}, [1], [{"name": "r", "tools": ["t"], "x": 1}]])
def test_tables_of_a_configuration_are_refused_alike(tables: object) -> None:
    with pytest.raises(InvalidRule, match=r"loopguard\.rules"):
        RuleSet.from_tables(tables, "loopguard.rules")
