"""What a memory offers at new tasks: experiences, strategies and concepts, with whole families of tasks held out.

The memory has the successful attempts of the other families, the strategies that the template abstractor writes from
them, and the concepts that are learned from their programs and calls. Each task of a held-out family is asked for a
context block by default settings. Measured is the share of the names that its recorded solution needs, and its own text
lacks, that are in the block, beside a block of as many records that are drawn at random. No language model takes part,
so this is what a block offers and not what an agent makes of it.

    ATLAS_REAL_DATA=../shared/data python -m benchmarks transfer
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import atlas
from atlas.core.hits import Hit, MemoryQueryResult
from atlas.core.statistics import Estimate, estimates, sign_test
from atlas.embedding.choice import BUNDLED
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from atlas.evaluation.report import to_markdown
from atlas.memory.context.block import DEFAULT_K, ContextBlock, TokenCounter, build_context
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Embedder
from benchmarks.agents.cases import Case, customers, problems, words
from benchmarks.measuring import Figure

N_FOLDS = 3
"""Number of memories for a corpus. Each lacks every third family."""

SEED = 0
EXPERIENCES = "experiences"
ARMS: Mapping[str, tuple[str, ...]] = {
    EXPERIENCES: ("experience",),
    "strategies": ("strategies",),
    "concepts": ("concepts",),
    "experiences and strategies": ("experience", "strategies"),
    "all": ("experience", "strategies", "concepts"),
}
"""Memories in the block of each arm."""

HEADER = ["in the block", "needed names", "placebo", "difference", "p", "beside experiences", "p", "tokens", "empty"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What one arm's block and its placebo offer at a task: shares of the needed names, in [0, 1], and tokens."""

    share: float
    placebo_share: float
    n_tokens: int
    n_placebo_tokens: int


def figures() -> Iterator[Figure]:
    """Yield for each corpus and arm the share of the needed names in the block, beside that in a placebo."""
    for name, cases in (("τ-bench", customers()), ("MBPP and HumanEval", problems())):
        if not cases:
            print("transfer: set ATLAS_REAL_DATA to a directory with tau_bench and reflexion", file=sys.stderr)
            continue
        offers = measured(cases, SentenceTransformerEmbedder(BUNDLED))
        families = [case.family for case in cases if case.needs]
        grid = [HEADER, *(_row(arm, each, offers[EXPERIENCES], families) for arm, each in offers.items())]
        print(f"\n{name}: {len(families)} tasks of {len(set(families))} families\n", *to_markdown(grid), sep="\n")
        for arm, each in offers.items():
            share, placebo_share, *_ = _columns(each).mean(axis=0)
            what = f"{name}, {arm}: needed names in the block, beside a placebo"
            yield Figure(what=what, ours=float(share), baseline=float(placebo_share), unit="", aim="")


def measured(cases: Sequence[Case], embedder: Embedder) -> dict[str, list[Offer]]:
    """Return what each arm offers at each task that needs anything, from a memory without the task's family."""
    families = sorted({case.family for case in cases})
    random.Random(SEED).shuffle(families)
    offers: dict[int, dict[str, Offer]] = {}
    for fold in range(N_FOLDS):
        unseen = set(families[fold::N_FOLDS])
        with tempfile.TemporaryDirectory() as scratch, _opened(scratch, embedder) as memory:
            fill(memory, [attempt for case in cases if case.family not in unseen for attempt in case.successes])
            for number, case in enumerate(cases):
                if case.needs and case.family in unseen:
                    offers[number] = offers_of(memory, case, random.Random(number))
    return {arm: [offers[number][arm] for number in sorted(offers)] for arm in ARMS}


def _opened(directory: str, embedder: Embedder) -> MemorySystem:
    return atlas.open_memory(directory, embedder=embedder, settings=atlas.Settings())


def fill(memory: MemorySystem, successes: Sequence[atlas.Trajectory]) -> None:
    """Store attempts, with the strategies and concepts that come of them without a language model."""
    memory.experience.store_many(successes)
    memory.strategies.apply_write(memory.strategies.plan_write(successes))
    memory.concepts.add_many(memory.concepts.compress(successes))


