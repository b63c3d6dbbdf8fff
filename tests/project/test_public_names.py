"""What `import loopguard` promises."""

import importlib
import pkgutil
import types

import loopguard


def test_every_public_name_is_there() -> None:
    missing = [name for name in loopguard.__all__ if getattr(loopguard, name, None) is None]

    assert missing == []


def test_no_module_hides_a_public_name() -> None:
    modules = {module.name for module in pkgutil.iter_modules(loopguard.__path__)}
    for name in modules - {"v1", "cli"}:
        importlib.import_module(f"loopguard.{name}")

    hidden = [name for name in loopguard.__all__ if isinstance(getattr(loopguard, name), types.ModuleType)]

    assert modules.isdisjoint(loopguard.__all__)
    assert hidden == []
