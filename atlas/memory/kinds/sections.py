"""The sections of a context block: the text of the records of each memory."""

from __future__ import annotations

from collections.abc import Mapping

from atlas.core.statistics import credible_interval
from atlas.core.types import CodeConcept, Experience, JournalEntry, Strategy
from atlas.memory.kinds.kind import ADDED_KINDS
from atlas.memory.kinds.record_text import RecordText, Section
from atlas.memory.strategies.records import is_warning

FAILURE_LABEL = "warning, this mostly failed: "
"""Label of a strategy that fails more often than not."""

WARNING_LABEL = "warning, from failed attempts: "
"""Label of a strategy that is a warning."""


def success_rate_text(n_succeeded: int, n: int) -> str:
    """Return the success rate of a strategy in words: `succeeded in 3 of 4 uses (likely 28–95%)` or `not used yet`.

    The interval comes from `credible_interval`. The estimate of a success-rate updater is not shown, because it may be
    outside of the interval.
    """
    if not n:
        return "not used yet"
    interval = credible_interval(n_succeeded, n)
    uses = "1 use" if n == 1 else f"{n:,} uses"
    return f"succeeded in {n_succeeded:,} of {uses} (likely {interval.low * 100:.0f}–{interval.high * 100:.0f}%)"


def is_failing(n_succeeded: int, n: int) -> bool:
    """Return whether a success rate is below one half with a probability of 90%, for example after 3 failures."""
    return n > 0 and credible_interval(n_succeeded, n, level=0.8).high < 0.5


def _strategy_text(strategy: Strategy) -> RecordText:
    """Return the text of a strategy. A strategy that mostly failed is shown without its advice."""
    if is_warning(strategy):  # not marked as failing, because hard tasks fail with or without a warning
        text = RecordText("strategy", strategy.id, strategy.title, label=WARNING_LABEL, is_warning=True)
        text.add("When", strategy.situation)
        text.add("Avoid", strategy.suggestion)
        return text
    success_rate = success_rate_text(strategy.n_succeeded, strategy.usage_count)
    if is_failing(strategy.n_succeeded, strategy.usage_count):
        text = RecordText("strategy", strategy.id, strategy.title, label=FAILURE_LABEL, is_warning=True)
        text.add("When", strategy.situation)
        text.add("Record", success_rate)
        return text
    text = RecordText("strategy", strategy.id, strategy.title)
    text.add("When", strategy.situation)
    text.add("Do", strategy.suggestion)
    text.add(
        "Parameters",
        ", ".join(f"{parameter['name']} ({parameter.get('type', 'text')})" for parameter in strategy.parameters),
    )
    text.add("Record", success_rate)
    return text


def _experience_text(experience: Experience) -> RecordText:
    outcome = experience.outcome
    text = RecordText("experience", experience.id, experience.task.description, label=f"{outcome.label}: ")
    text.add("Did", experience.solution_output or experience.trajectory_summary)
    text.add("Why", outcome.error_info or "")
    text.add("Said of it", experience.feedback if experience.feedback != outcome.error_info else "")
    return text


def _concept_text(concept: CodeConcept) -> RecordText:
    text = RecordText("concept", concept.id, concept.name)
    text.add("Does", concept.description)
    text.add("When", concept.guidance)
    text.add("Needs", f"the tools {', '.join(concept.tools)}" if concept.tools else "")
    text.add_code(concept.code)
    return text


def _entry_text(entry: JournalEntry) -> RecordText:
    text = RecordText("entry", entry.id, f"{entry.entry_type}, generation {entry.generation}")
    text.add("Noted", entry.content)
    return text


SECTIONS: Mapping[str, Section] = {
    "strategies": Section("## Strategies: what to do in which situation", _strategy_text),
    "experience": Section("## Experiences: what worked, what failed and why", _experience_text),
    "concepts": Section("## Concepts: code to reuse", _concept_text),
    "journal": Section("## Journal: what was noted on the way", _entry_text),
}
"""The sections, keyed by memory. Equally relevant hits are shown in this order."""


def known_sections() -> dict[str, Section]:
    """Return the sections of all known kinds, keyed by memory. Kinds of plug-ins come last."""
    return {**SECTIONS, **{name: kind.section for name, kind in ADDED_KINDS.items() if kind.section is not None}}
