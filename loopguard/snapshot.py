"""A run as bytes: all that answers to later frames depend on, so that another process can go on with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import xxhash

from loopguard._pack import Reader, Writer
from loopguard.config.loop_detection import pack_detection
from loopguard.errors import InvalidSnapshot
from loopguard.model import Mode, RunOpen

if TYPE_CHECKING:
    from loopguard.config import LoopDetection
    from loopguard.run import Run

#: Raised with every change of what is written; other versions are refused, and the client tells the run anew.
VERSION: Final = 3
#: The order in which snapshots know them.
_MODES: Final = (Mode.ENFORCE, Mode.OBSERVE)
_SUM_SIZE: Final = 8
#: How many different configurations are kept as bytes; many runs share one.
_SHARED: Final = 1024

_packed: dict[int, tuple[LoopDetection, bytes]] = {}


class Head:
    """How a run was opened; `config` is its effective configuration as bytes."""

    __slots__ = ("config", "opened", "tenant")

    def __init__(self, opened: RunOpen, tenant: str, config: bytes) -> None:
        self.opened = opened
        self.tenant = tenant
        self.config = config


def dump_run(run: Run) -> bytes:
    """Return a snapshot of a run. It costs a few microseconds, and the run goes on as if it had not been taken."""
    out = Writer()
    out.number(VERSION)
    out.text(run.run_id)
    out.text(run.tenant)
    out.text(run.agent_id)
    out.text(run.parent_run_id)
    out.text(run.profile)
    out.number(_MODES.index(run.mode))
    out.blob(_pack_config(run.config))
    run.pack(out)
    written = out.written()
    return written + xxhash.xxh3_64_digest(written)


def read_head(snapshot: bytes) -> tuple[Head, Reader]:
    """Return how the run of a snapshot was opened, and the rest to read. Raises `InvalidSnapshot`."""
    written = snapshot[:-_SUM_SIZE]
    if not written or xxhash.xxh3_64_digest(written) != snapshot[-_SUM_SIZE:]:
        raise InvalidSnapshot("a snapshot that is cut or changed: its sum does not fit")
    data = Reader(written)
    try:
        version = data.number()
        if version != VERSION:
            raise InvalidSnapshot(f"a snapshot of version {version}; this loopguard reads version {VERSION}")
        run_id, tenant, agent_id, parent_run_id = data.text(), data.text(), data.text(), data.text()
        profile, mode = data.text(), _MODES[data.small(1)]
        opened = RunOpen(run_id, agent_id=agent_id, parent_run_id=parent_run_id, profile=profile, mode=mode)
        return Head(opened, tenant, data.blob()), data
    except InvalidSnapshot:
        raise
    except ValueError as mistake:
        raise InvalidSnapshot(f"a snapshot that can't be read: {mistake}") from None


def _pack_config(config: LoopDetection) -> bytes:
    # Runs share their configurations, so the same object is nearly always met again.
    known = _packed.get(id(config))
    if known is not None:
        return known[1]
    out = Writer()
    pack_detection(config, out)
    packed = out.written()
    if len(_packed) >= _SHARED:
        del _packed[next(iter(_packed))]
    _packed[id(config)] = (config, packed)
    return packed
