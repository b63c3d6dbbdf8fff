"""Many runs: opened, found, closed and evicted."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from loopguard._pack import Reader
from loopguard.balanced.run import BalancedRun
from loopguard.balanced.watchers import Watchers
from loopguard.config import Configuration
from loopguard.config.loop_detection import unpack_detection
from loopguard.detectors import PROFILES
from loopguard.errors import InvalidConfig, InvalidFrame, InvalidSnapshot, Reason
from loopguard.fingerprints import Fingerprinters
from loopguard.model import DIGEST_SCHEME, Mode, RunOpen
from loopguard.openclaw.judgement import Judge
from loopguard.openclaw.run import OpenclawRun
from loopguard.snapshot import read_head
from loopguard.surroundings import Surroundings
from loopguard.tool_name import BLANK

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard.config import LoopDetection
    from loopguard.events import Event
    from loopguard.fingerprints import Fingerprinter
    from loopguard.run import Run

#: How many different judges are kept for sharing between runs.
_SHARED: Final = 1024


class Engine:
    """Holds the open runs. Not thread-safe; `now` is only used to tell idle runs."""

    def __init__(
        self,
        configuration: Configuration | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        on_event: Callable[[Event], None] | None = None,
        fingerprinter: Fingerprinter | None = None,
        history_limit: int | None = None,
    ) -> None:
        """Start without runs. `history_limit` is the largest `historySize` that a run may ask for."""
        self._runs: dict[tuple[str, str] | str, Run] = {}
        self._now = now
        self._on_event = on_event
        self._fingerprinter = fingerprinter
        self._history_limit = history_limit
        self.configure(configuration or Configuration.empty())

    def configure(self, configuration: Configuration) -> None:
        """Use another configuration for runs opened from now on; open runs keep theirs.

        Raises `InvalidConfig`; then nothing has changed.
        """
        with configuration.placing():
            self._check_history(configuration)
            fingerprinters = Fingerprinters(configuration.rules, PROFILES)
            watchers = Watchers(configuration.profiles.get("balanced", {}))
        self.configuration = configuration
        self._fingerprinters = fingerprinters
        # Settings of single tools take no part in equality, so judges are shared within one configuration only.
        self._judges: dict[tuple[str, LoopDetection], Judge] = {}
        self._around: dict[str, Surroundings] = {}
        self._watchers = watchers
        #: Configurations of restored runs, by their bytes; a file may say other things about tools by now.
        self._restored: dict[tuple[str, bytes], tuple[LoopDetection, Judge]] = {}

    def _check_history(self, configuration: Configuration) -> None:
        for agent_id in ("", *configuration.agents):
            path = configuration.path_of(agent_id, "historySize")
            self._refuse_history(configuration.effective(agent_id), path)

    def _refuse_history(self, effective: LoopDetection, path: tuple[str | int, ...] = ()) -> None:
        """Raise `InvalidConfig` for a history that is larger than this engine keeps."""
        size, limit = effective.history_size, self._history_limit
        if limit is not None and size > limit:
            raise InvalidConfig("historySize", f"`historySize` must be at most {limit} here, not {size}", path)

    def check_examples(self) -> None:
        """Run the examples of the configuration's own rules. Raises `InvalidConfig` for one that doesn't hold."""
        with self.configuration.placing():
            self._fingerprinters.check_examples(self.configuration.profile)

    def fingerprinter(self, profile: str = "") -> Fingerprinter:
        """Return what makes the digests of runs of a profile; none is that of the configuration."""
        return self._fingerprinter or self._fingerprinters.of(profile or self.configuration.profile)

    def open(
        self,
        run: RunOpen | str,
        *,
        tenant: str = "",
        config: dict[str, Any] | None = None,
        agent_id: str = "",
        mode: Mode | None = None,
        profile: str = "",
    ) -> Run:
        """Open an empty run, in place of one with the same id. Raises `InvalidConfig`; then nothing has changed.

        `config`, `agent_id`, `mode` and `profile` go with a run given by its id; set, they take precedence over what a
        `RunOpen` says.
        """
        opened = RunOpen(run) if isinstance(run, str) else run
        if config is not None or agent_id or mode is not None or profile:
            opened = replace(
                opened,
                config=config or opened.config,
                agent_id=agent_id or opened.agent_id,
                mode=opened.mode if mode is None else mode,
                profile=profile or opened.profile,
            )
        profile, effective = self.check(opened)
        run_id = opened.run_id.strip(BLANK)
        fresh = self._begin(opened, run_id, tenant, profile, effective)
        self._runs[_key(run_id, tenant)] = fresh
        return fresh

    def _begin(
        self,
        opened: RunOpen,
        run_id: str,
        tenant: str,
        profile: str,
        config: LoopDetection,
        judge: Judge | None = None,
        data: Reader | None = None,
    ) -> Run:
        """Make an empty run; of one that is restored, `data` is read up to what the run itself reads."""
        shared: dict[str, Any] = {"run_id": run_id, "tenant": tenant, "profile": profile, "config": config}
        shared["around"] = self._around_of(profile)
        if profile != "balanced":
            return OpenclawRun(opened, judge=judge or self._judge_of(profile, config), **shared)
        fresh = BalancedRun(opened, **shared)
        self._watchers.begin(fresh, data)
        return fresh

    def restore(self, snapshot: bytes, *, run_id: str, tenant: str = "") -> Run:
        """Go on with a run from its snapshot (`loopguard.snapshot`), in place of one with the same id.

        It keeps its configuration; rules, notes and the thresholds of other profiles are this engine's. Raises
        `InvalidSnapshot`, also for the snapshot of another run; then nothing has changed.
        """
        head, data = read_head(snapshot)
        opened = head.opened
        if (opened.run_id, head.tenant) != (run_id, tenant):
            raise InvalidSnapshot("a snapshot of another run")
        if opened.profile not in PROFILES:
            raise InvalidSnapshot(f"a snapshot of a run of profile `{opened.profile[:64]}`, which is not known here")
        try:
            config, judge = self._restore_config(opened.profile, head.config)
            self._refuse_history(config)
            run = self._begin(opened, run_id, tenant, opened.profile, config, judge, data)
            run.unpack(data)
            data.finish()
        except ValueError as mistake:
            raise InvalidSnapshot(f"a snapshot that can't be read: {mistake}") from None
        self._runs[_key(run_id, tenant)] = run
        return run

    def _restore_config(self, profile: str, packed: bytes) -> tuple[LoopDetection, Judge]:
        known = self._restored.get((profile, packed))
        if known is not None:
            return known
        data = Reader(packed)
        config = unpack_detection(data)
        data.finish()
        restored = config, Judge(profile, config)
        if len(self._restored) < _SHARED:
            self._restored[profile, packed] = restored
        return restored

    def check(self, opened: RunOpen) -> tuple[str, LoopDetection]:
        """Return the profile and the configuration that a run would have. Raises `InvalidFrame`, as `open` would."""
        if not opened.run_id.strip(BLANK):
            raise InvalidConfig("runId", "`runId` must not be blank")
        if opened.digest_scheme not in (0, DIGEST_SCHEME):
            raise InvalidFrame(
                Reason.UNSUPPORTED_SCHEME,
                f"digest scheme {opened.digest_scheme} is not served, {DIGEST_SCHEME} is",
            )
        profile = opened.profile or self.configuration.profile
        if profile not in PROFILES:
            known = ", ".join(PROFILES)
            raise InvalidConfig("profile", f"`profile`: there is no profile `{profile[:64]}`; there are {known}")
        effective = self.configuration.effective(opened.agent_id, opened.config)
        self._refuse_history(effective)
        return profile, effective

    def _judge_of(self, profile: str, config: LoopDetection) -> Judge:
        judge = self._judges.get((profile, config))
        if judge is None:
            judge = Judge(profile, config)
            if len(self._judges) < _SHARED:
                self._judges[profile, config] = judge
        return judge

    def _around_of(self, profile: str) -> Surroundings:
        around = self._around.get(profile)
        if around is None:
            notes = self.configuration.notes
            around = Surroundings(self.fingerprinter(profile), notes, self._now, self._on_event)
            self._around[profile] = around
        return around

    def run(self, run_id: str, tenant: str = "") -> Run:
        """Return an open run. Raises `InvalidFrame`."""
        found = self._runs.get(_key(run_id.strip(BLANK), tenant))
        if found is None:
            raise InvalidFrame(Reason.INVALID_FRAME, "no run of this id is open")
        return found

    def close(self, run_id: str, tenant: str = "") -> None:
        """Forget a run; one that isn't open is no error."""
        run = self._runs.pop(_key(run_id.strip(BLANK), tenant), None)
        if run is not None:
            run.closed = True

    def evict(self, idle_s: float) -> list[Run]:
        """Forget the runs that had no frame for more than `idle_s` seconds, and return them."""
        before = self._now() - idle_s
        idle = [(key, run) for key, run in self._runs.items() if run.touched < before]
        for key, run in idle:
            del self._runs[key]
            run.closed = True
        return [run for _, run in idle]

    @property
    def failures(self) -> int:
        """How many batches and outcomes loopguard itself could not judge, since the last `configure`."""
        return sum(around.failures for around in self._around.values())

    def __len__(self) -> int:
        return len(self._runs)


def _key(run_id: str, tenant: str) -> tuple[str, str] | str:
    # Without tenants, which is the common case, a run costs no tuple.
    return (tenant, run_id) if tenant else run_id
