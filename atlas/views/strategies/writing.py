"""Writing strategies: by hand, or from the attempts that a store has, as previewed."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.core.types import Strategy
from atlas.infra.secrets import counting_secrets
from atlas.memory.strategies.induction.template import TemplateStrategyAbstractor
from atlas.memory.strategies.records import is_warning
from atlas.memory.strategies.writing import StrategyWritePlan
from atlas.memory.strategy_sources import unwritten_attempts
from atlas.memory.system import MemorySystem
from atlas.views.shared.plans import CompletedAct, PlanView
from atlas.views.shared.wording import counted, with_replaced
from atlas.views.strategies.list import BY_HAND
from atlas.views.strategies.parameters import parameters_in
from atlas.views.strategies.strategy import EditableStrategy

MAX_ATTEMPTS = 1_000
"""Most attempts of one batch. The next batch takes up the rest."""

MAX_ASKED = 20
"""Most attempts of one batch with a language model, which takes seconds and costs money for each."""

BY_PATTERN, BY_MODEL = "by pattern, without a language model", "with the language model"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRow:
    """A strategy as it would be written, or be there with more sources. All texts are untrusted."""

    title: str
    suggestion: str
    n_sources: int
    what: str
    """`new`, `new warning`, or `gets more sources`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """A request for strategies from the attempts without one.

    Failed attempts become warnings if a language model is used.
    """

    by_model: bool = False
    """True to use the bank's language model, if it has one."""

    def propose(self, memory: MemorySystem) -> WriteProposal:
        """Return the plan for the current state."""
        return propose_writing(memory, by_model=self.by_model)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteProposal:
    """Strategies that would be written from attempts."""

    plan: StrategyWritePlan
    view: PlanView
    rows: tuple[WrittenRow, ...]
    removed_ids: tuple[str, ...] = ()

    @property
    def done_sentence(self) -> str:
        """`Wrote 3 strategies, and gave 2 strategies more sources`."""
        sentence = f"Wrote {counted(len(self.plan.added), 'strategy')}"
        if self.plan.joined:
            sentence += f", and gave {counted(len(self.plan.joined), 'strategy')} more sources"
        return sentence

    def apply(self, memory: MemorySystem) -> str | None:
        """Write the strategies as one operation and return its id.

        Raises:
            PlanOutdated: Strategies were added, deleted or changed since. The store is unchanged.
        """
        scoped = memory.strategies.as_operation("store", f"from {counted(self.plan.n_attempts, 'attempt')}")
        scoped.apply_write(self.plan)
        return scoped.operation_id


def propose_writing(memory: MemorySystem, *, by_model: bool = False) -> WriteProposal:
    """Return the plan of strategies from attempts that have none. Nothing is stored.

    Args:
        by_model: Whether to use the bank's own abstractor if it is a language model.
    """
    asks_model = by_model and has_model(memory)
    max_attempts = MAX_ASKED if asks_model else MAX_ATTEMPTS
    bank = memory.strategies
    if not asks_model:
        bank = bank.with_abstractor(TemplateStrategyAbstractor())
    plan = bank.plan_write(unwritten_attempts(bank, memory.experience, max_attempts))
    notes = tuple(_notes(plan, BY_MODEL if asks_model else BY_PATTERN, max_attempts))
    rows = (
        *(_row(strategy, "new warning" if is_warning(strategy) else "new") for strategy in plan.added),
        *(_row(strategy, "gets more sources") for strategy in plan.joined),
    )
    return WriteProposal(plan=plan, view=_view(plan, notes), rows=rows)


def write_by_hand(memory: MemorySystem, typed: EditableStrategy) -> tuple[str, CompletedAct]:
    """Add a strategy from a form, and return its id and the operation.

    Raises:
        InvalidInput: It is invalid, or stored already; the message names the remedy.
    """
    scoped = memory.strategies.as_operation("store", "written by hand")
    strategy = Strategy(
        title=typed.title.strip(),
        situation=typed.situation.strip(),
        suggestion=typed.suggestion.strip(),
        rationale=typed.rationale.strip(),
        parameters=parameters_in(typed.parameters),
        metadata={"derived_by": BY_HAND},
    )
    with counting_secrets() as found:
        strategy_id = scoped.add(strategy)
    return strategy_id, CompletedAct(str(scoped.operation_id), with_replaced("Wrote 1 strategy", found))


def has_model(memory: MemorySystem) -> bool:
    """Return whether the bank's own abstractor uses a language model."""
    return not isinstance(memory.strategies.abstractor, TemplateStrategyAbstractor)


def _view(plan: StrategyWritePlan, notes: tuple[str, ...]) -> PlanView:
    added, joined = counted(len(plan.added), "strategy"), counted(len(plan.joined), "strategy")
    joins = f", and {joined} would get more sources" if plan.joined else ""
    button = f"Write {added}" if plan.added else f"Add the sources to {joined}" if plan.joined else ""
    return PlanView(
        title="Write strategies",
        headline=f"{counted(plan.n_attempts, 'attempt')} would become {added}{joins}.",
        button=button,
        notes=notes,
        nothing="Nothing would be written.",
    )


def _notes(plan: StrategyWritePlan, how: str, most: int) -> list[str]:
    sentences = [f"They are written {how}{f', which took {plan.spent}' if plan.spent else ''}."]
    if plan.n_joined_sources:
        sentences.append(
            f"{counted(plan.n_joined_sources, 'attempt')} say the same as another one, and become its sources."
        )
    if plan.retired:
        retired = f"{counted(len(plan.retired), 'strategy')} of those that would get more sources"
        sentences.append(f"Retired, and so still not given to agents: {retired}.")
    if plan.n_nothing:
        sentences.append(
            f"{counted(plan.n_nothing, 'attempt')} say too little, or are too specific, to help elsewhere."
        )
    if plan.problems:
        sentences.append(
            f"{counted(len(plan.problems), 'attempt')} could not be read. The first problem is shown below."
        )
    if plan.unmerged:
        n_unmerged = counted(len(plan.unmerged), "strategy")
        sentences.append(
            f"Not merged with another one for an alike situation: {n_unmerged}. The reasons are shown below."
        )
    if plan.n_attempts >= most:
        sentences.append(f"The first {most:,} attempts were read. Ask again for the rest.")
    return sentences


def _row(strategy: Strategy, what: str) -> WrittenRow:
    return WrittenRow(
        title=strategy.title, suggestion=" ".join(strategy.suggestion.split())[:300], n_sources=len(strategy.sources),
        what=what,
    )  # fmt: skip
