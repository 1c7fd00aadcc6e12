"""Plans that set the outcomes of attempts."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.core.statistics import SuccessRate
from atlas.memory.experience.outcomes import OutcomePlan
from atlas.memory.system import MemorySystem
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.shared.plans import Figure, PlanRow, PlanView, gone_notes
from atlas.views.shared.rates import rate_text
from atlas.views.shared.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRequest:
    """A request to set the outcome of these attempts."""

    ids: tuple[str, ...]
    success: bool | None

    def propose(self, memory: MemorySystem) -> OutcomeProposal:
        """Return the current plan."""
        plan = memory.experience.plan_outcomes(self.ids, self.success)
        return OutcomeProposal(plan=plan, view=_outcome_view(plan, _rate_figure(memory, plan)))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeProposal:
    """Experiences that would get another outcome."""

    plan: OutcomePlan
    view: PlanView
    removed_ids: tuple[str, ...] = ()
    """Empty, because no record is removed."""

    @property
    def done_sentence(self) -> str:
        """`Set 3 experiences to succeeded`."""
        return f"Set {counted(len(self.plan.changes), EXPERIENCE.noun)} to {self.plan.label}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Set the outcomes as one operation and return its id.

        Raises:
            PlanOutdated: A record has changed since the plan was made. Nothing was applied.
        """
        scoped = memory.experience.as_operation("outcome", self.plan.reason)
        scoped.apply_outcomes(self.plan)
        return scoped.operation_id


def _outcome_view(plan: OutcomePlan, figure: Figure) -> PlanView:
    n_changed, label = len(plan.changes), plan.label
    same_sentence = f" {plan.n_same:,} {'is' if plan.n_same == 1 else 'are'} {label} already." if plan.n_same else ""
    return PlanView(
        title="Set outcomes",
        headline=f"{counted(n_changed, EXPERIENCE.noun)} would be set to {label}.{same_sentence}",
        button=f"Set {counted(n_changed, EXPERIENCE.noun)} to {label}" if n_changed else "",
        notes=gone_notes(plan.n_gone),
        rows=tuple(
            PlanRow(id=change.id, title=change.title, goes=False, why=f"set to {label}", outcome=change.before)
            for change in plan.changes
        ),
        subject="Task",
        figures=(figure,) if n_changed else (),
        caption="What would change, with the current outcome",
        nothing=f"All of these are {label} already.",
    )


def _rate_figure(memory: MemorySystem, plan: OutcomePlan) -> Figure:
    """Return the success rate of the memory after a plan, beside the present one."""
    counts = memory.experience.values("outcome")
    new_counts = dict(counts)
    for change in plan.changes:
        new_counts[change.before] -= 1
        new_counts[plan.label] = new_counts.get(plan.label, 0) + 1
    return Figure("Success rate", rate_text(SuccessRate.of(new_counts)), rate_text(SuccessRate.of(counts)))
