"""The suggested decision on a case, with its reason in a few words."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.memory.system import MemorySystem
from atlas.views.curate.cases import Case
from atlas.views.curate.decisions import Decision, Name
from atlas.views.curate.health import DUPLICATES, FAILING, NEVER, STALE, UNUSED_DAYS
from atlas.views.curate.queues import REPEATED
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.shared.wording import counted


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The decision on a case that its evidence suggests."""

    decision: Decision
    reason: str
    """The end of a sentence, as trusted text."""

    @property
    def sentence(self) -> str:
        """`Suggested: Retire, 1 of 7 uses succeeded.`."""
        return f"Suggested: {self.decision.label.removesuffix(' …')}, {self.reason}."


def suggestion(memory: MemorySystem, case: Case, decisions: tuple[Decision, ...]) -> Suggestion | None:
    """Return the suggested one of the possible decisions, or None if the evidence suggests none of them."""
    name, reason = _named(memory, case)
    chosen = [decision for decision in decisions if decision.name == name]
    chosen += [decision for decision in decisions if decision.name == "delete" and name == "merge"]
    return Suggestion(chosen[0], reason) if chosen else None


def _named(memory: MemorySystem, case: Case) -> tuple[Name | None, str]:
    """Return the name of the suggested decision, or None, and the reason."""
    if case.finding is not None:
        return "quarantine" if case.waiting is None else "delete", "it shows signs of an attack"
    if case.queue == FAILING and case.noun == STRATEGY.noun:
        usage = memory.strategies.usage(case.ids)[case.ids[0]]
        return "retire", f"{usage.n_successes:,} of {counted(usage.n_uses, 'use')} succeeded"
    named: dict[str, tuple[Name, str]] = {
        DUPLICATES: ("merge", "they do not differ"),
        REPEATED: ("keep", "their solutions or actions differ"),
        STALE: ("retire", f"it was not used for {UNUSED_DAYS} days"),
        NEVER: ("retire", "no search has returned it"),
    }
    return named.get(case.queue, (None, ""))
