"""The configuration file: OpenClaw's `tools.loopDetection` and `agents`, and loopguard's own table."""

from loopguard.config.configuration import Configuration, load_configuration
from loopguard.config.loop_detection import DEFAULTS, LoopDetection, ToolSettings

__all__ = ["DEFAULTS", "Configuration", "LoopDetection", "ToolSettings", "load_configuration"]
