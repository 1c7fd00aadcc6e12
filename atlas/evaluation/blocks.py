"""Evaluation of context blocks: the share of blocks with a relevant record, by budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from atlas.core.hits import Hit, MemoryQueryResult
from atlas.core.statistics import Estimate, estimates
from atlas.core.types import Experience
from atlas.evaluation.measures import RetrievalTask, answerable_queries, relevant_ids
from atlas.evaluation.split import Half
from atlas.memory.context.block import BEGIN, DEFAULT_K, END, PREAMBLE, TokenCounter, build_context
from atlas.memory.kinds.sections import SECTIONS
from atlas.protocols.infra import Progress

BUDGETS = (500, 1_000, 2_000)
MEMORY = "experience"
FIGURES = ("in_block", "in_full", "until_full", "difference")
"""Fields of `BlockResult`, in the order in which `_block_figures` returns them."""
MAX_COUNTS = 10_000
"""Size of the cache of token counts."""

HitFinder = Callable[[str, Collection[str], int], Sequence[Hit[Experience]]]
"""Function of a query, the ids to exclude and a number of hits, which returns the hits that an agent gets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockResult:
    """The figures of context blocks for the queries of one task, at one budget. The blocks contain experiences only."""

    task: str
    budget_tokens: int
    n_queries: int
    in_block: Estimate
    """Share of the queries with a relevant record, or one with the same text, in the block, in full or as its gist."""

    in_full: Estimate
    """Share of the queries with a relevant record in full."""

    until_full: Estimate
    """Share of the queries with a relevant record in a block of full texts only, filled as by `ids_until_full`."""

    difference: Estimate
    """Mean difference `in_block` − `until_full` over the queries."""


def evaluate_blocks(
    task: RetrievalTask,
    texts: Mapping[str, str],
    hits_for: HitFinder,
    id_field: str,
    counter: TokenCounter,
    *,
    half: Half,
    seed: int,
    on_progress: Progress | None = None,
) -> tuple[BlockResult, ...]:
    """Return the figures of the context blocks for the queries of one half, for each of `BUDGETS`.

    Args:
        texts: The description of each record, keyed by its id.
        id_field: The field that identifies an experience in judgements.
        counter: Counts tokens.
        seed: Seed of the intervals.
        on_progress: Called after each query.
    """
    queries = answerable_queries(task, texts, half)
    if not queries:
        return ()
    cached_counter = TokenCounter(count=lru_cache(MAX_COUNTS)(counter.count), name=counter.name)
    values = np.zeros((len(queries), len(BUDGETS), len(FIGURES)))
    for row, query in enumerate(queries):
        hits = hits_for(query.text, query.excluded, DEFAULT_K)
        relevant = {*relevant_ids(query, texts)}
        relevant_hit_ids = {hit.item.id for hit in hits if getattr(hit.item, id_field) in relevant}
        values[row] = [_block_figures(hits, relevant_hit_ids, cached_counter, budget) for budget in BUDGETS]
        if on_progress:
            on_progress(row + 1, len(queries))
    groups = [query.group for query in queries]
    return tuple(
        BlockResult(
            task=task.name,
            budget_tokens=budget,
            n_queries=len(queries),
            **dict(zip(FIGURES, estimates(values[:, column], groups, seed=seed), strict=True)),
        )
        for column, budget in enumerate(BUDGETS)
    )


def _block_figures(
    hits: Sequence[Hit[Experience]], relevant_hit_ids: Collection[str], counter: TokenCounter, budget: int
) -> tuple[float, float, float, float]:
    """Return the `FIGURES` of the context block for one query.

    The first three are 1 if they hold, else 0: the block contains a relevant record, the block contains one in full,
    and a block of full texts only would contain one (see `ids_until_full`). The fourth is the first minus the third.
    """
    block = build_context(MemoryQueryResult(experience_hits=tuple(hits)), counter, budget)
    shown_ids, shortened = {*block.shown[MEMORY]}, {*block.shortened[MEMORY]}
    repeated = {omission.id for omission in block.omitted if omission.reason == "repeats"}
    relevant = set(relevant_hit_ids)
    in_block = float(bool(relevant & (shown_ids | repeated)))
    in_full = float(bool(relevant & (shown_ids - shortened)))
    until_full = float(bool(relevant.intersection(ids_until_full(hits, counter, budget))))
    return in_block, in_full, until_full, in_block - until_full


def ids_until_full(hits: Sequence[Hit[Experience]], counter: TokenCounter, budget: int) -> list[str]:
    """Return the ids of the first hits whose full texts fit into a block together."""
    section = SECTIONS[MEMORY]
    n_remaining = budget - counter.count("\n".join([BEGIN, PREAMBLE, "", section.heading, END]))
    ids = list[str]()
    for hit in hits:
        n_remaining -= counter.count("\n".join(section.text(hit.item).lines) + "\n")
        if n_remaining < 0:
            break
        ids.append(hit.item.id)
    return ids
