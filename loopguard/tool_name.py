"""How tools are called: the names that agents use, and the one under which loopguard knows a tool."""

from __future__ import annotations

from typing import Final

#: Unicode White_Space and U+FEFF: `str.strip` alone would take more (U+001C to U+001F) and less.
BLANK: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
#: Tools that have a second name; rules and signatures know the one on the right.
ALIASES: Final = {"bash": "exec", "apply-patch": "apply_patch", "cron": "automations"}


def normal_name(name: str) -> str:
    """Return the name under which a tool is known; empty for a blank one."""
    name = name.strip(BLANK).lower()
    return ALIASES.get(name, name)
