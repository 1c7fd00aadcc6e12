"""Files that an agent created, with all of its edits applied.

The module reads SWE-agent's `create`, line-wise `edit first:last … end_of_edit` and `str_replace_editor create`. Files
that existed before are left out, because their full content is not recorded. Edits that the environment refused are
skipped.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from atlas.core.types import Step

END_OF_EDIT = "end_of_edit"

_CREATE = re.compile(r"^create\s+(\S+\.py)\s*$", re.MULTILINE)
_OPEN = re.compile(r"^(?:open|goto)\s+(\S+)", re.MULTILINE)
_EDIT = re.compile(r"\s*edit\s+(\d+):(\d+)[^\n]*\n")
_EDIT_REFUSAL = re.compile(r"edit (?:was|has) not (?:been )?applied|introduced new syntax error", re.IGNORECASE)


def rebuild_files(steps: Sequence[Step]) -> list[str]:
    """Return the final text of each Python file that the steps created, least recently changed first."""
    files: dict[str, list[str]] = {}
    open_path = ""
    for step in steps:
        if _EDIT_REFUSAL.search(step.observation):
            continue
        created = _CREATE.search(step.action)
        opened = _OPEN.search(step.action)
        edit = _EDIT.match(step.action)
        if created:
            open_path = created[1]
            files[open_path] = [""]
        elif opened and not opened[0].startswith("goto"):
            open_path = opened[1]
        elif edit and open_path in files:
            text = step.action[edit.end() :].rpartition(END_OF_EDIT)[0].removesuffix("\n")
            files[open_path] = _replace_lines(files.pop(open_path), int(edit[1]), int(edit[2]), text)
        else:
            files |= _file_of_create_command(step.action)
    return ["\n".join(lines) for lines in files.values() if any(lines)]


def _replace_lines(lines: list[str], first_line: int, last_line: int, text: str) -> list[str]:
    return [*lines[: max(first_line - 1, 0)], *text.split("\n"), *lines[last_line:]]


def _file_of_create_command(action: str) -> dict[str, list[str]]:
    """Return the lines of the Python file that a `str_replace_editor create` command writes, keyed by path."""
    if not action.startswith("str_replace_editor create"):
        return {}
    try:
        words = shlex.split(action)
    except ValueError:  # a quotation without its closing mark
        return {}
    if len(words) < 5 or "--file_text" not in words[:-1] or not words[2].endswith(".py"):
        return {}
    return {words[2]: words[words.index("--file_text") + 1].split("\n")}
