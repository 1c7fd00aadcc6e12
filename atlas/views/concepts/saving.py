"""The attempts that a concept was found in, and how much it saves there and at each call."""

from __future__ import annotations

import ast

from atlas.core.types import CodeConcept
from atlas.learning.extraction import programs_of
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.parsing import try_parse
from atlas.learning.workflows import is_workflow
from atlas.memory.system import MemorySystem
from atlas.views.shared.wording import counted, percent

MAX_PROGRAMS, MAX_LISTED = 200, 20
"""Most programs whose length is counted for a share, of one concept and of each in a list. One takes a millisecond."""


def origin_text(memory: MemorySystem, concept: CodeConcept) -> str:
    """Return where it was found: `12 attempts at 5 tasks, whose code is 25% shorter with it`, or an empty string."""
    n_tasks = concept.metadata.get("n_tasks")
    tasks = f" at {counted(n_tasks, 'task')}" if isinstance(n_tasks, int) else ""
    attempts = f"{counted(len(concept.found_in), 'attempt')}{tasks}"
    saved = f", whose code is {_amount_saved(memory, concept)} shorter with it" if _saving(concept) else ""
    return f"{attempts}{saved}" if concept.found_in else ""


def saving_text(memory: MemorySystem, concept: CodeConcept) -> str:
    """Return `12 attempts, 25% shorter with it`, or `1 attempt`. Empty if it is not known where it was found."""
    if not concept.found_in:
        return ""
    is_saving = len(concept.found_in) > 1 and _saving(concept)
    saved = f", {_amount_saved(memory, concept, MAX_LISTED)} shorter with it" if is_saving else ""
    return f"{counted(len(concept.found_in), 'attempt')}{saved}"


def n_lines(concept: CodeConcept) -> int:
    """Return how many lines of code a call of it stands for, without comments and docstrings. 0 for a workflow."""
    if is_workflow(concept):
        return 0
    lines = concept.code.splitlines()
    kept = {n for n, line in enumerate(lines, start=1) if line.strip() and not line.lstrip().startswith("#")}
    module = try_parse(concept.code)
    for node in ast.walk(module) if module else ():
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            kept -= {*range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    return len(kept)


def _saving(concept: CodeConcept) -> int:
    """Return the tokens that a function saves, itself counted, or 0 if none are known."""
    saving = concept.metadata.get("saving")
    return max(0, saving) if isinstance(saving, int) and not is_workflow(concept) else 0


def _amount_saved(memory: MemorySystem, concept: CodeConcept, most: int = MAX_PROGRAMS) -> str:
    """Return the saving as `25%` of the programs' length.

    Returns it as `40 tokens` if a program was deleted, if there are more than `most`, or if the share rounds to 0.
    """
    if len(concept.found_in) <= most:
        programs = programs_of(memory.experience.get_many(concept.found_in)).programs
        length = sum(n_tokens(program.source) for program in programs)
        if programs and len(programs) == len(concept.found_in) and (share := round(100 * _saving(concept) / length)):
            return percent(share / 100)
    return counted(_saving(concept), "token")
