"""Turns calls and outcomes into digests."""

from loopguard._prints import CallPrint, OpenCall, OutcomePrint, Readers, RunState, Streak, admit, report, settle
from loopguard.fingerprints.examples import broken_examples
from loopguard.fingerprints.fingerprinter import Fingerprinter, default_fingerprinter, tool_name
from loopguard.fingerprints.kind import Kind
from loopguard.fingerprints.profiles import Fingerprinters

__all__ = [
    "CallPrint",
    "Fingerprinter",
    "Fingerprinters",
    "Kind",
    "OpenCall",
    "OutcomePrint",
    "Readers",
    "RunState",
    "Streak",
    "admit",
    "broken_examples",
    "default_fingerprinter",
    "report",
    "settle",
    "tool_name",
]
