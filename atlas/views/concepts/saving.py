"""The saving of a concept in the programs that it was found in, and the outcomes of its uses."""

from __future__ import annotations

from atlas.core.operations import Usage
from atlas.core.statistics import credible_interval
from atlas.core.types import CodeConcept
from atlas.learning.extraction import programs_of
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.workflows import is_workflow
from atlas.memory.system import MemorySystem
from atlas.views.shared.rates import likely
from atlas.views.shared.wording import counted, percent

MAX_PROGRAMS, MAX_LISTED = 200, 20
"""Most programs whose length is counted for a share, of one concept and of each in a list. One takes a millisecond."""


def story_of(memory: MemorySystem, concept: CodeConcept, usage: Usage) -> str:
    """Return where it was found and how its uses went.

    `Found in 12 programs of 5 tasks, 25% shorter with it. Used for 3 tasks, of which 2 succeeded (likely 19–93%).`
    """
    n_tasks = concept.metadata.get("n_tasks")
    tasks = [counted(n_tasks, "task")] if isinstance(n_tasks, int) else []
    sources = " of ".join([*_sources(concept), *tasks])
    saved = f", {_amount_saved(memory, concept)} shorter with it" if sources and _saving(concept) else ""
    found = f"Found in {sources}{saved}" if sources else ""
    return " ".join(f"{sentence}." for sentence in (found, _uses_sentence(usage)) if sentence)


def saving_text(memory: MemorySystem, concept: CodeConcept) -> str:
    """Return `12 programs, 25% shorter with it`, or `1 program`. Empty if it is not known where it was found."""
    is_saving = len(concept.found_in) > 1 and _saving(concept)
    saved = [f"{_amount_saved(memory, concept, MAX_LISTED)} shorter with it"] if is_saving else []
    return ", ".join([*_sources(concept), *saved])


def _sources(concept: CodeConcept) -> list[str]:
    n = len(concept.found_in)
    return [counted(n, "attempt" if is_workflow(concept) else "program")] if n else []


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


def _uses_sentence(usage: Usage) -> str:
    if not usage.n_uses:
        return "Not used for a task yet"
    used = f"Used for {counted(usage.n_uses, 'task')}"
    if usage.n_uses == 1:
        return f"{used}, which {'succeeded' if usage.n_successes else 'failed'}"
    amount = {usage.n_uses: "all", 0: "none"}.get(usage.n_successes, f"{usage.n_successes:,}")
    return f"{used}, of which {amount} succeeded ({likely(credible_interval(usage.n_successes, usage.n_uses))})"
