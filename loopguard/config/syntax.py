"""Reads JSON5, and says in plain words what is wrong with what is none."""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

import pyjson5

from loopguard.config.places import Place, show_value
from loopguard.errors import InvalidConfig

_CHARACTER = re.compile(r"U\+([0-9a-fA-F]{4,6})")
_NEAR = re.compile(r" (?:starting )?near (\d+)")
_SKIPPED = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WHOLE_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_FOUND = r"(?:, found (?P<found>\S+))?"
#: What pyjson5 says -> what it means, filled with what was found there.
_WORDS: Final[tuple[tuple[str, str], ...]] = (
    (r"No JSON data found", "there is nothing in it"),
    (r"Unclosed b'(?P<what>object|array|comment)'", "the {what} that starts here is never closed"),
    (r"Unclosed b'string'", "the text that starts here has no closing quote on its line"),
    (r"Unclosed b'NumericLiteral'", "the number that starts here is not complete"),
    (r"Stray b'(?P<what>comma|colon)'", "a {what} too many"),
    (rf"Expected b'comma' or (?P<close>U\+\w+){_FOUND}", "a comma or `{close}` is missing before {found}"),
    (rf"Expected b'colon'{_FOUND}", "a colon is missing before {found}"),
    (rf"Expected b'JSON5Value'{_FOUND}", "a value is missing before {found}"),
    (rf"Expected b'Identifier\w*'{_FOUND}", "a key without quotes can't start with {found}"),
    (rf"Expected b'hexadecimal character'{_FOUND}", "an escape is not complete: a hexadecimal digit is missing"),
    (r"Expected U\+\w+", "an unknown word; texts stand in quotes"),
    (r"Extra data U\+\w+", "something follows behind the end of the configuration"),
    (r"Maximum nesting level exceeded", "too many objects and arrays inside one another"),
)


def parse_json5(text: str, source: str) -> dict[str, Any]:
    """Parse an object in JSON5. Raises `InvalidConfig`, whose message starts with the place of the mistake."""
    try:
        data = pyjson5.decode(text)
    except pyjson5.Json5DecoderException as mistake:
        _refuse(text, source, str(mistake.args[0]))
    if not isinstance(data, dict):
        raise InvalidConfig("", f"{source}: a configuration is an object, not {show_value(data)}")
    return data


def _refuse(text: str, source: str, message: str) -> NoReturn:
    near = _NEAR.search(message)
    index = int(near[1]) if near else 0
    if message.startswith("Extra data"):
        blank = _SKIPPED.match(text, index)
        index = blank.end() if blank else index
    else:
        index = max(index - (2 if "comment" in message else 1), 0)
    before = text[:index]
    place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
    words = _plain(_NEAR.sub("", message))
    if "NumericLiteral" in message and _WHOLE_NUMBER.match(text, index):
        words = "the number that starts here is too large"
    raise InvalidConfig("", f"{source}:{place.line}:{place.column}: not JSON5: {words}")


def _plain(message: str) -> str:
    for pattern, words in _WORDS:
        matched = re.match(pattern, message)
        if matched is not None:
            filled = {name: _spelled(value, name) for name, value in matched.groupdict(default="").items()}
            return words.format(**filled)
    return _CHARACTER.sub(lambda code: f"`{chr(int(code[1], 16))}`", message.replace("b'", "'"))


def _spelled(value: str, name: str) -> str:
    code = _CHARACTER.fullmatch(value)
    if code is None:
        return value or "the end"
    letter = chr(int(code[1], 16))
    if name == "close":
        return letter
    return f"`{letter}`" if letter.isprintable() and letter != " " else value
