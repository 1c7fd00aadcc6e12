"""How an attempt ended, in one line: what judged it, the error that it met, or what it produced."""

from __future__ import annotations

import re
from collections.abc import Iterator

from atlas.core.types import Experience, Step
from atlas.core.words import first_sentences
from atlas.views.shared.texts import language_of
from atlas.views.shared.wording import counted
from atlas.views.trace.errors import contains_error, error_line
from atlas.views.trace.terminal import readable
from atlas.views.trace.turns import SPEAKERS, is_person

NAMES = {"python": "Python", "json": "JSON", "diff": "changed code"}
LINE_CHARACTERS = 300
VERDICT_CHARACTERS = 320
LOOKED_AT = 20_000
"""The part of a text at its end that is read for its last line."""

_WORD = re.compile(r"(?=[^\W_]*[^\W\da-fA-F_])[^\W\d_]{3}")
"""Three letters, of a word that is no hexadecimal number."""

_HEADING = re.compile(r"#+ +")
_CODE = re.compile(r"(?:SELECT|WITH|CREATE|INSERT|UPDATE|DELETE) |\w+ = |\w+\(\{.*\}\)$|.*[{;(]$")
"""The first line of code in a language that is not recognised, or a call of a tool."""

_PATCHED = re.compile(r"^(?:\+\+\+ b|--- a)/(\S+)", re.M)
_ADDED, _REMOVED = re.compile(r"^\+(?!\+\+ )", re.M), re.compile(r"^-(?!-- )", re.M)
_FUNCTION = re.compile(r"^(?:async )?def (\w+)", re.M)


def ending_of(experience: Experience) -> str:
    """Return one line on how an attempt ended, or an empty string if nothing tells it. Untrusted text."""
    line = next((line for text in _texts(experience) if (line := _on_one_line(text))), "")
    return line[:LINE_CHARACTERS]


def verdict_of(experience: Experience) -> str:
    """Return one line on how an attempt ended, after its source, such as `Feedback: the keys were wrong`.

    A line that the attempt itself produced has no source. Empty if the end is unknown. Untrusted text.
    """
    error = experience.outcome.error_info or ""  # which stands for the feedback where nobody gave any
    judged = {"Feedback": experience.feedback if experience.feedback != error else "", "Error": error}
    lines = ((name, _on_one_line(_first_line(text))) for name, text in judged.items())
    named = (f"{name}: {first_sentences(line, VERDICT_CHARACTERS)}" for name, line in lines if line)
    return next(named, "") or ending_of(experience)


def _on_one_line(text: str) -> str:
    return " ".join(readable(text).split())


def _texts(experience: Experience) -> Iterator[str]:
    """Yield what may tell the end, the most telling first."""
    yield _first_line(experience.feedback)
    yield _first_line(experience.outcome.error_info or "")
    outputs = [_output(step) for step in reversed(experience.steps)]
    patch = _patch_line(experience.solution_output)
    if experience.outcome.success is False or (experience.outcome.success is None and not patch):
        yield from (text.split("\n")[error_line(text)] for text in outputs if contains_error(text))
    yield patch
    solution, program = experience.solution_output, _program_line(experience.solution_output)
    if not program and not _is_followed(experience):
        yield _HEADING.sub("", _first_line(solution), count=1)
    output = next(filter(str.strip, outputs), "")
    yield _last_line(output, with_word=True)
    yield program
    yield _last_line(output)
    yield from (_last_line(step.action) for step in reversed(experience.steps))


def _is_followed(experience: Experience) -> bool:
    """Return whether the solution is only the last action, whose output tells more."""
    last = experience.steps[-1] if experience.steps else None
    return last is not None and last.action == experience.solution_output and bool(_output(last).strip())


def _output(step: Step) -> str:
    """Return what an action led to, or an empty string if a person answered it: thanks are no result."""
    return "" if is_person(str(step.metadata.get(SPEAKERS, ""))) else step.observation


def _patch_line(solution: str) -> str:
    """Return `changed prices.py: 3 lines added, 1 removed` for a patch, or an empty string for anything else."""
    files = _PATCHED.findall(solution)
    if not files or _language(solution) != "diff":
        return ""
    names = [path.rsplit("/", 1)[-1] for path in dict.fromkeys(files)]
    others = f" and {counted(len(names) - 1, 'other file')}" if len(names) > 1 else ""
    n_added, n_removed = (len(pattern.findall(solution)) for pattern in (_ADDED, _REMOVED))
    return f"changed {names[0]}{others}: {counted(n_added, 'line')} added, {n_removed:,} removed"


def _program_line(solution: str) -> str:
    """Return `wrote parse_price(), 12 lines of Python` for a program, or an empty string for an answer in words."""
    if not is_code(solution):
        return ""
    language = _language(solution)
    size = f"{counted(len(solution.splitlines()), 'line')} of {NAMES.get(language or '', language or 'code')}"
    function = _FUNCTION.search(solution)
    return f"wrote {function[1]}(), {size}" if function else size


def is_code(solution: str) -> bool:
    """Return whether a solution is a program or data, not an answer in words."""
    return _language(solution) is not None or _CODE.match(_first_line(solution).strip()) is not None


def _language(solution: str) -> str | None:
    return "shell" if solution.startswith("#!") else language_of(solution)


def _first_line(text: str) -> str:
    return next((line for line in text[:LOOKED_AT].splitlines() if line.strip()), "")


def _last_line(text: str, *, with_word: bool = False) -> str:
    """Return the last line of a text that is not empty, or the last with a word, as numbers alone tell little."""
    lines = reversed(text[-LOOKED_AT:].splitlines())
    return next((line for line in lines if (_WORD.search(line) if with_word else line.strip())), "")
