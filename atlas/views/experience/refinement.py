"""Refinement on a page: the judges, the progress, and the decision on each experience."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atlas.core.errors import PlanOutdated
from atlas.jobs.refinement import MAX_EXPERIENCES
from atlas.jobs.refinement import LiveRefinement as LiveRefinement
from atlas.memory.experience.refinement.plan import DROP, KEEP, MERGE, PlannedDecision
from atlas.memory.experience.refinement.plan import RefinePlan as RefinePlan
from atlas.memory.system import MemorySystem
from atlas.views.kinds.titles import task_title
from atlas.views.shared.language_model import LanguageModel
from atlas.views.shared.wording import counted, outcome_with_sign, share_text, stored_time_text

RULES, MODEL = "rules", "model"
MOST = (25, 50, 100, 200, MAX_EXPERIENCES)
"""Selectable limits. More experiences take longer, and cost more if a model judges."""

GOES, MOVED, ALL = "goes", "moved", "all"
"""Which decisions are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """The selectable judges, and a note on them."""

    titles: Mapping[str, str]
    """The first is the default."""

    note: str
    """A sentence on how to set up a missing model, or on the possible costs of a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """The decision on one experience. Task and reason are untrusted text."""

    id: str
    decision: str
    """In our own words: `drop`, `merge into 1a2b3c4d`, `keep`, `reorder`."""

    outcome: str
    task: str
    reason: str
    set_number: int
    before: int
    after: str
    """Its rank among the remaining ones of its set, or a dash if it is removed."""


def judges(model: LanguageModel, budget_tokens: int) -> Judges:
    """Return the judges: a language model first, if there is one, which may use `budget_tokens` for a plan."""
    if model.client is None:
        return Judges(titles={RULES: "Rules"}, note=f"Rules judge, without a language model. {model.sentences[-1]}")
    name = model.client.model_name
    note = f"{name} judges, unless you choose rules, and may use {budget_tokens:,} tokens for a plan."
    return Judges(titles={MODEL: name, RULES: "Rules"}, note=note)


def headline(plan: RefinePlan) -> str:
    """Return the effect of the plan, in a sentence that contains no text of a memory."""
    n_judged = len(plan.decisions) - plan.n_unjudged
    if plan.decisions and not n_judged:
        return f"None of the {counted(len(plan.decisions), 'experience')} was judged, so all of them stay."
    judged = f"{counted(n_judged, 'experience')} judged"
    unjudged = f" {plan.n_unjudged:,} more could not be judged and stay." if plan.n_unjudged else ""
    if not plan.removed_ids:
        return f"{judged}: all of them are worth keeping as they are.{unjudged}"
    return (
        f"{judged}: {n_judged - len(plan.removed_ids):,} stay, {len(plan.merged):,} would be merged into them, "
        f"{len(plan.dropped):,} dropped. {len(plan.removed_ids):,} of {plan.n_total:,} would be deleted "
        f"({share_text(plan.share)}).{unjudged}"
    )


def made_caption(plan: RefinePlan) -> str:
    """Return the judge, the time and the cost. It may contain a model's name, so it is shown as text."""
    judge_text = "by rules, without a language model" if plan.made_by == RULES else f"by {plan.made_by}"
    sets = f"in {counted(plan.n_sets, 'set')} of similar experiences"
    time, cost = stored_time_text(plan.made_at), f"; {plan.spent}" if plan.spent else ""
    return f"Judged {' '.join(filter(None, (judge_text, time)))}, {sets}{cost}."


def notes(plan: RefinePlan) -> tuple[str, ...]:
    """Return further notes, as trusted text."""
    sentences = []
    n_judged = len(plan.decisions)
    if plan.failures:
        verb = "was" if len(plan.failures) == 1 else "were"
        sentences.append(
            f"{len(plan.failures):,} of {counted(plan.n_sets, 'set')} {verb} not judged. "
            "All experiences of these sets are kept."
        )
    if plan.n_in_scope > n_judged:
        sentences.append(f"Only the newest {n_judged:,} of {plan.n_in_scope:,} in scope were judged.")
    if plan.n_moved:
        moved, verb = counted(plan.n_moved, "experience"), "stays" if plan.n_moved == 1 else "stay"
        sentences.append(
            f"{moved} that {verb} would be read in another order. "
            "That order is shown but not stored, because every search ranks by its own query."
        )
    return tuple(sentences)


def why_outdated(memory: MemorySystem, plan: RefinePlan, where: Mapping[str, Any]) -> str:
    """Return why a plan cannot be applied any more, or that it is of another scope, or an empty string."""
    if plan.removed_ids and not memory.experience.titles(plan.removed_ids):
        return "What it would delete is no longer in the store. The plan may have been applied."
    try:
        memory.experience.check_refine(plan)
    except PlanOutdated:
        return "An experience that it touches has changed since the plan was made, so it cannot be applied. Plan again."
    return "" if dict(plan.where) == dict(where) else "This was planned in another scope than the current one."


def can_apply(memory: MemorySystem, plan: RefinePlan) -> bool:
    """Return whether the plan has changes to apply, and is not outdated."""
    try:
        memory.experience.check_refine(plan)
    except PlanOutdated:
        return False
    return bool(plan.removed_ids) and not memory.storage.read_only


def choices(plan: RefinePlan) -> dict[str, str]:
    """Return the groups of decisions with their sizes. Empty groups are left out, except `All`."""
    counts = {GOES: len(_decisions_of(plan, GOES)), MOVED: len(_decisions_of(plan, MOVED)), ALL: len(plan.decisions)}
    titles = {GOES: "Goes", MOVED: "Reordered", ALL: "All"}
    return {name: f"{titles[name]} {n:,}" for name, n in counts.items() if n or name == ALL}


def decision_rows(plan: RefinePlan, action: str = ALL) -> tuple[DecisionRow, ...]:
    """Return the decisions to show: dropped, then merged, then kept, each set by set."""
    order = {DROP: 0, MERGE: 1, KEEP: 2}
    decisions = sorted(
        _decisions_of(plan, action), key=lambda decision: (order[decision.action], decision.set_number, decision.after)
    )
    return tuple(map(_decision_row, decisions))


def _decisions_of(plan: RefinePlan, action: str) -> list[PlannedDecision]:
    return [
        decision
        for decision in plan.decisions
        if action == ALL or (action == GOES and decision.is_removed) or (action == MOVED and decision.is_moved)
    ]


def _decision_row(planned: PlannedDecision) -> DecisionRow:
    decision = "reorder" if planned.is_moved else planned.action
    if planned.action == MERGE:
        decision = f"merge into {planned.into[:8]}"
    return DecisionRow(
        id=planned.id,
        decision=decision,
        outcome=outcome_with_sign(planned.outcome),
        task=task_title(planned.title).title,
        reason=planned.reason,
        set_number=planned.set_number,
        before=planned.before,
        after=f"{planned.after:,}" if planned.after else "–",
    )
