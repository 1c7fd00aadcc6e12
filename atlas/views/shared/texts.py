"""Texts of memories on a page: in full, or the beginning with a button for the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.views.kinds.titles import task_title

LONG_CHARACTERS = 20_000
"""Length beyond which only the beginning is shown first, because a browser is slow with millions of characters."""

PROSE_CHARACTERS = 1_500
PROSE_LINES = 25
"""Numbers of lines and characters beyond which a text gets a scrolling frame."""

LANGUAGES = ("python", "javascript", "typescript", "java", "c", "cpp", "go", "rust", "ruby", "haskell", "bash", "sql")
"""Languages that a source may name. Any other code is shown plain."""

SHORT_CHARACTERS = 80
"""Largest length of JSON on one line."""

_LOOKED_AT = 4_000
"""Number of characters that are read to recognise a text's language."""

_PYTHON = re.compile(
    r"\A(?:#.*\n|\s*\n)*(?:(?:async def|def|class) \w+.*:|import \w[\w.]*(?: as \w+)?(?:,|$)|from [\w.]+ import |@\w+)",
    re.M,
)

_MARKDOWN = re.compile(r"[!-/:-@\[-`{-~]")
"""The characters that Markdown lets one write with a backslash before them."""

_CODE = re.compile(r"`([^`]*[^`\s][^`]*)`")
"""A piece of code in prose, which is not blank."""

_SEPARATOR = re.compile(r" *(?:[.;:\u2013\u2014\u3002]|-(?=\s))?\s*")
"""Between a title and the text after it."""

_DIFF = re.compile(r"\A(?:diff --git |--- \S.*\n\+\+\+ |Index: )")


def as_written(text: str) -> str:
    """Return Markdown that shows an untrusted text as it is, on one line."""
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\g<0>", text)


def with_code(text: str, names: Sequence[str] = ()) -> str:
    """Return Markdown of an untrusted text with what stands between backticks as code, and else as it is.

    Returns an empty string if nothing in it is code, if it has several lines, or if backticks follow each other.

    Args:
        names: Parameters, of which `{name}` is code too.
    """
    text = text.strip()
    for name in filter(str.isidentifier, names):
        text = text.replace(f"{{{name}}}", f"`{name}`")
    parts = _CODE.split(text)
    if len(parts) == 1 or len(text.splitlines()) > 1 or "``" in text:
        return ""
    return "".join(f"`{part}`" if at % 2 else _escaped(part) for at, part in enumerate(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A title for an untrusted text, made of its beginning, and what follows. Both are untrusted."""

    title: str
    rest: str
    """The text after the title, or empty if the title is all of it."""


@dataclass(frozen=True, slots=True)
class Text:
    """An untrusted text, and how to show it."""

    whole: str
    written_in: str | None = None
    """Its known language, one of `LANGUAGES`, or None to guess it from the text."""

    @property
    def language(self) -> str | None:
        """`python`, `json` or `diff`, or None for plain text and for long texts."""
        return None if self.is_long else self.written_in or language_of(self.whole)

    @property
    def is_long(self) -> bool:
        """True if only its beginning is shown at first."""
        return len(self.whole) > LONG_CHARACTERS

    @property
    def is_tall(self) -> bool:
        """True if it needs a scrolling frame."""
        return len(self.whole) > PROSE_CHARACTERS or self.whole.count("\n") > PROSE_LINES

    @property
    def beginning(self) -> str:
        """The text, or the part of a long text that is shown at first."""
        return self.whole[:LONG_CHARACTERS]

    @property
    def headline(self) -> Headline:
        """Its title as in a list, and what follows it.

        All of the text follows if it is code, if it begins otherwise, or if its first sentence goes on after a comma.
        """
        whole = self.whole.strip()
        title = task_title(whole).title
        beginning = title if whole.startswith(title) else title.removesuffix("…")
        after = whole[len(beginning) :]
        if self.language is not None or not whole.startswith(beginning) or after.startswith(","):
            return Headline(title=title, rest=whole)
        rest = _SEPARATOR.sub("", after, count=1)
        return Headline(title=title, rest=f"… {rest}" if beginning != title else rest)

    @property
    def size(self) -> str:
        """`1,048,576 characters`."""
        return f"{len(self.whole):,} characters"


def language_of(text: str) -> str | None:
    """Return the recognised language of a text, or None.

    The text is never parsed as a program.
    """
    stripped = text.strip()
    if stripped[:1] in ("{", "[") and _is_json(stripped):
        return "json"
    head = stripped[:_LOOKED_AT]
    if _DIFF.search(head):
        return "diff"
    return "python" if _PYTHON.search(head) else None


def as_json(value: Mapping[str, Any]) -> Text | None:
    """Return JSON values as text, one on each line unless they are short, or None if there are no values."""
    if not value:
        return None
    line = json.dumps(value, ensure_ascii=False)
    return Text(line if len(line) <= SHORT_CHARACTERS else json.dumps(value, indent=2, ensure_ascii=False))


def text_of(value: str) -> Text | None:
    """Return a text, or None if it is empty."""
    return Text(value) if value.strip() else None


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False
