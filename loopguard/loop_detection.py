"""Stands in until all imports are moved."""

from loopguard.config.loop_detection import FIELDS, LoopDetection

__all__ = ["FIELDS", "LoopDetection"]
