"""Readable output of programs, without terminal codes, and with invisible characters escaped."""

from __future__ import annotations

import re

from atlas.core.unseen import escape_invisible, has_invisible

_CODES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and movements
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\)"  # titles and links: a longer one stays in sight
    r"|\x1b[ -/]*[0-OQ-WYZ`-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_OVERSTRUCK = re.compile(r"_\x08(?=[^\n\x08])|([^\n\x08])\x08(?=\1)")
"""The strokes under a letter that is underlined or bold, as manual pages print them."""

_LINE_ENDS = re.compile(r"\r\n?")


def readable(text: str) -> str:
    """Remove terminal codes from a text, and write other invisible characters as Python escapes.

    No readable text is lost: a line that a program overwrites remains as a separate line.
    """
    if not has_invisible(text):
        return text
    bare = _LINE_ENDS.sub("\n", _OVERSTRUCK.sub("", _CODES.sub("", text)))
    return "\n".join(escape_invisible(line) if has_invisible(line) else line for line in bare.split("\n"))
