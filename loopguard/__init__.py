"""loopguard: tells an agent gateway, call by call, whether an agent is stuck."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loopguard._core import Inspection, canonicalize, fingerprint, inspect
    from loopguard.client import AsyncGuardClient, GuardClient
    from loopguard.config import Configuration, load_configuration
    from loopguard.engine import Engine
    from loopguard.errors import LoopguardError
    from loopguard.model import Action, Call, CallBatch, Finding, Outcome, Record, RunOpen, Status, Verdict

#: Public names by the module that has them; imported on first use: `import loopguard` stays cheap and needs no grpc.
_HOMES = {
    "loopguard._core": ("Inspection", "canonicalize", "fingerprint", "inspect"),
    "loopguard.client": ("AsyncGuardClient", "GuardClient"),
    "loopguard.config": ("Configuration", "load_configuration"),
    "loopguard.engine": ("Engine",),
    "loopguard.errors": ("LoopguardError",),
    "loopguard.model": (
        "Action", "Call", "CallBatch", "Finding", "Outcome", "Record", "RunOpen", "Status", "Verdict",
    ),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Action", "AsyncGuardClient", "Call", "CallBatch", "Configuration", "Engine", "Finding", "GuardClient",
    "Inspection", "LoopguardError", "Outcome", "Record", "RunOpen", "Status", "Verdict", "__version__",
    "canonicalize", "fingerprint", "inspect", "load_configuration", "proto_dir",
]  # fmt: skip


def proto_dir() -> str:
    """Return the folder that holds `loopguard/v1/*.proto`, for generating stubs in other languages."""
    from pathlib import Path

    here = Path(__file__).parent
    # Inside an installed package; beside it in a checkout.
    return str(next(folder for folder in (here / "proto", here.parent / "proto") if folder.is_dir()))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("loopguard-grpc")
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'loopguard' has no attribute {name!r}")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return __all__
