"""What the service accepts, and for how long it waits."""

from __future__ import annotations

from dataclasses import dataclass

from loopguard import model

MIB = 1 << 20
#: How much larger a message gRPC itself lets through than we do, so that a message a little too large gets our answer.
GRPC_HEADROOM_BYTES = MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What clients may send (told to them in `Opened`), and how many runs are kept."""

    message_bytes: int = 16 * MIB
    frame_bytes: int = 16 * MIB
    calls_per_batch: int = 256
    in_flight: int = 64
    history_size: int = 1_000
    runs: int = 250_000

    def for_clients(self) -> model.Limits:
        """Return what `Opened` tells."""
        return model.Limits(
            message_bytes=self.message_bytes,
            frame_bytes=self.frame_bytes,
            calls_per_batch=self.calls_per_batch,
            in_flight=self.in_flight,
            history_size=self.history_size,
        )
