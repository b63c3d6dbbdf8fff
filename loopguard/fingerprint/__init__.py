"""Turns calls and outcomes into digests."""

from loopguard.fingerprint.examples import broken_examples
from loopguard.fingerprint.fingerprinter import Fingerprinter, default_fingerprinter, tool_name
from loopguard.fingerprint.prints import CallPrint, Kind, OutcomePrint
from loopguard.fingerprint.profiles import Fingerprinters

__all__ = [
    "CallPrint",
    "Fingerprinter",
    "Fingerprinters",
    "Kind",
    "OutcomePrint",
    "broken_examples",
    "default_fingerprinter",
    "tool_name",
]
