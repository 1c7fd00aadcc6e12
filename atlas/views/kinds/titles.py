"""Titles of tasks: the first clause of a description that may begin with a greeting, a role or code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from atlas.core.words import FUNCTION_WORDS

TITLE_CHARACTERS = 80
SHORTEST = 20
"""Characters that a title keeps at least, if it is cut at the end of a clause."""

READ_CHARACTERS = 2_000
"""Characters of a task that are read for its title and the text after it."""

BRIEF = 12
"""Characters below which a first sentence stands together with the second."""

_CODE = re.compile(r"(?:from|import|def|class|async def|@\w+)\b.*?(?:\"\"\"|''')\s*", re.S)
"""A function up to its docstring."""

_OPENINGS = re.compile(
    r"""(?:
        (?:hi|hello|hey|dear|good\ (?:morning|afternoon|evening))\b(?:[^.!?\n]{0,30}[.!]|[^.!?,:\n]{0,30}[,:])
        | (?:(?:fwd?|re|aw|wg|task|question|problem|issue|instructions?|prompt):)
        | you\ (?:are\ )?[\w\ ]{1,40},?\ and\ (?:you\ )?(?:want|need|wish|are\ contacting)\ to\b
        | you\ are\ (?!given\b|to\b)[\w\ ]{1,40}(?:\([^()\n]{1,40}\))?,(?=\ you\ (?!have\b|are\b))
        | you\ are\ (?!given\b|to\b)(?:[^.!?:\n()]|\([^()\n]{1,40}\)){1,120}\.
        | (?:you|i)\ (?:want|need|wish)\ (?:you\ )?to\b
        | i(?:'d|\ would)\ like\ (?:you\ )?to\b
        | (?:your|the)\ (?:task|goal|job)\ is\ to\b
        | (?:can|could|would|will)\ you\b
        | (?:please|kindly)\b,?
        | we(?:'re|\ are)\ currently\ solving\ the\ following\b[^.:\n]{0,60}[.:]
        | here(?:'s|\ is)\ the\ [\w\ ]{1,30}:
        | [\s"\u201c>\#*]+
    )\s*""",
    re.I | re.X,
)
"""Beginnings of prompts that do not name the task yet."""

_REQUEST = re.compile(r"\b(?:can|could|would|will) you\s*(?:please\s*|kindly\s*)?$", re.I)
"""A request in the form of a question, whose question mark is not shown."""

_INSIDE = re.compile(r'\([^()]*\)|\[[^\[\]]*\]|`[^`]*`|"[^"]{1,60}"')
"""Texts in which no clause ends."""

_ABBREVIATIONS = r"(?<!\be\.g)(?<!\bi\.e)(?<!\b[DM]r)(?<!\bNo)"
_SENTENCE = re.compile(
    _ABBREVIATIONS + r"[.!?]+[\"'\u201d]?(?=\s+[^a-z\s]|\s*$)"
    r"|[\u3002\uff01\uff1f]"  # in Chinese and Japanese
    r"|(?=\n\s*(?:\n|>>>|```))|(?=\s*(?:\"\"\"|'''))"
)
_HEADING = re.compile(r"[^\n]{12,60}(?=\n\s*[^a-z\s])")
"""A first line too short to be broken off in a sentence."""

_CLAUSES = (
    re.compile(r"[;:](?=\s)|\s[\u2013\u2014-](?=\s)"),
    re.compile(r",?(?=\s(?:because|although|while|since|until|unless|which|who|whose|where|so that)\s)"
               r"|,(?=\s(?:and|but|so)\s)"),
    re.compile(r",(?=\s)|\s(?=\()"),
)  # fmt: skip
"""Ends of clauses, the strongest first."""

_PUNCTUATION = " .,;:\u2013\u2014-\u3002\n"
"""Characters between a title and what follows it."""

_WORD = re.compile(r"[^\W\d_]++(?![._(\d])")
"""A word of prose, which is no name in code."""

_FENCE = re.compile(r"```\w*")
"""The first or last line of a code block in Markdown."""

_TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True, slots=True)
class TaskTitle:
    """A task in two lines. Both are untrusted texts without line breaks."""

    title: str
    """A phrase of about `TITLE_CHARACTERS` characters at most. It ends in `…` if no clause of the task is so short."""

    rest: str
    """The text after it, or empty."""


def task_title(description: str) -> TaskTitle:
    """Return the first clause of a task without the usual beginnings of prompts, and the text after it.

    The title of a traceback is its last line, the error. Of a long task, only the beginning is read.
    """
    whole = description.strip()
    if whole.startswith(_TRACEBACK):
        return TaskTitle(whole.rsplit("\n", 1)[-1].strip()[:TITLE_CHARACTERS], _rest(whole[:READ_CHARACTERS]))
    whole = whole[:READ_CHARACTERS]
    text = _without_openings(whole)
    masked = _INSIDE.sub(_mask, text)
    end, mark = _clause_end(masked), ""
    if end is None:
        end, mark = _word_end(masked), "…"
    is_request = _REQUEST.search(whole[: len(whole) - len(text)])
    title = " ".join(text[:end].rstrip(_PUNCTUATION + "?" * bool(is_request)).split()) or whole[:TITLE_CHARACTERS]
    return TaskTitle(_capitalised(title, len(text) < len(whole)) + mark, _rest(text[end:]))


def task_text(description: str) -> str:
    """Return a task without the usual beginnings of prompts, from a capital letter on."""
    text = _without_openings(description)
    return text if text == description else _with_capital(text)


def _without_openings(text: str) -> str:
    """Return a text without a greeting, a role and the like, as long as enough is left."""
    code = _CODE.match(text)
    shorter = text[code.end() :] if code else text
    while (opening := _OPENINGS.match(shorter)) and opening.end():
        left = shorter[opening.end() :]
        if not re.search(r"\w{3}", left) or len(left) < BRIEF:
            break
        shorter = left
    return shorter


def _mask(inside: re.Match[str]) -> str:
    text = inside[0]
    return f"{text[0]}{'x' * (len(text) - 2)}{text[-1]}"


def _clause_end(masked: str) -> int | None:
    """Return where the first sentence or a clause of it ends, or None if none of them is short enough."""
    heading = _HEADING.match(masked)
    end = next((found.end() for found in _SENTENCE.finditer(masked) if found.end() >= BRIEF), len(masked))
    end = min(end, heading.end()) if heading else end
    if end <= TITLE_CHARACTERS + 1:  # its full stop is not shown
        return end
    for clause in _CLAUSES:
        ends = [found.start() for found in clause.finditer(masked) if SHORTEST <= found.start() <= TITLE_CHARACTERS]
        if ends:
            return ends[-1]
    return None


def _word_end(masked: str) -> int:
    """Return where a text is cut: after a word that does not announce what is cut."""
    words = [*re.finditer(r"\S+", masked[: TITLE_CHARACTERS + 1])][:-1]
    while words and words[-1][0].strip(_PUNCTUATION).lower() in FUNCTION_WORDS:
        words.pop()
    return words[-1].end() if words and words[-1].end() >= SHORTEST else TITLE_CHARACTERS


def _capitalised(title: str, is_shortened: bool) -> str:
    """Return a title whose beginning was left out with a capital letter, and without the end of a quotation."""
    if title.count('"') % 2:
        title = title.strip('"')
    if is_shortened and title.count('"') == 1:
        title = title.replace('"', "")
    return _with_capital(title) if is_shortened else title


def _with_capital(text: str) -> str:
    return text[:1].upper() + text[1:] if _WORD.match(text) else text


def _rest(text: str) -> str:
    return " ".join(_FENCE.sub("", text).lstrip(f"{_PUNCTUATION}?!").strip("\"' \n").split())
