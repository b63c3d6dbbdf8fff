"""What import-linter can't see: who may use the compiled core, and by which name the server is imported."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE_USERS = {"__init__", "fingerprints", "history", "trace", "cli", "facts"}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(folder: str) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found
    return found


def test_only_the_layers_beside_the_text_use_the_core() -> None:
    users = {
        path.relative_to(ROOT / "loopguard").parts[0].removesuffix(".py")
        for path in sources("loopguard")
        if {"loopguard._core", "loopguard._prints", "loopguard._ring"} & set(imports(path))
    }

    assert users <= CORE_USERS


def test_the_server_has_one_name() -> None:
    offenders = [
        str(path)
        for folder in ("loopguard", "server", "tests", "examples", "benchmarks")
        for path in sources(folder)
        if any(name == "server" or name.startswith("server.") for name in imports(path))
    ]

    assert offenders == []


def test_the_server_uses_the_environment_only_in_its_settings() -> None:
    offenders = [
        str(path.relative_to(ROOT))
        for folder in ("loopguard", "server")
        for path in sources(folder)
        if path.name != "settings.py" and any(name in ("environ", "getenv") for name in names(path))
    ]

    assert offenders == []


def names(path: Path) -> set[str]:
    return {
        node.attr for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Attribute)
    }


def test_no_json_parser_stands_before_a_digest() -> None:
    files = [*sources("loopguard/fingerprints"), *sources("loopguard/rules")]
    imported = {name.partition(".")[0] for path in files for name in imports(path)}

    assert len(files) > 8
    assert imported <= {"__future__", "collections", "dataclasses", "enum", "fnmatch", "functools", "importlib",
                        "loopguard", "operator", "re", "tomllib", "typing"}  # fmt: skip
    assert "loads" not in (ROOT / "loopguard/_core.pyx").read_text("utf-8")
