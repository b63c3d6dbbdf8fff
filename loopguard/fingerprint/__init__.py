"""Turns calls and outcomes into digests."""

from loopguard.fingerprint.fingerprinter import Fingerprinter, default_fingerprinter, tool_name
from loopguard.fingerprint.prints import CallPrint, Kind, OutcomePrint

__all__ = ["CallPrint", "Fingerprinter", "Kind", "OutcomePrint", "default_fingerprinter", "tool_name"]
