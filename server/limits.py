"""What the service accepts, and for how long it waits."""

from __future__ import annotations

from dataclasses import dataclass

from loopguard import model
from loopguard.errors import InvalidFrame, Reason

MIB = 1 << 20
#: How much larger a message gRPC itself lets through than we do, so that a message a little too large gets our answer.
GRPC_HEADROOM_BYTES = MIB
#: How many streams more gRPC lets through on a connection than we do: beyond its own limit a client waits in silence.
GRPC_HEADROOM_STREAMS = 256
#: No setting allows larger batches.
CALLS_PER_BATCH_MAX = 1024
#: What one message of many runs may hold in all, calls and records of histories together: nobody else is answered
#: while it is judged.
CALLS_PER_MESSAGE = 65_536


#: Ids and names are kept as they are, for as long as their run or its history has them; payloads are not.
NAME_CHARACTERS = 65_536


def check_names(*names: str) -> None:
    """Raise `InvalidFrame` for an id or a name that is too long to be kept."""
    for name in names:
        if len(name) > NAME_CHARACTERS:
            message = f"an id or a name of {len(name)} characters; at most {NAME_CHARACTERS}"
            raise InvalidFrame(Reason.TOO_LARGE, message)


class LimitExceeded(InvalidFrame):
    """A frame that is refused for a limit's sake; `retry_after_s` says when it may fit, `None` where nobody knows."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(Reason.LIMIT_EXCEEDED, message)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What clients may send (told to them in `Opened` as far as it is about frames), and how much is kept for them.

    `idle_timeout_s` is how long a run may be silent on an open stream, `run_ttl_s` how long one without stream is kept
    for resuming, `interrupted_runs` how many of those a tenant has at most, `watch_events` how many of its events are
    kept for watchers.
    """

    message_bytes: int = 16 * MIB
    frame_bytes: int = 16 * MIB
    calls_per_batch: int = CALLS_PER_BATCH_MAX
    in_flight: int = 64
    history_size: int = 1_000
    frames_per_message: int = 4_096
    records_per_history: int = 1_024
    runs: int = 250_000
    runs_per_tenant: int = 100_000
    interrupted_runs: int = 50_000
    streams_per_connection: int = 1_000
    watch_events: int = 4_096
    calls_per_s: float = 500_000.0
    run_ttl_s: float = 900.0
    idle_timeout_s: float = 3_600.0

    def for_clients(self) -> model.Limits:
        """Return what `Opened` tells."""
        return model.Limits(
            message_bytes=self.message_bytes,
            frame_bytes=self.frame_bytes,
            calls_per_batch=self.calls_per_batch,
            in_flight=self.in_flight,
            history_size=self.history_size,
            frames_per_message=self.frames_per_message,
            records_per_history=self.records_per_history,
        )
