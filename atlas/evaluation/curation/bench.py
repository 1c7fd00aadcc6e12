"""Measurement of retrieval as a memory shrinks, for each policy, and its report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.core.statistics import Estimate, estimates
from atlas.core.types import Trajectory
from atlas.core.words import FUNCTION_WORDS
from atlas.embedding.cached import CachedEmbedder
from atlas.evaluation.curation.policies import (
    EXPERIENCE,
    POLICIES,
    KeptRecord,
    MemoryToShrink,
    Policy,
    sort_by_time,
    text_without_task,
)
from atlas.evaluation.replay import task_identity, temporary_memory
from atlas.evaluation.report import Grid, format_estimate, to_lines, to_markdown
from atlas.protocols.infra import Progress, WholeEmbedder

SHARES = (1.0, 0.5, 0.25, 0.1)
"""Sizes of the memory, as shares of all attempts."""

K = 5
"""Number of hits of a task that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationRow:
    """The figures of one policy at one size of the memory."""

    policy: str
    share: float
    n_records: int
    """Number of records that remain."""

    found: Estimate
    """Share of the tasks for which one of the first `K` hits was made from a successful attempt at the task."""

    evidence: Estimate
    """Mean share of a successful attempt's words in the best hit that was made from it. 0 for a task without a hit."""

    n_words: float
    """Mean number of words of a record without its task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationBench:
    """The figures of all policies at all sizes of the memory."""

    model: str
    n_attempts: int
    n_tasks: int
    """Number of tasks with a successful attempt. Only these are queried."""

    seed: int
    rows: tuple[CurationRow, ...]


def bench_curation(
    attempts: Sequence[Trajectory],
    embedder: WholeEmbedder,
    *,
    settings: Settings,
    policies: Mapping[str, Policy] = POLICIES,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> CurationBench:
    """Return the figures of retrieval after each policy has shrunk a memory to each size.

    Every task with a successful attempt is queried.

    Args:
        shares: Sizes as shares of all attempts, in (0, 1].
        seed: Seed of the intervals.
        on_progress: Called after each size of each policy.

    Raises:
        InvalidInput: No attempt succeeded.
    """
    ordered, cached_embedder = sort_by_time(attempts), CachedEmbedder(embedder)
    successes_by_task = _group_successes(ordered)
    if not successes_by_task:
        raise InvalidInput(
            f"none of {len(ordered):,} attempts succeeded, so there is no task to look for; give successful attempts"
        )
    vectors = cached_embedder.encode_batch([attempt.task.description for attempt in ordered])
    rows = list[CurationRow]()
    for name, policy in policies.items():
        for share in shares:
            n_kept = max(1, round(share * len(ordered)))
            memory = MemoryToShrink(
                attempts=ordered, vectors=vectors, n_kept=n_kept, embedder=cached_embedder, settings=settings
            )
            kept = (
                policy(memory)
                if n_kept < len(ordered)
                else [KeptRecord(attempt, frozenset({attempt.id})) for attempt in ordered]
            )
            rows.append(_make_row(name, share, kept, successes_by_task, memory, seed))
            if on_progress:
                on_progress(len(rows), len(policies) * len(shares))
    return CurationBench(
        model=cached_embedder.model_name,
        n_attempts=len(ordered),
        n_tasks=len(successes_by_task),
        seed=seed,
        rows=tuple(rows),
    )


def _group_successes(attempts: Sequence[Trajectory]) -> dict[str, list[Trajectory]]:
    """Return the successful attempts, keyed by task."""
    successes_by_task: dict[str, list[Trajectory]] = {}
    for attempt in attempts:
        if attempt.outcome.success:
            successes_by_task.setdefault(task_identity(attempt), []).append(attempt)
    return successes_by_task


def _make_row(
    name: str,
    share: float,
    kept: Sequence[KeptRecord],
    successes_by_task: Mapping[str, Sequence[Trajectory]],
    memory: MemoryToShrink,
    seed: int,
) -> CurationRow:
    """Return the figures of retrieval from a shrunk memory."""
    with temporary_memory(EXPERIENCE, memory.embedder, memory.settings) as (system, _):
        ids = system.experience.store_many([record.attempt for record in kept])
        records_by_id = dict(zip(ids, kept, strict=True))
        rows = list[list[float]]()
        for successes in successes_by_task.values():
            description = successes[0].task.description
            hits = system.experience.retrieve(description, K, count_retrieval=False).hits
            success_ids = {attempt.id for attempt in successes}
            records = [records_by_id[hit.item.id] for hit in hits if success_ids & records_by_id[hit.item.id].sources]
            evidence_of_task = max((_best_evidence(record, successes) for record in records), default=0.0)
            rows.append([float(bool(records)), evidence_of_task])
    found_rate, evidence = estimates(np.array(rows, np.float64), list(successes_by_task), seed=seed)
    lengths = [len(text_without_task(record.attempt).split()) for record in kept]
    return CurationRow(
        policy=name,
        share=share,
        n_records=len(kept),
        found=found_rate,
        evidence=evidence,
        n_words=sum(lengths) / len(lengths),
    )


def _best_evidence(record: KeptRecord, successes: Sequence[Trajectory]) -> float:
    """Return the largest share of a source attempt's words that a record still contains, over its successful sources.

    The share is 1 for an attempt without words.
    """
    words = _words(text_without_task(record.attempt))
    sources = [attempt for attempt in successes if attempt.id in record.sources]
    return max(_share_of_words(_words(text_without_task(attempt)), words) for attempt in sources)


def _share_of_words(attempt_words: frozenset[str], words: frozenset[str]) -> float:
    return len(words & attempt_words) / len(attempt_words) if attempt_words else 1.0


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower())) - FUNCTION_WORDS


def as_json(bench: CurationBench) -> str:
    """Return the report as JSON."""
    return json.dumps(asdict(bench), ensure_ascii=False, indent=1)


def as_text(bench: CurationBench) -> str:
    """Return the report as aligned columns."""
    return "\n".join([_head(bench), "", *to_lines(_grid(bench)), "", *NOTES])


def as_markdown(bench: CurationBench) -> str:
    """Return the report as a Markdown table."""
    return "\n".join([_head(bench), "", *to_markdown(_grid(bench)), "", *(f"- {note}" for note in NOTES)])


NOTES = (
    f"found: share of the tasks for which one of the first {K} hits was made from a successful attempt at the task",
    "evidence: mean share of that attempt's words that the hit still contains; 0 if there is no such hit",
    "each query is the description of a task, and hits below the relevance level are hidden, as for an agent",
    "merging and summarising follow rules, without a language model",
)


def _head(bench: CurationBench) -> str:
    return (
        f"{bench.n_attempts:,} attempts, {bench.n_tasks:,} tasks with a success; embedding model {bench.model}; "
        f"a–b are 95% intervals over tasks (seed {bench.seed})"
    )


def _grid(bench: CurationBench) -> Grid:
    return [["policy", "size", "records", "found", "evidence", "words a record"], *_lines(bench)]


def _lines(bench: CurationBench) -> Iterator[list[str]]:
    for row in bench.rows:
        yield [
            row.policy,
            f"{row.share:.0%}",
            f"{row.n_records:,}",
            format_estimate(row.found),
            format_estimate(row.evidence),
            f"{row.n_words:,.0f}",
        ]
