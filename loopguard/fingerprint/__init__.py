"""Turns calls and outcomes into digests."""

from loopguard.fingerprint.examples import broken_examples
from loopguard.fingerprint.fingerprinter import Fingerprinter, default_fingerprinter, tool_name
from loopguard.fingerprint.prints import CallPrint, Kind, OutcomePrint

__all__ = [
    "CallPrint",
    "Fingerprinter",
    "Kind",
    "OutcomePrint",
    "broken_examples",
    "default_fingerprinter",
    "tool_name",
]
