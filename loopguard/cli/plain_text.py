"""Makes text of others safe for a terminal: a run's name must neither move the cursor nor begin a line."""

from __future__ import annotations

#: Controls (C0, DEL, C1), the line separators, and the marks that turn the direction of writing.
_ACTIVE = (*range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_ESCAPES = {code: repr(chr(code))[1:-1] for code in _ACTIVE}


def plain(text: str) -> str:
    """Return the text with every character that a terminal would act on written as an escape."""
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPES)