def offers_of(memory: MemorySystem, case: Case, draw: random.Random) -> dict[str, Offer]:
    """Return what each arm offers at a task, of which the memory is asked once."""
    task = atlas.Task("", case.task.domain, case.task.description)
    hits = memory.query_sync(task, DEFAULT_K, count_retrieval=False).hits
    counter = replace(memory.token_counter, count=cache(memory.token_counter.count))  # many pieces are in several arms
    of_arm = {arm: {kind: hits[kind] for kind in kinds} for arm, kinds in ARMS.items()}
    return {arm: _offer(memory, case, each, counter, draw) for arm, each in of_arm.items()}


def _offer(
    memory: MemorySystem,
    case: Case,
    hits: Mapping[str, Sequence[Hit[Any]]],
    counter: TokenCounter,
    draw: random.Random,
) -> Offer:
    block = _block(hits, counter)
    placebo = _block({kind: _drawn(memory, kind, each, draw) for kind, each in hits.items()}, counter)
    share, placebo_share = (len(case.needs & words(each.text)) / len(case.needs) for each in (block, placebo))
    return Offer(share=share, placebo_share=placebo_share, n_tokens=block.n_tokens, n_placebo_tokens=placebo.n_tokens)


def _block(hits: Mapping[str, Sequence[Hit[Any]]], counter: TokenCounter) -> ContextBlock:
    result = MemoryQueryResult(
        experience_hits=tuple(hits.get("experience", ())),
        concept_hits=tuple(hits.get("concepts", ())),
        strategy_hits=tuple(hits.get("strategies", ())),
    )
    return build_context(result, counter)


def _drawn(memory: MemorySystem, kind: str, hits: Sequence[Hit[Any]], draw: random.Random) -> list[Hit[Any]]:
    """Return as many records of the kind as there are hits, with their relevances, but drawn at random from others."""
    memory_of_kind: Any = getattr(memory, kind)
    others = sorted({*memory_of_kind.ids()} - {hit.item.id for hit in hits})
    records = memory_of_kind.get_many(draw.sample(others, min(len(hits), len(others))))
    return [hit.with_item(record) for hit, record in zip(hits, records, strict=False)]


def _columns(offers: Sequence[Offer]) -> np.ndarray:
    return np.array([[each.share, each.placebo_share, each.n_tokens, each.n_placebo_tokens] for each in offers])


def _row(arm: str, offers: Sequence[Offer], experiences: Sequence[Offer], families: Sequence[str]) -> list[str]:
    """Return an arm's percentages and points, with 95% intervals by family and sign tests by task."""
    ours = _columns(offers)
    shares, placebo_shares, tokens, placebo_tokens = ours.T
    gains, gains_beside = shares - placebo_shares, shares - _columns(experiences)[:, 0]
    columns = np.column_stack([shares, placebo_shares, gains, gains_beside])
    share, placebo, gain, gain_beside = estimates(columns, families, seed=SEED)
    beside = ["", ""] if arm == EXPERIENCES else [_percent(gain_beside, "+"), _signs(gains_beside)]
    length = f"{tokens.mean():.0f} / {placebo_tokens.mean():.0f}"
    parts = [_percent(share), _percent(placebo), _percent(gain, "+"), _signs(gains), *beside]
    return [arm, *parts, length, f"{np.mean(tokens == 0):.0%}"]


def _percent(estimate: Estimate, sign: str = "") -> str:
    bounds = estimate.interval
    interval = f" [{100 * bounds.low:{sign}.0f}, {100 * bounds.high:{sign}.0f}]" if bounds else ""
    return f"{100 * estimate.mean:{sign}.0f}{interval}"


def _signs(differences: np.ndarray) -> str:
    """Return `7 : 2, .180`: how many tasks are above and below 0, and the p-value of that."""
    n_won, n_lost = int((differences > 0).sum()), int((differences < 0).sum())
    return f"{n_won} : {n_lost}, {sign_test(n_won, n_lost):.3f}"
