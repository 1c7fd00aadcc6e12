"""Plans about experiences in the words that the command line and the pages share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace

from atlas.memory.experience.merging import MergeGroup, MergePlan
from atlas.memory.experience.pruning import PruneDecision, PrunePlan
from atlas.memory.experience.refinement.plan import RefinePlan
from atlas.views.shared.plans import (
    PlanRow,
    PlanView,
    deletion_words,
    gone_notes,
    merging_view,
    share_words,
    undo_of_removals,
)
from atlas.views.shared.wording import counted, outcomes_text

SUBJECT = "Task"

MISSING = {
    "min_success_rate": ("no known outcome", "the rule on success rates skips"),
    "max_age_days": ("no known time", "the rule on age skips"),
    "never_retrieved_days": ("no known time of storing", "the rule on retrieval skips"),
    "max_count": ("no known time", "the rule on the number to keep skips"),
}
"""For each criterion, the value that may be missing, and the consequence."""

CLAUSES = {
    "min_success_rate": "has a success rate under {}",
    "max_age_days": "is older than {}",
    "never_retrieved_days": "was not retrieved for {}",
    "max_count": "is among the least successful beyond the {} to keep",
}
"""For each criterion, the end of a sentence on what it removes."""


def prune_plan_view(plan: PrunePlan, unticked: Collection[str] = ()) -> PlanView:
    """Return the view of pruning by a rule, or of deleting what a person chose.

    Args:
        unticked: Ids of records that the headline does not count as protected, as an `Offer` counts them itself.
    """
    n_going, n_saved = len(plan.removals), sum(decision.id not in unticked for decision in plan.saved)
    outcomes = Counter(decision.outcome for decision in plan.removals if decision.outcome)
    protected = f" {n_saved:,} more {'is' if n_saved == 1 else 'are'} protected." if n_saved else ""
    button = f"Delete {counted(n_going, 'experience')}" if n_going else ""
    return PlanView(
        title="Delete",
        headline=f"{deletion_words(n_going, plan.n_total, 'experience')}.{protected}",
        share_sentence=f"{share_words(n_going, plan.n_total, 'experience')}{protected if n_going else ''}",
        button=button,
        outcome_heading=_outcome_heading(button, outcomes, n_going),
        rule=_rule_text(plan),
        notes=tuple(_prune_notes(plan)),
        undo=undo_of_removals(n_going, "experience"),
        rows=tuple(_prune_row(decision) for decision in (*plan.removals, *plan.saved)),
        subject=SUBJECT,
        is_deletion=True,
        n_chosen=n_going + len(plan.saved),
        n_going=n_going,
        share=plan.share,
        loss=plan.loss,
    )


def _outcome_heading(button: str, outcomes: Counter[str], n_deleted: int) -> str:
    """Return `Delete 9 failed experiences`, or `Delete 12 experiences: 2 succeeded, 10 failed`."""
    for outcome, adjective in (("succeeded", "successful"), ("failed", "failed")):
        if n_deleted and outcomes[outcome] == n_deleted:
            return button.replace(f" {n_deleted:,} ", f" {n_deleted:,} {adjective} ", 1)
    return ": ".join(filter(None, (button, outcomes_text(outcomes)))) if n_deleted else ""


def merge_plan_view(plan: MergePlan, n_gone: int = 0) -> PlanView:
    """Return the view of merging.

    Args:
        n_gone: How many of the chosen experiences are not in the store any more.
    """
    rows = (row for group in plan.groups for row in _merge_rows(group))
    caption = "What is merged, each kept one first"
    return replace(merging_view(plan, "experience", rows, caption=caption, notes=gone_notes(n_gone)), subject=SUBJECT)


def refine_plan_view(plan: RefinePlan) -> PlanView:
    """Return the view of a refinement, with a row and a reason for each removed or kept record."""
    merged, dropped = len(plan.merged), len(plan.dropped)
    return PlanView(
        title="Refine",
        headline=(
            f"{merged:,} would be merged into others and {dropped:,} dropped: "
            f"{deletion_words(len(plan.removed_ids), plan.n_total, 'experience')}."
        ),
        button=f"Refine: {refine_words(plan)}" if plan.removed_ids else "",
        rows=tuple(_refine_rows(plan)),
        subject=SUBJECT,
        caption="What is deleted, and what it is merged into",
        n_going=len(plan.removed_ids),
        undo=undo_of_removals(len(plan.removed_ids), "experience"),
        share=plan.share,
        loss=plan.loss,
    )


def refine_words(plan: RefinePlan) -> str:
    """Return `3 merged, 2 dropped`."""
    return f"{len(plan.merged):,} merged, {len(plan.dropped):,} dropped"


def _refine_rows(plan: RefinePlan) -> Iterator[PlanRow]:
    """Yield the rows of dropped experiences, then each kept experience followed by the ones that it replaces."""
    by_id = {decision.id: decision for decision in plan.decisions}
    for experience in plan.dropped:
        yield PlanRow(
            id=experience.id,
            title=experience.title,
            goes=True,
            why=f"dropped: {experience.reason}",
            outcome=experience.outcome,
        )
    for kept_id, *other_ids in plan.groups:
        kept = by_id[kept_id]
        yield PlanRow(id=kept_id, title=kept.title, goes=False, why=f"stays: {kept.reason}", outcome=kept.outcome)
        for experience in (by_id[record_id] for record_id in other_ids):
            why = f"merged into {kept_id[:8]}: {experience.reason}"
            yield PlanRow(id=experience.id, title=experience.title, goes=True, why=why, outcome=experience.outcome)


def _prune_notes(plan: PrunePlan) -> Iterator[str]:
    yield from gone_notes(plan.n_gone)
    for criterion, count in plan.missing.items():
        missing_value, consequence = MISSING[criterion]
        verb, object = ("has", "it") if count == 1 else ("have", "them")
        yield f"{count:,} {verb} {missing_value}, so {consequence} {object}."


def has_rule(plan: PrunePlan) -> bool:
    """Return whether a rule chose the experiences, and not a person."""
    return bool(plan.criteria.enabled_values())


def _rule_text(plan: PrunePlan) -> str:
    """Return the rule of a plan, the number of matches and the exceptions. Empty if a person chose the records."""
    n_matching = len(plan.removals) + len(plan.saved)
    if not n_matching or not has_rule(plan):
        return ""
    limits, is_tagged = plan.criteria.enabled_values(), plan.criteria.tag is not None
    clauses = [clause.format(_limit_text(name, limits[name])) for name, clause in CLAUSES.items() if name in limits]
    condition = "has the tag" if is_tagged else "was chosen"
    if clauses:
        condition = (f"{condition}, and " if is_tagged else "") + " or ".join(clauses)
    scope = (
        f", among the {plan.n_judged:,} chosen" if clauses and not is_tagged and plan.n_judged != plan.n_total else ""
    )
    exception = ", and the best of each group of similar ones" if plan.criteria.keep_diverse else ""
    verb = "matches" if n_matching == 1 else "match"
    return f"Rule: delete what {condition}{scope}. {n_matching:,} {verb}. Pinned ones stay{exception}."


def _limit_text(criterion: str, limit: float) -> str:
    if criterion == "min_success_rate":
        return f"{100 * limit:g}%"
    return f"{limit:,}" if criterion == "max_count" else f"{limit:g} {'day' if limit == 1 else 'days'}"


def _prune_row(decision: PruneDecision) -> PlanRow:
    reason = "; ".join(decision.reasons)
    if decision.saved_because:
        reason += f"; protected: {decision.saved_because}"
    return PlanRow(
        id=decision.id, title=decision.title, goes=not decision.saved_because, why=reason, outcome=decision.outcome
    )


def _merge_rows(group: MergeGroup) -> Iterator[PlanRow]:
    outcomes = group.merged.metadata["merged_outcomes"]
    stands_for = ", ".join(f"{count} {label}" for label, count in outcomes.items())
    yield PlanRow(
        id=group.kept_id,
        title=group.kept_title,
        goes=False,
        why=f"stays: {group.why_kept}; stands for {stands_for}",
        outcome=group.merged.outcome.label,
    )
    for removed in group.removed:
        target = f"into {group.kept_id[:8]}"
        yield PlanRow(id=removed.id, title=removed.title, goes=True, why=target, outcome=removed.outcome)
