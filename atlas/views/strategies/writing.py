"""Writing strategies: by hand, or from the successful attempts that a store has, as previewed."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.core.types import Strategy
from atlas.memory.strategies.induction import TemplateStrategyAbstractor
from atlas.memory.strategies.writing import StrategyWritePlan
from atlas.memory.strategy_sources import unwritten_successes
from atlas.memory.system import MemorySystem
from atlas.views.overview.summary import Done
from atlas.views.shared.wording import counted
from atlas.views.strategies.list import BY_HAND
from atlas.views.strategies.parameters import parameters_in
from atlas.views.strategies.strategy import EditableStrategy

MOST_ATTEMPTS = 1_000
"""Attempts that are looked at in one go; the next go takes up the rest."""

MOST_ASKED = 20
"""The same where a language model is asked about each, which takes seconds and money."""

BY_PATTERN, BY_MODEL = "by pattern, without a language model", "with the language model"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRow:
    """A strategy as it would be written, or be there with more sources; all texts are untrusted."""

    title: str
    suggestion: str
    n_sources: int
    what: str
    """`new`, or `gets more sources`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteProposal:
    """What writing strategies from attempts would do, and all that a person should see of it."""

    plan: StrategyWritePlan
    headline: str
    notes: tuple[str, ...]
    """The same in words of our own, as the headline."""

    rows: tuple[WrittenRow, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be written."""
        return not self.rows

    @property
    def button(self) -> str:
        """What applying it is called."""
        if not self.plan.added:
            return f"Add the sources to {counted(len(self.plan.joined), 'strategy')}"
        return f"Write {counted(len(self.plan.added), 'strategy')}"


def propose_writing(memory: MemorySystem, *, by_model: bool = False) -> WriteProposal:
    """What the successful attempts become that no strategy comes from yet; nothing is touched.

    Args:
        by_model: Whether the bank's own abstractor is asked about each, where that asks a language model.
    """
    asks_model = by_model and has_model(memory)
    most, bank = (MOST_ASKED if asks_model else MOST_ATTEMPTS), memory.strategies
    if not asks_model:
        bank = bank.with_abstractor(TemplateStrategyAbstractor())
    plan = bank.plan_write(unwritten_successes(bank, memory.experience, most))
    joins = f", and {counted(len(plan.joined), 'strategy')} would get more sources" if plan.joined else ""
    return WriteProposal(
        plan=plan,
        headline=f"{counted(plan.n_attempts, 'successful attempt')} would become "
        f"{counted(len(plan.added), 'strategy')}{joins}.",
        notes=tuple(_notes(plan, BY_MODEL if asks_model else BY_PATTERN, most)),
        rows=(*(_row(one, "new") for one in plan.added), *(_row(one, "gets more sources") for one in plan.joined)),
    )


def apply_writing(memory: MemorySystem, proposal: WriteProposal) -> Done:
    """Write exactly what was proposed, as one operation.

    Raises:
        PlanOutdated: Strategies came, went or changed since; nothing was done.
    """
    scoped = memory.strategies.within("store", f"from {counted(proposal.plan.n_attempts, 'successful attempt')}")
    scoped.apply_write(proposal.plan)
    sentence = f"Wrote {counted(len(proposal.plan.added), 'strategy')}"
    if proposal.plan.joined:
        sentence += f", and gave {counted(len(proposal.plan.joined), 'strategy')} more sources"
    return Done(str(scoped.operation_id), sentence)


def write_by_hand(memory: MemorySystem, typed: EditableStrategy) -> tuple[str, Done]:
    """Add what a person typed; its id, and what was done.

    Raises:
        InvalidInput: It cannot be kept, or the bank says it already; the message says what to mend.
    """
    scoped = memory.strategies.within("store", "written by hand")
    strategy = Strategy(
        title=typed.title.strip(),
        situation=typed.situation.strip(),
        suggestion=typed.suggestion.strip(),
        rationale=typed.rationale.strip(),
        parameters=parameters_in(typed.parameters),
        metadata={"derived_by": BY_HAND},
    )
    strategy_id = scoped.add(strategy)
    return strategy_id, Done(str(scoped.operation_id), "Wrote 1 strategy")


def has_model(memory: MemorySystem) -> bool:
    """Whether the bank's own abstractor is another one than the pattern's: one that asks a language model."""
    return not isinstance(memory.strategies.abstractor, TemplateStrategyAbstractor)


def _notes(plan: StrategyWritePlan, how: str, most: int) -> list[str]:
    said = [f"They are written {how}{f', which took {plan.spent}' if plan.spent else ''}."]
    if plan.n_joined_sources:
        said.append(f"{counted(plan.n_joined_sources, 'attempt')} say the same as another one, and become its sources.")
    if plan.retired:
        told = f"{counted(len(plan.retired), 'strategy')} of those that would get more sources"
        said.append(f"Retired, and so still not given to agents: {told}.")
    if plan.n_nothing:
        said.append(f"{counted(plan.n_nothing, 'attempt')} say too little, or are too specific, to help elsewhere.")
    if plan.problems:
        said.append(f"{counted(len(plan.problems), 'attempt')} could not be read; the first is said below.")
    if plan.n_attempts >= most:
        said.append(f"The first {most:,} attempts were looked at; ask again for the rest.")
    return said


def _row(strategy: Strategy, what: str) -> WrittenRow:
    return WrittenRow(
        title=strategy.title, suggestion=" ".join(strategy.suggestion.split())[:300], n_sources=len(strategy.sources),
        what=what,
    )  # fmt: skip
