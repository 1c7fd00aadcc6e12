"""Rendering of records in a context block, so that stored text cannot imitate the block's own lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atlas.core.unseen import escape_invisible, shown_id
from atlas.llm.instructions import detect_injection, to_latin

FIELD_CHARACTERS = 1_200
"""Maximum characters of each field. Longer fields are truncated."""

CODE_CHARACTERS = 4_000

GIST_CHARACTERS = 80
"""Maximum characters of each field in a gist."""

LINE_PREFIX = "  | "
"""Prefix of each line of a stored text. Only the first line follows the field's name instead.

So no text can imitate a line of the block. With MiniLM's tokenizer, on 921 memories from real runs, the prefix adds
1.5% to the tokens of experiences, 1.8% to strategies, 3.4% to entries and 6.6% to concepts, whose code has many
lines. A fence around each text would add 3.4, 8.7, 8.5 and 3.9%. A fence around each memory would add 2.8, 2.2, 8.5
and 2.2%, but would not stop a text from imitating another field of its record.
"""

QUOTE = "> "
"""Prefix, after `LINE_PREFIX`, of each line of a text that resembles an instruction or a closing tag."""


class RecordText:
    """The text of a record in a context block: a heading that stored text cannot imitate, and the record's fields."""

    def __init__(self, kind: str, record_id: str, title: str, *, label: str = "", is_warning: bool = False) -> None:
        """Create the text with its heading.

        Args:
            label: Trusted text before the title.
            is_warning: Whether the record is shown as a warning, after all others.
        """
        self.label, self.is_warning = label, is_warning
        self.is_quoted = False
        """True if a part of the text is marked as quoted."""

        self._heading = (kind, record_id, title)
        self._fields: list[tuple[str, str]] = []
        self._is_gist = self._has_code = False
        self.lines = [self._first_line()]

    def add(self, name: str, text: str) -> None:
        """Add a field, unless its text is empty. Each line begins with the field's name or with `LINE_PREFIX`."""
        self._fields.append((name, text))
        truncated = self._truncate(text.strip())
        lines = [escape_invisible(line) for line in defang(truncated).splitlines() if line.strip()]
        if warning := self._warning_for(truncated):
            self.lines += [f"  {name}: {warning}", *(f"{LINE_PREFIX}{QUOTE}{line}" for line in lines)]
        elif lines:
            self.lines += [f"  {name}: {lines[0]}", *(f"{LINE_PREFIX}{line}" for line in lines[1:])]

    def add_code(self, code: str) -> None:
        """Add the code of a concept. Code that reads like an instruction gets a warning before it."""
        truncated = _truncate(re.sub(r"\A\s*\n", "", code.replace("\r\n", "\n")).rstrip(), CODE_CHARACTERS)
        lines = defang(truncated).split("\n") if truncated else []
        self._has_code = bool(lines)
        self.lines.append(f"  Code: {self._warning_for(truncated)}".rstrip())
        self.lines += [
            f"{LINE_PREFIX}{escape_invisible(line)}" if line.strip() else LINE_PREFIX.rstrip() for line in lines
        ]

    def add_origin(self, origin: str) -> None:
        """Add the record's origin to its label, as in `imported, succeeded: `."""
        self.label = f"{origin}, {self.label}" if self.label else f"{origin}: "
        self.lines[0] = self._first_line()

    def gist(self) -> RecordText:
        """Return the short form of the text: title and fields truncated to a line each, and a placeholder for code."""
        gist = RecordText(*self._heading, label=self.label, is_warning=self.is_warning)
        gist._is_gist, gist.is_quoted = True, False
        gist.lines = [gist._first_line()]
        for name, text in self._fields:
            gist.add(name, text)
        if self._has_code:
            gist.lines.append("  Code: …")
        return gist

    def _first_line(self) -> str:
        kind, record_id, title = self._heading
        visible_id, truncated = shown_id(record_id), self._truncate(title)
        heading = one_line(defang(truncated))
        escape = "\\" if heading.startswith("[") and not self.label else ""
        warning = self._warning_for(f"{visible_id}\n{truncated}")
        line = f"{warning} {QUOTE}{heading}" if warning else f"{escape}{heading}"
        return f"[{kind} {visible_id}] {self.label}{line}".rstrip()

    def _truncate(self, text: str) -> str:
        if self._is_gist:
            return _truncate(" ".join(text.split()), GIST_CHARACTERS)
        return _truncate(text, FIELD_CHARACTERS)

    def _warning_for(self, text: str) -> str:
        """Return a warning if a text reads like an instruction, else an empty string."""
        likeness = detect_injection(text)
        self.is_quoted = self.is_quoted or likeness != ""
        return f"[quoted: reads like {likeness}]" if likeness else ""


@dataclass(frozen=True, slots=True)
class Section:
    """The section of a context block for the records of one memory."""

    heading: str
    text: Callable[[Any], RecordText]
    """Function that returns the text of a record."""


def defang(text: str) -> str:
    """Return a string changed so that it cannot pass as the first or last line of a block, in any spelling.

    If it contains an imitation, a backslash is added after every character that opens a tag.
    """
    folded = re.sub(r"[^a-z<‹⟨〈«\\]", "", to_latin(text))  # noqa: RUF001
    if not FRAME.search(folded):
        return text
    return _TAG_START.sub(r"\g<0>\\", text)


FRAME = re.compile(r"[<‹⟨〈«]atlasmemory")  # noqa: RUF001
"""A tag of a context block, in a text reduced to Latin letters and characters that open a tag."""

_TAG_START = re.compile(r"[<≮＜﹤‹⟨〈«]|&n?v?lt;?|&#0*60;?|&#x0*3c;?|\\(?:u00|x)3c", re.IGNORECASE)  # noqa: RUF001
"""Characters that open a tag, with their lookalikes and escapes."""


def one_line(text: str) -> str:
    """Return a string on one line, with invisible characters escaped."""
    return escape_invisible(" ".join(text.split()))


def _truncate(text: str, max_characters: int) -> str:
    return text if len(text) <= max_characters else f"{text[: max_characters - 1].rstrip()}…"
