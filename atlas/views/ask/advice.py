"""The advice at the head of an answer: what the best reliable memory says to do."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from atlas.core.types import CodeConcept, Experience, Strategy
from atlas.memory.system import MemorySystem
from atlas.views.ask.answer import STRONG, Answer, Part, RankedHit
from atlas.views.ask.cards import VIEWS
from atlas.views.kinds.titles import task_title
from atlas.views.kinds.uses import worse_than
from atlas.views.kinds.verdicts import FAILING, WORKS
from atlas.views.shared.rates import record_of
from atlas.views.shared.wording import attempts_text, first_sentences, shortened
from atlas.views.strategies.steps import steps_of
from atlas.views.trace.ending import is_code

MIN_RELEVANCE_SHARE = 1 / 3
"""Least relevance of advice, as a share of that of the best hit. Less relevant hits are about something else."""

CLOSE_TASK_SHARE = 0.8
"""Least relevance of an attempt that is advised, as a share of that of the nearest attempt, which may have failed."""

TEXT_CHARACTERS, TITLE_CHARACTERS = 240, 70

SUGGESTS, WORKED, FAILED = "What memory suggests", "What worked before", "What went wrong before"
"""Headings of advice."""

PROVEN, UNPROVEN, OTHER, LESSON = range(4)
"""Preference of a hit: a strategy that reliably succeeds, another one, another memory, and a failed attempt."""

_PROSE_END = re.compile(r"[.!?…。\uff01\uff1f]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A recommendation of a memory in the block."""

    memory: str
    """`strategies`, `concepts` or `experience`."""

    place: int
    """Position in the block, from 1."""

    heading: str
    """`What memory suggests`."""

    strength: str
    """`strong` or `medium`."""

    text: str
    """Its first sentences. Untrusted. Empty for an attempt whose answer is code."""

    source: str
    """`Strategy “Rebuild in batches”, succeeded in 5 of 6 uses (likely 42–96%)`. Untrusted."""

    @property
    def quotation(self) -> str:
        """The text, in quotation marks if it comes from an attempt. Empty if the text is."""
        return f"“{self.text}”" if self.text and self.memory == "experience" else self.text


def advice_of(memory: MemorySystem, answer: Answer) -> Advice | None:
    """Return the advice of a strategy that mostly works, or else of the strongest match, or None.

    Among equally strong matches, another strategy goes before a concept or an attempt that succeeded. The reason why
    an attempt failed comes last. What mostly fails or does clearly worse than the others gives no advice, nor do weak
    matches, warnings, and hits that the block does not show.
    """
    worse = {*worse_than(memory.strategies, memory.strategies.retired()), *worse_than(memory.concepts)}
    least = MIN_RELEVANCE_SHARE * max((hit.hit.relevance for part in answer.parts for hit in part.hits), default=0.0)
    candidates = [candidate for part in answer.parts for candidate in _candidates(part, least, worse)]
    if not candidates:
        return None
    _, part, hit = min(candidates, key=lambda candidate: candidate[0])
    return _advice(memory, part, hit)


def _candidates(part: Part, least: float, worse: Collection[str]) -> Iterator[tuple[tuple[int, ...], Part, RankedHit]]:
    """Yield a sort key, the memory and the hit of what can be advised."""
    if part.name == "experience" and part.hits:
        least = max(least, CLOSE_TASK_SHARE * max(hit.hit.relevance for hit in part.hits))
    for hit in part.hits:
        preference = _preference(hit.hit.item, worse)
        is_close = hit.hit.relevance >= least and not part.is_weak(hit)
        if preference is not None and is_close and hit.is_shown and not hit.is_warning:
            is_strong = part.strength(hit) == STRONG
            yield (preference != PROVEN, preference == LESSON, not is_strong, preference, hit.place), part, hit


def _preference(record: object, worse: Collection[str]) -> int | None:
    """Return the preference of a record, or None if it gives no advice."""
    match record:
        case Strategy():
            verdict = record_of(record.n_succeeded, record.usage_count).verdict
            is_poor = record.id in worse or verdict == FAILING
            return None if is_poor else PROVEN if verdict == WORKS else UNPROVEN
        case CodeConcept():
            return None if record.id in worse else OTHER
        case Experience(success=True) if record.solution_output.strip():
            return OTHER
        case Experience(success=False) if _lesson(record):
            return LESSON
    return None


def _advice(memory: MemorySystem, part: Part, hit: RankedHit) -> Advice:
    record = hit.hit.item
    views = VIEWS[part.name]
    card = views.card(memory, record, "")
    name = task_title(record.task.description).title if isinstance(record, Experience) else card.title
    match record:
        case Strategy():
            steps = steps_of(record.suggestion)
            heading, text = SUGGESTS, f"{steps.introduction} {steps.line}"
        case CodeConcept():
            heading, text = SUGGESTS, record.description
        case Experience(success=False):
            heading, text = FAILED, _lesson(record)
        case _:
            heading, text = WORKED, _deed(record)
    for parameter in card.parameters:
        text = text.replace(f"{{{parameter}}}", parameter)
    brief = first_sentences(" ".join(text.split()), TEXT_CHARACTERS)
    named = f"{views.kind.noun.capitalize()} “{shortened(' '.join(name.split()), TITLE_CHARACTERS)}”"
    return Advice(
        memory=part.name,
        place=hit.place,
        heading=heading,
        strength=part.strength(hit),
        text=brief,
        source=", ".join(filter(None, [named, card.outcome or attempts_text(hit.hit.outcomes)])),
    )


def _deed(experience: Experience) -> str:
    """Return what an attempt did or answered, or an empty string if its answer is code."""
    return "" if is_code(experience.solution_output) else experience.solution_output


def _lesson(experience: Experience) -> str:
    """Return why an attempt failed, or an empty string if nobody noted it in sentences."""
    reason = experience.feedback or experience.outcome.error_info or ""
    return reason if _PROSE_END.search(reason.strip()) else ""
