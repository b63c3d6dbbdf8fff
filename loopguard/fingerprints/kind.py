"""What the records of a run are."""

from enum import IntEnum


class Kind(IntEnum):
    """What a record is."""

    PENDING = 0
    DONE = 1
    REJECT = 2
    VETO = 3
