"""What the guard tells the model; no note ever quotes arguments or results."""

from __future__ import annotations

from string import Formatter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from loopguard.balanced.notes import BALANCED_NOTES
from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "unknown_tool_repeat.critical": (
            "There is no tool {missing_tool}; it was called {count} times in a row. This call is blocked. "
            "Continue without it. {advice}"
        ),
        "global_circuit_breaker.critical": (
            "{tool} gave identical {outcomes} {count} times; this call is blocked to stop a runaway loop. {advice}"
        ),
        "known_poll_no_progress.critical": (
            "{tool} was polled {count} times with the same arguments and made no progress; "
            "this call is blocked. {advice}"
        ),
        "known_poll_no_progress.warning": (
            "{tool} was polled {count} times with the same arguments and made no progress. "
            "Wait longer between polls, or report that the task failed."
        ),
        "ping_pong.critical": (
            "{count} calls in turn between {tool} and {paired_tool} with identical {outcomes}, "
            "so there is no progress; this call is blocked. {advice}"
        ),
        "ping_pong.warning": (
            "{count} calls in turn between {tool} and {paired_tool}. If this makes no progress, stop and report it."
        ),
        "generic_repeat.critical": (
            "{tool} was called {count} times with identical {outcomes}; this call is blocked. {advice}"
        ),
        "generic_repeat.warning": (
            "{tool} was called {count} times with identical arguments. If this makes no progress, stop and report it."
        ),
        "argument_churn.warning": (
            "{tool} was called {count} times over {variants} variants of its arguments with one and the same "
            "{outcome}. The call is still allowed; if this makes no progress, stop and report it."
        ),
        "compaction_loop_persisted.critical": (
            "After the context was compacted, {tool} was called {count} times with identical arguments and {outcomes} "
            "(window {threshold}); the run is stopped. {advice}"
        ),
        "identical_error.critical": (
            "{tool} failed {count} times in a row with the same arguments and the same error; the turn is stopped. "
            "Check the arguments, or use a model with native tool calls. {advice}"
        ),
        "admission_failure.critical": "This call could not be checked for loops and is blocked. {advice}",
        "advice": "Do not repeat it: answer with what you have, ask, or use another tool or other arguments.",
        "blocked_sibling": "Not run because another call of this response, to {tool}, was blocked as a loop. {advice}",
        **BALANCED_NOTES,
    }
)
_WORDS: Final = frozenset(
    ("advice", "count", "missing_tool", "outcome", "outcomes", "paired_tool", "threshold", "tool", "variants")
)
#: Names come from the model, and notes go back to it.
_LONGEST_NAME: Final = 64


class Notes:
    """The texts of one configuration, by detector and level."""

    __slots__ = ("_templates",)

    def __init__(self, custom: Mapping[str, str | Mapping[str, str]] = MappingProxyType({})) -> None:
        """Lay custom texts over the defaults; one text stands for both levels. Raises `InvalidConfig`."""
        self._templates = dict(_DEFAULTS)
        for detector, texts in custom.items():
            for name, text in _by_level(detector, texts).items():
                _check(text, detector)
                # Every block says what to do instead, whatever else it says.
                blocks = name != "advice" and not name.endswith(".warning")
                self._templates[name] = f"{text} {{advice}}" if blocks and "{advice}" not in text else text

    def of(self, name: str, words: Mapping[str, object]) -> str:
        """Return the note `DETECTOR.LEVEL` (or `blocked_sibling`) with its words filled in."""
        filled = {word: _clean(value) for word, value in words.items()}
        return self._templates[name].format_map(_Words(filled, advice=self._templates["advice"]))


class _Words(dict[str, str]):
    def __missing__(self, word: str) -> str:
        return ""


def _by_level(detector: str, texts: str | Mapping[str, str]) -> dict[str, str]:
    """Return the texts by the names of notes. Raises `InvalidConfig` where there is no such note."""
    if isinstance(texts, str):
        names = [name for name in _DEFAULTS if name == detector or name.startswith(f"{detector}.")]
        named = dict.fromkeys(names or [detector], texts)
    else:
        named = {f"{detector}.{level}": text for level, text in texts.items()}
    for name in named:
        if name not in _DEFAULTS:
            path = ("loopguard", "notes", detector)
            raise InvalidConfig(".".join(path), f"`{'.'.join(path)}`: there is no note `{name}`", path)
    return named


def _check(text: str, detector: str) -> None:
    path = ("loopguard", "notes", detector)
    key = ".".join(path)
    try:
        parts = list(Formatter().parse(text))
    except ValueError as mistake:
        raise InvalidConfig(key, f"`{key}`: {mistake}", path) from None
    for _, word, layout, conversion in parts:
        if word in _WORDS and (layout or conversion):
            raise InvalidConfig(key, f"`{key}`: the placeholder {{{word}}} takes no format", path)
        if word is not None and word not in _WORDS:
            known = ", ".join(f"{{{known}}}" for known in sorted(_WORDS))
            raise InvalidConfig(key, f"`{key}`: unknown placeholder {{{word}}}; there are {known}", path)


def _clean(value: object) -> str:
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(value))
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
