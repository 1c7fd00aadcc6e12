"""The suggested decision on a case, whose reason is the reason why the case is in its queue."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.views.curate.cases import Case
from atlas.views.curate.decisions import Decision, Name
from atlas.views.curate.health import DUPLICATES, FAILING, NEVER, STALE
from atlas.views.curate.queues import REPEATED
from atlas.views.kinds.strategy import STRATEGY


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The decision on a case that its evidence suggests."""

    decision: Decision

    @property
    def sentence(self) -> str:
        """`Suggested: Retire.`."""
        return f"Suggested: {self.decision.label.removesuffix(' …')}."


def suggestion(case: Case, decisions: tuple[Decision, ...]) -> Suggestion | None:
    """Return the suggested one of the possible decisions, or None if the evidence suggests none of them."""
    suggested_name = _suggested_name(case)
    chosen = [decision for decision in decisions if decision.name == suggested_name]
    chosen += [decision for decision in decisions if decision.name == "delete" and suggested_name == "merge"]
    return Suggestion(chosen[0]) if chosen else None


def _suggested_name(case: Case) -> Name | None:
    """Return the name of the suggested decision, or None."""
    if case.finding is not None:
        return "quarantine" if case.waiting is None else "delete"
    if case.queue == FAILING and case.noun == STRATEGY.noun:
        return "retire"
    name_by_queue: dict[str, Name] = {DUPLICATES: "merge", REPEATED: "keep", STALE: "retire", NEVER: "retire"}
    return name_by_queue.get(case.queue)
