"""What profile `balanced` tells the model: what repeats, and what would end it. Never arguments or results."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_FINDINGS: Final = {
    "repeat": "{tool} was called {count} times with the same arguments and the same {outcome}; nothing changed.",
    "near_repeat": "{tool} was called {count} times in other spellings of the same arguments, with the same {outcome}.",
    "likely_repeat": "{tool} was called {count} times with the same arguments; the {outcomes} differ in details only.",
    "spread_repeat": "{tool} was called {count} times with the same arguments and {outcome}, other work in between.",
    "error_streak": "{tool} failed {count} times in the same way, whatever its arguments were.",
    "error_cascade": "The last {count} calls, of whatever tool, failed in the same way.",
    "same_answer": "{tool} gave the same answer {count} times, whatever it was asked.",
    "same_effect": "{tool} made the same change {count} times; each time it took effect again.",
    "cycle": "The same round of calls was made {count} times without anything new.",
    "stall": "The last {count} responses brought nothing new.",
    "rewrite": "{tool} wrote the same target {count} times in a row without looking at it.",
    "resend": "{tool} sent {count} messages to one address in a row without an answer.",
    "plan_churn": "The plan was rewritten {count} times in a row without any work in between.",
    "unknown_tools": "{count} calls in a row went to tools that do not exist. Use only tools that are offered.",
    "rejected_replies": "{count} replies could not be read as a call. Follow the format asked for, one call a reply.",
    "handed_on": "This task was handed from agent to agent {count} times. Do it here, or report why it can't be done.",
}
_WARNING: Final = " Try another way, or report what stands in the way."
_CRITICAL: Final = " This call is blocked. {advice}"

BALANCED_NOTES: Final[Mapping[str, str]] = MappingProxyType(
    {f"{name}.warning": text + _WARNING for name, text in _FINDINGS.items()}
    | {f"{name}.critical": text + _CRITICAL for name, text in _FINDINGS.items()}
)
