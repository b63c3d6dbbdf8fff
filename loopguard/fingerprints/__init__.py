"""Turns calls and outcomes into digests."""

from loopguard.fingerprints.examples import broken_examples
from loopguard.fingerprints.fingerprinter import Fingerprinter, default_fingerprinter, tool_name
from loopguard.fingerprints.prints import CallPrint, Kind, OpenCall, OutcomePrint, append_unless, settle
from loopguard.fingerprints.profiles import Fingerprinters

__all__ = [
    "CallPrint",
    "Fingerprinter",
    "Fingerprinters",
    "Kind",
    "OpenCall",
    "OutcomePrint",
    "append_unless",
    "broken_examples",
    "default_fingerprinter",
    "settle",
    "tool_name",
]
