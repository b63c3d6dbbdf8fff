"""Prints of outcomes in one line, for the tests of outcomes."""

from __future__ import annotations

import json
from typing import Any

from loopguard.fingerprints import OutcomePrint, default_fingerprinter
from loopguard.model import Call, Outcome, Status

UNSET = object()


def seen(
    result: Any = UNSET,
    *,
    tool: str = "t",
    args: dict[str, Any] | None = None,
    status: Status | None = None,
    error: Any = UNSET,
    private: Any = UNSET,
    digest: bytes | None = None,
) -> OutcomePrint:
    """Return the print of an outcome; bytes stand for JSON text as it is."""

    def text(value: Any) -> bytes | None:
        if value is UNSET or isinstance(value, bytes):
            return None if value is UNSET else value
        return json.dumps(value).encode()

    call = default_fingerprinter().call(Call(tool, text(UNSET if args is None else args)))
    return default_fingerprinter().outcome(call, Outcome("", status, text(result), digest, text(error), text(private)))


def shaped(text: str = "", **details: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "details": details}


def wrapped(nonce: str, inside: str = "x") -> str:
    return f'<<<EXTERNAL_UNTRUSTED_CONTENT id="{nonce}">>>{inside}<<<END_EXTERNAL_UNTRUSTED_CONTENT id="{nonce}">>>'
