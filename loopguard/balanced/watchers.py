"""What runs of profile `balanced` share within one configuration: thresholds, tool classes, who started whom."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from loopguard.balanced_limits import build_limits
from loopguard.course import Lineage
from loopguard.facts import Describer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopguard._pack import Reader
    from loopguard.balanced.run import BalancedRun

#: How many runs are remembered for those that they start; a run may have ended before its child begins.
_LINEAGES: Final = 1024


class Watchers:
    """Begins the watch over runs. Not thread-safe."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        """Take what stands under `loopguard.profiles.balanced`. Raises `InvalidConfig`."""
        self._limits = build_limits(table)
        self._describer = Describer(self._limits.classes)
        self._lineages: OrderedDict[tuple[str, str], Lineage] = OrderedDict()

    def begin(self, run: BalancedRun, data: Reader | None = None) -> None:
        """Begin the watch over an empty run, below the run that started it if that is known.

        Of a run that is restored, `data` holds what it and the runs above it handed on.
        """
        if data is not None and run.watches:
            lineage = Lineage.unpack(data, run.tenant, self._lineages)
        else:
            parent = self._lineages.get((run.tenant, run.parent_run_id)) if run.parent_run_id else None
            lineage = self._lineages[run.tenant, run.run_id] = Lineage(run.run_id, parent)
        while len(self._lineages) > _LINEAGES:
            self._lineages.popitem(last=False)
        run.watch_with(self._limits, self._describer, lineage)
