"""The answer of every memory to a task, and the block that an agent is shown of it. Asked in one way, or in two."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from atlas.core.hits import Hit, MemoryQueryResult
from atlas.core.settings import RankingWeights
from atlas.core.types import Task
from atlas.memory.context import BUDGET_TOKENS, EACH, ContextBlock, build_context
from atlas.memory.kinds.sections import SECTIONS
from atlas.memory.system import MemorySystem
from atlas.views.ask.cards import VIEWS
from atlas.views.ask.comparison import knobs, move_of
from atlas.views.shared.wording import hidden_text

__all__ = ["BUDGET_TOKENS", "EACH", "ContextBlock", "MemoryQueryResult"]

MOST_EACH = 20
MOST_TOKENS = 8_000
"""Where the scales of what a person can choose end."""

TITLES = {name: views.kind.page.capitalize() for name, views in VIEWS.items()}
"""Names of the memories on the page, in the order of the block."""

NONE_YET = {
    "strategies": "This store has no strategies. Storing a successful attempt writes one. Importing runs does not.",
    "experience": "This store has no experiences: import runs, or let an agent store its attempts.",
    "concepts": "This store has no concepts: load primitives, import a skill library, or compress what agents wrote.",
    "journal": "This store has no journal: an agent writes it, or import one.",
}
"""How each memory is filled."""

NONSENSE = "lamb tagine with apricots, saffron and preserved lemon"
"""A task that no store of an agent at work has records of."""

IN_BLOCK, LEFT_OUT, ONLY_HERE = "in the context block", "not in the context block", "only here"

DIVERSITY = 0.2
"""Share of its value that a near-copy of a hit above it loses, where hits are to differ from each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One way to ask the memories."""

    weights: RankingWeights = RankingWeights()
    k: int = EACH
    """Of each memory."""

    off: tuple[str, ...] = ()
    """Names of memories that are left out."""

    is_diverse: bool = True
    """True where similar attempts at a task are one hit, and near-copies of hits above come later."""

    @property
    def choice(self) -> dict[str, Any]:
        """The arguments of `query` and `build_context` that choose among the hits."""
        return {"distinct": True, "diversity": DIVERSITY} if self.is_diverse else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedHit:
    """A hit, and where it stands."""

    id: str
    rank: int
    """From 1, within its memory."""

    hit: Hit[Any]
    is_shown: bool
    """True where the block shows it."""

    move: str = ""
    """`▲ 2`, `▼ 1` or `=` against the other side, or `only here`. Empty where there is no other side."""

    is_shown_otherwise: bool = False
    """True where the other side, which found it too, decides otherwise about showing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One memory's part of an answer."""

    name: str
    hits: tuple[RankedHit, ...]
    sentence: str
    """How much was found and hidden, or the reason for no hits. Contains no text of memories but an error's words."""

    is_failed: bool = False

    @property
    def title(self) -> str:
        """`Strategies`."""
        return TITLES[self.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The parts of all memories, and the block made of them."""

    parts: tuple[Part, ...]
    block: ContextBlock
    block_sentence: str

    @property
    def n_hits(self) -> int:
        """Of all memories."""
        return sum(len(part.hits) for part in self.parts)


def counts(memory: MemorySystem) -> dict[str, int]:
    """Return how many records each memory holds."""
    return {name: views.kind.records(memory).count() for name, views in VIEWS.items()}


def hits_for(memory: MemorySystem, text: str, configuration: Configuration) -> MemoryQueryResult:
    """Return the hits of the memories for a task. They do not count as retrieved or used."""
    names = [name for name in SECTIONS if name not in configuration.off]
    ranked = memory.ranked_with(configuration.weights, names)
    return ranked.query_sync(_task(text), configuration.k, **configuration.choice, count_retrieval=False)


def block_of(memory: MemorySystem, result: MemoryQueryResult, budget_tokens: int) -> ContextBlock:
    """Return the context block of hits that an agent would be given."""
    return build_context(result, memory.token_counter, budget_tokens)


def answered(
    result: MemoryQueryResult, block: ContextBlock, configuration: Configuration, n_records: Mapping[str, int]
) -> Answer:
    """Return an answer as it is drawn.

    Args:
        n_records: Number of records in each memory.
    """
    return Answer(
        parts=tuple(_part(name, result, block, configuration, n_records[name]) for name in SECTIONS),
        block=block,
        block_sentence=_block_sentence(block),
    )


def compared(left: Answer, right: Answer) -> tuple[Answer, Answer]:
    """Return two answers, whose hits are marked by how they differ from the other side."""
    return _against(left, right), _against(right, left)


def agents_call(configuration: Configuration, budget_tokens: int, in_use: RankingWeights) -> str:
    """Return how an agent gets the same block, or what keeps it from getting it.

    Args:
        in_use: The weights that searches rank with.
    """
    arguments = {"budget_tokens": (budget_tokens, BUDGET_TOKENS), "k": (configuration.k, EACH)}
    named = {name: value for name, (value, usual) in arguments.items() if value != usual} | configuration.choice
    call = f"build_context({', '.join(['task', *(f'{name}={value!r}' for name, value in named.items())])})"
    if configuration.off:
        return "No agent gets exactly this, because memories are left out here."
    if configuration.weights != in_use:
        return f"An agent that calls `{call}` gets this once all searches use these weights."
    return f"An agent gets exactly this from `{call}`."


def block_difference(left: Answer, right: Answer) -> str:
    """Return the lines in which the block of B differs from that of A. Empty where they are the same."""
    left_lines, right_lines = (answer.block.text.splitlines() for answer in (left, right))
    return "\n".join(difflib.unified_diff(left_lines, right_lines, "A", "B", lineterm="", n=0))


def settings_differing(left: Configuration, right: Configuration) -> str:
    """Return `The configurations differ in hits of each memory and success.`, or that they do not differ."""
    weights = [knob.label for knob in knobs() if getattr(left.weights, knob.name) != getattr(right.weights, knob.name)]
    named = {
        "Hits per memory": left.k != right.k,
        "Memories left out": {*left.off} != {*right.off},
        "Different hits first": left.is_diverse != right.is_diverse,
    }
    differing = [*(name for name, is_other in named.items() if is_other), *weights]
    if not differing:
        return "A and B are the same configuration."
    return f"A and B differ in: {', '.join(name.lower() for name in differing)}."


def difference_sentence(left: Answer, right: Answer) -> str:
    """Return the overlap of two answers, in hits and in blocks."""
    found = [{(part.name, hit.id) for part in side.parts for hit in part.hits} for side in (left, right)]
    shown_records = [
        {(name, record_id) for name, ids in side.block.shown.items() for record_id in ids} for side in (left, right)
    ]
    return f"Hits: {_overlap(found)} Blocks: {_overlap(shown_records)}"


def _overlap(sides: list[set[tuple[str, str]]]) -> str:
    left, right = sides
    if left == right:
        return f"the same {_memories(len(left))} in A and B." if left else "none in A or B."
    return f"{_memories(len(left & right))} in both, {len(left - right):,} only in A, {len(right - left):,} only in B."


def _against(side: Answer, other: Answer) -> Answer:
    ranks = {(part.name, hit.id): hit for part in other.parts for hit in part.hits}
    return replace(side, parts=tuple(_part_against(part, ranks) for part in side.parts))


def _part_against(part: Part, other: Mapping[tuple[str, str], RankedHit]) -> Part:
    hits = []
    for hit in part.hits:
        twin = other.get((part.name, hit.id))
        is_otherwise = twin is not None and twin.is_shown != hit.is_shown
        move = move_of(hit.rank, twin.rank) if twin else ONLY_HERE
        hits.append(replace(hit, move=move, is_shown_otherwise=is_otherwise))
    return replace(part, hits=tuple(hits))


def _part(name: str, result: MemoryQueryResult, block: ContextBlock, configuration: Configuration, n_held: int) -> Part:
    found = result.hits[name]
    shown_ids = {*block.shown.get(name, ())}
    return Part(
        name=name,
        hits=tuple(
            RankedHit(id=hit.item.id, rank=rank, hit=hit, is_shown=hit.item.id in shown_ids)
            for rank, hit in enumerate(found, start=1)
        ),
        sentence=_sentence(name, result, configuration, n_held),
        is_failed=name in result.errors,
    )


def _sentence(name: str, result: MemoryQueryResult, configuration: Configuration, n_held: int) -> str:
    if name in configuration.off:
        return "Left out here."
    if name in result.errors:
        return f"This memory failed, so the answer is without it: {result.errors[name]}"
    if not n_held:
        return NONE_YET[name]
    n, n_hidden = len(result.hits[name]), result.n_hidden.get(name, 0)
    if n:
        return ", ".join(filter(None, [f"{n:,} found", hidden_text(n_hidden, n_shown=n, most=configuration.k)]))
    if not n_hidden:
        return "Nothing found"
    best = f"The best hit would need a relevance of {result.thresholds[name]:.2f}"
    return f"Nothing is relevant enough. {best}. {n_hidden:,} less relevant {'is' if n_hidden == 1 else 'are'} hidden"


def _block_sentence(block: ContextBlock) -> str:
    n = sum(map(len, block.shown.values()))
    if not block.text:
        if not block.n_left_out:
            return "The block is empty: no memory is relevant to the task, so an agent is told nothing."
        return f"The block is empty: none of the {block.n_left_out:,} memories found fits into the budget."
    left = f", {block.n_left_out:,} left out" if block.n_left_out else ""
    return f"{_memories(n)} in {block.n_tokens:,} of {block.budget_tokens:,} tokens{left}"


def _memories(n: int) -> str:
    return "1 memory" if n == 1 else f"{n:,} memories"


def _task(text: str) -> Task:
    """Return a task of a person's own, which no attempt will be made at."""
    return Task(id="", domain="", description=text)
