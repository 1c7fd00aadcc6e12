"""Comparison of two rankings of a query with different weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from atlas.core.hits import Retrieval
from atlas.core.settings import RankingWeights
from atlas.core.types import Experience
from atlas.embedding.cached import CachedEmbedder
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Where
from atlas.storage.profiles import DEFAULT, Profile, ProfileChange, check_name
from atlas.views.experience.kind import card_text
from atlas.views.experience.profiles import profile_problems
from atlas.views.lists.hits import HitCard, record_card
from atlas.views.shared.wording import counted, hidden_text

__all__ = ["DEFAULT", "Profile", "ProfileChange", "RankingWeights", "check_name", "profile_problems"]

HITS = 10
"""Number of hits per side."""

N_RETRIEVED = 100
"""Number of hits on the other side to search for a hit."""

UP, DOWN, SAME, NEW = "▲", "▼", "=", "new"

_RELEVANCE = "of relevance, which decides first"
_NUDGE = "a nudge: reorders hits of about equal relevance"


@dataclass(frozen=True, slots=True)
class Knob:
    """A weight with a slider."""

    name: str
    label: str
    most: float
    """Upper end of the slider. A profile may exceed it."""

    step: float
    help: str


KNOBS: Mapping[str, Knob] = {
    knob.name: knob
    for knob in (
        Knob("meaning", "Meaning", 1.0, 0.05, f"Similarity of the texts: a part {_RELEVANCE}"),
        Knob("words", "Words", 1.0, 0.05, f"How well its words match the query's: a part {_RELEVANCE}"),
        Knob("success", "Success", 0.2, 0.005, f"Added in full for a success, halved where unknown; {_NUDGE}"),
        Knob("use", "Use", 0.2, 0.005, f"Multiplied by the share of tasks that it helped with; {_NUDGE}"),
        Knob("recency", "Recency", 0.2, 0.005, f"Multiplied by a weight that halves with age; {_NUDGE}"),
        Knob(
            "recency_half_life_days",
            "Half-life of recency, in days",
            365.0,
            1.0,
            "Days until the weight of recency halves",
        ),
        Knob("pin", "Pin", 0.2, 0.005, f"Added for what a person has pinned; {_NUDGE}"),
        Knob(
            "importance",
            "Importance",
            0.2,
            0.005,
            f"Multiplied by an entry's importance, in place of success; {_NUDGE}",
        ),
        Knob(
            "strictness",
            "Strictness",
            3.0,
            0.1,
            "Multiplies the relevance that the best hit needs before anything is shown. "
            "97 of 100 queries about other subjects do not reach it. 0 hides nothing",
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedHit:
    """A hit on one side, with its move relative to the other."""

    id: str
    rank: int
    """Number, from 1."""

    move: str
    """`▲ 2` if it is two ranks higher than on the other side, `▼ 1`, `=`, or `new` if missing there."""

    card: HitCard


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One ranking."""

    hits: tuple[ComparedHit, ...]
    hidden: str
    """Sentence on the first hits below the threshold, or empty if none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One query, ranked twice."""

    left: Side
    right: Side
    caption: str
    """Sentence on the overlap."""


def knobs() -> tuple[Knob, ...]:
    """Return a slider for each weight, in documented order. It goes up to 1 unless `KNOBS` sets another maximum."""
    names = [option.name for option in fields(RankingWeights) if isinstance(option.default, float)]
    return tuple(KNOBS.get(name) or Knob(name, name.replace("_", " ").capitalize(), 1.0, 0.05, "") for name in names)


def nudges_sentence(weights: RankingWeights) -> str:
    """Return a sentence on the bound of the nudges."""
    return (
        f"The nudges add at most {weights.nudges:.3f} together: hits whose meaning and words together differ by more "
        "are never swapped."
    )


def compare(
    memory: MemorySystem, query: str, left: RankingWeights, right: RankingWeights, *, where: Where | None = None
) -> Comparison:
    """Return the best hits for a query with both sets of weights, without counting retrievals."""
    embedder = CachedEmbedder(memory.experience.embedder)
    left_memory = memory.experience.ranked_with(left, embedder=embedder)
    right_memory = memory.experience.ranked_with(right, embedder=embedder)
    left_result = left_memory.retrieve(query, N_RETRIEVED, where=where, count_retrieval=False)
    right_result = right_memory.retrieve(query, N_RETRIEVED, where=where, count_retrieval=False)
    left_side = _ranked_side(left_memory, query, left_result, right_result)
    right_side = _ranked_side(right_memory, query, right_result, left_result)
    left_ids, right_ids = [hit.id for hit in left_side.hits], [hit.id for hit in right_side.hits]
    sentence = f"{counted(len({*left_ids} & {*right_ids}), 'hit')} on both sides."
    if left_ids == right_ids:
        sentence = "Both rankings are the same."
    return Comparison(left=left_side, right=right_side, caption=sentence)


def _ranked_side(
    memory: ChromaExperienceMemory, query: str, own_results: Retrieval[Experience], other_results: Retrieval[Experience]
) -> Side:
    other_ranks = {hit.item.id: rank for rank, hit in enumerate(other_results.hits, start=1)}
    hits = tuple(
        ComparedHit(
            id=hit.item.id,
            rank=rank,
            move=move_of(rank, other_ranks.get(hit.item.id)),
            card=record_card(memory, hit.item.id, card_text(hit.item), hit=hit, text=query, weights=memory.weights),
        )
        for rank, hit in enumerate(own_results.hits[:HITS], start=1)
    )
    n_hidden = max(0, min(HITS - len(hits), own_results.n_hidden))
    return Side(hits=hits, hidden=hidden_text(n_hidden, n_shown=len(hits), most=HITS))


def move_of(rank: int, other_rank: int | None) -> str:
    """Return `▲ 2` if a hit is two ranks higher than on the other side, `▼ 1`, `=`, or `new` if missing there."""
    if other_rank is None:
        return NEW
    return SAME if rank == other_rank else f"{UP if rank < other_rank else DOWN} {abs(other_rank - rank)}"


def profile_names(profiles: Sequence[Profile]) -> list[str]:
    """Return the names of valid profiles."""
    return [profile.name for profile in profiles if not profile.problem]
