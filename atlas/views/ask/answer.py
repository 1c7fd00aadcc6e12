"""Hits of every memory for a task, with the context block, for one configuration or two."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from atlas.core.hits import Hit, MemoryQueryResult
from atlas.core.settings import RankingWeights
from atlas.core.tables import caption_of
from atlas.core.types import Task
from atlas.memory.context.block import BUDGET_TOKENS, DEFAULT_K, ContextBlock, build_context
from atlas.memory.kinds.sections import SECTIONS
from atlas.memory.system import MemorySystem
from atlas.views.ask.block import AS_WARNING, UNWRITTEN, Key, forms_of, pieces_of, places_of, reasons_of
from atlas.views.ask.cards import VIEWS
from atlas.views.ask.comparison import knobs, move_of
from atlas.views.shared.wording import counted, hidden_text, in_words

__all__ = ["BUDGET_TOKENS", "DEFAULT_K", "ContextBlock", "MemoryQueryResult"]

MAX_EACH = 20
MAX_TOKENS = 8_000
"""Upper limits of the sliders."""

TITLES = {name: views.kind.page.capitalize() for name, views in VIEWS.items()}
"""Names of the memories on the page, in the order of the block."""

NOUNS = {"strategies": "strategy", "experience": "experience", "concepts": "concept", "journal": "journal entry"}
"""The word for a record of each memory."""

NONE_YET = {
    "strategies": "This store has no strategies. Storing a successful attempt writes one. Importing runs does not.",
    "experience": "This store has no experiences: import runs, or let an agent store its attempts.",
    "concepts": "This store has no concepts: add ready-made functions, import skills, or compress what agents wrote.",
    "journal": "This store has no journal: an agent writes it, or import one.",
}
"""Hints on how to fill each memory."""

NONSENSE = "lamb tagine with apricots, saffron and preserved lemon"
"""A nonsense task, which should have no hits."""

IN_BLOCK, LEFT_OUT, ONLY_HERE = "in the context block", "not in the context block", "only here"

STRONG, MEDIUM, WEAK = "strong", "medium", "weak"
STRENGTHS = {STRONG: 0.4, MEDIUM: 0.1, WEAK: 0.0}
"""Words for the relevance of a hit, and the share of the way from the level of its memory to 1 where each begins."""

THERE_WAS_ROOM = "weak, but there was room"
"""The reason why the block shows a weak hit."""

KEY = "**0 to 1**: relevance to the task. **Stroke**: the level that a hit needs. **Weak**: just above it."
KEY_DETAILS = (
    f"From the stroke to 1, {MEDIUM} begins at {STRENGTHS[MEDIUM]:.0%} of the way and {STRONG} at "
    f"{STRENGTHS[STRONG]:.0%}. Each memory has a level of its own, which the strictness sets: see *Search settings* "
    "below and [Evaluation](evaluation)."
)

DIVERSITY = 0.2
"""Diversity of a search for distinct hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Options of a search."""

    weights: RankingWeights = RankingWeights()
    k: int = DEFAULT_K
    """Number of hits of each memory."""

    off: tuple[str, ...] = ()
    """Names of memories that are left out."""

    is_diverse: bool = True
    """True to group similar attempts and rank near-copies lower."""

    @property
    def choice(self) -> dict[str, Any]:
        """Keyword arguments of `query` and `build_context`."""
        return {"distinct": True, "diversity": DIVERSITY} if self.is_diverse else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedHit:
    """A hit with its ranks."""

    id: str
    rank: int
    """Rank within its memory, from 1."""

    hit: Hit[Any]
    place: int = 0
    """Position in the block, from 1. 0 if left out."""

    reason: str = ""
    """Reason why the block leaves it out: `too long by 40 tokens`, or empty if shown."""

    form: str = ""
    """`shortened` or `as a warning`, or empty if shown in full."""

    move: str = ""
    """`▲ 2`, `▼ 1` or `=` against the other side, or `only here`, or empty without another side."""

    is_shown_otherwise: bool = False
    """True if only one of the two sides shows it, though both found it."""

    @property
    def is_shown(self) -> bool:
        """True if the block shows it."""
        return self.place > 0

    @property
    def is_warning(self) -> bool:
        """True if the block warns of it."""
        return self.form == AS_WARNING

    @property
    def place_sentence(self) -> str:
        """`in the context block, shortened` or `not in the context block: too long by 40 tokens`."""
        if not self.is_shown:
            return f"{LEFT_OUT}: {self.reason}"
        return f"{IN_BLOCK}, {self.form}" if self.form else IN_BLOCK


Absence = Literal["left out", "failed", "no records", "nothing found", "not relevant"]
"""Reason why a memory has no hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The hits of one memory."""

    name: str
    hits: tuple[RankedHit, ...]
    sentence: str
    """Sentence on the numbers of hits, or why there are none. Contains no stored text, except in errors."""

    absence: Absence | None = None
    """Reason for no hits, or None if there are hits."""

    hidden: str = ""
    """`4 less relevant ones not shown`, or empty if none are hidden."""

    level: float = 0.0
    """Relevance threshold of the search, in [0, 1]. 0 if not searched."""

    @property
    def reach_sentence(self) -> str:
        """`3 hits, 1 weak, level 0.12`."""
        n_weak = sum(map(self.is_weak, self.hits))
        weak = f", {n_weak:,} {WEAK}" if n_weak else ""
        return f"{counted(len(self.hits), 'hit')}{weak}, level {self.level:.2f}"

    def strength(self, hit: RankedHit) -> str:
        """Return `strong`, `medium` or `weak` for the relevance of a hit, against the level of its memory."""
        starts = {word: self.level + share * (1 - self.level) for word, share in STRENGTHS.items()}
        return next((word for word, start in starts.items() if hit.hit.relevance >= start), WEAK)

    def is_weak(self, hit: RankedHit) -> bool:
        """Return whether a hit is just above the level."""
        return self.strength(hit) == WEAK

    def note(self, hit: RankedHit) -> str:
        """Return why the block leaves a hit out, its form there, or why it shows a weak one, or an empty string."""
        return hit.reason or hit.form or (THERE_WAS_ROOM if self.is_weak(hit) else "")

    @property
    def is_failed(self) -> bool:
        """True if the search failed."""
        return self.absence == "failed"

    @property
    def title(self) -> str:
        """`Strategies`."""
        return TITLES[self.name]

    @property
    def first_place(self) -> float:
        """Position in the block of the first hit that it shows, or infinity if it shows none."""
        return min((hit.place for hit in self.hits if hit.is_shown), default=math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A hit that the block does not show."""

    memory: str
    """`Strategies`."""

    caption: str
    relevance: float
    reason: str
    """`too long by 40 tokens`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The parts of all memories, and the block made of them."""

    parts: tuple[Part, ...]
    block: ContextBlock
    block_sentence: str
    left_out: tuple[LeftOut, ...]
    """The hits that the block does not show, best first."""

    @property
    def ordered_parts(self) -> tuple[Part, ...]:
        """The parts in the order in which the block shows them, so that the positions of hits count up."""
        return tuple(sorted(self.parts, key=lambda part: part.first_place))

    @property
    def verdict(self) -> str:
        """`Memory has 3 strategies and 1 concept for this task.`, or that it has nothing."""
        if not self.n_hits:
            return f"{self._absence}, so an agent is told nothing."
        return f"Memory has {self.inventory} for this task."

    @property
    def inventory(self) -> str:
        """`3 strategies and 1 concept`, in the order of the block, or empty without hits."""
        return in_words([counted(len(part.hits), NOUNS[part.name]) for part in self.ordered_parts if part.hits])

    @property
    def _absence(self) -> str:
        """Why there are no hits: a search that failed, or memories without any."""
        if failed := [part.title for part in self.parts if part.is_failed]:
            return f"The search of {in_words(failed)} failed"
        is_partial = any(part.absence == "left out" for part in self.parts)
        return f"{'The searched memories have' if is_partial else 'Memory has'} nothing for this task"

    @property
    def n_hits(self) -> int:
        """Number of hits of all memories."""
        return sum(len(part.hits) for part in self.parts)


def counts(memory: MemorySystem) -> dict[str, int]:
    """Return the number of records in each memory."""
    return {name: views.kind.records(memory).count() for name, views in VIEWS.items()}


def hits_for(memory: MemorySystem, text: str, configuration: Configuration) -> MemoryQueryResult:
    """Return the hits of the memories for a task, without counting them as retrieved."""
    names = [name for name in SECTIONS if name not in configuration.off]
    ranked = memory.ranked_with(configuration.weights, names)
    return ranked.query_sync(_task_of(text), configuration.k, **configuration.choice, count_retrieval=False)


def block_of(memory: MemorySystem, result: MemoryQueryResult, budget_tokens: int) -> ContextBlock:
    """Return the context block that an agent would be given for these hits."""
    return build_context(result, memory.token_counter, budget_tokens)


def answered(
    result: MemoryQueryResult, block: ContextBlock, configuration: Configuration, n_records: Mapping[str, int]
) -> Answer:
    """Return the view of an answer.

    Args:
        n_records: Number of records in each memory.
    """
    places, reasons, forms = places_of(block), reasons_of(block), forms_of(block)
    return Answer(
        parts=tuple(
            _memory_part(name, result, places, reasons, forms, configuration, n_records[name]) for name in SECTIONS
        ),
        block=block,
        block_sentence=_block_sentence(block),
        left_out=tuple(_hits_left_out(result, reasons)),
    )


def block_as_json(answer: Answer) -> dict[str, Any]:
    """Return the block of an answer in pieces, and the omitted hits, as JSON for the browser."""
    return {
        "pieces": [
            {"text": piece.text, "memory": piece.memory, "place": piece.place} for piece in pieces_of(answer.block)
        ],
        "left_out": [
            {"memory": hit.memory, "caption": hit.caption, "relevance": f"{hit.relevance:.2f}", "reason": hit.reason}
            for hit in answer.left_out
        ],
    }


def compared(left: Answer, right: Answer) -> tuple[Answer, Answer]:
    """Return two answers again, with each hit marked by its move against the other answer."""
    return _marked_against(left, right), _marked_against(right, left)


def agents_call(configuration: Configuration, budget_tokens: int, in_use: RankingWeights) -> str:
    """Return a sentence with the call by which an agent gets the same block, or on why it cannot get it.

    Args:
        in_use: The weights that searches rank with.
    """
    arguments_and_defaults = {"budget_tokens": (budget_tokens, BUDGET_TOKENS), "k": (configuration.k, DEFAULT_K)}
    given = {name: value for name, (value, default) in arguments_and_defaults.items() if value != default}
    given |= configuration.choice
    call = f"build_context({', '.join(['task', *(f'{name}={value!r}' for name, value in given.items())])})"
    if configuration.off:
        return "No agent gets exactly this, because memories are left out here."
    if configuration.weights != in_use:
        return f"An agent that calls `{call}` gets this once all searches use these weights."
    return f"An agent gets exactly this from `{call}`."


def block_difference(left: Answer, right: Answer) -> str:
    """Return the diff of the blocks of A and B, or an empty string if they are equal."""
    left_lines, right_lines = (answer.block.text.splitlines() for answer in (left, right))
    return "\n".join(difflib.unified_diff(left_lines, right_lines, "A", "B", lineterm="", n=0))


def settings_differing(left: Configuration, right: Configuration) -> str:
    """Return `The configurations differ in hits of each memory and success.`, or that they do not differ."""
    weights = [knob.label for knob in knobs() if getattr(left.weights, knob.name) != getattr(right.weights, knob.name)]
    is_different = {
        "Hits per memory": left.k != right.k,
        "Memories left out": {*left.off} != {*right.off},
        "Different hits first": left.is_diverse != right.is_diverse,
    }
    differing = [*(name for name in is_different if is_different[name]), *weights]
    if not differing:
        return "A and B are the same configuration."
    return f"A and B differ in: {', '.join(name.lower() for name in differing)}."


def difference_sentence(left: Answer, right: Answer) -> str:
    """Return the overlap of two answers, in hits and in blocks."""
    hits = [{(part.name, hit.id) for part in side.parts for hit in part.hits} for side in (left, right)]
    shown_hits = [
        {(name, record_id) for name, ids in side.block.shown.items() for record_id in ids} for side in (left, right)
    ]
    return f"Hits: {_overlap_sentence(hits)} Blocks: {_overlap_sentence(shown_hits)}"


def _overlap_sentence(sides: list[set[tuple[str, str]]]) -> str:
    """Return `3 memories in both, 1 only in A, 2 only in B.`, for the memories and ids of records of A and B."""
    left, right = sides
    if left == right:
        return f"the same {_counted_memories(len(left))} in A and B." if left else "none in A or B."
    n_shared, n_left, n_right = len(left & right), len(left - right), len(right - left)
    return f"{_counted_memories(n_shared)} in both, {n_left:,} only in A, {n_right:,} only in B."


def _marked_against(side: Answer, other_side: Answer) -> Answer:
    """Return one side again, with each hit marked by its move against the other side."""
    other_hits = {(part.name, hit.id): hit for part in other_side.parts for hit in part.hits}
    return replace(side, parts=tuple(_part_marked_against(part, other_hits) for part in side.parts))


def _part_marked_against(part: Part, other_hits: Mapping[tuple[str, str], RankedHit]) -> Part:
    hits = []
    for hit in part.hits:
        other_hit = other_hits.get((part.name, hit.id))
        is_shown_otherwise = other_hit is not None and other_hit.is_shown != hit.is_shown
        move = move_of(hit.rank, other_hit.rank) if other_hit else ONLY_HERE
        hits.append(replace(hit, move=move, is_shown_otherwise=is_shown_otherwise))
    return replace(part, hits=tuple(hits))


def _memory_part(
    name: str,
    result: MemoryQueryResult,
    places: Mapping[Key, int],
    reasons: Mapping[Key, str],
    forms: Mapping[Key, str],
    configuration: Configuration,
    n_stored: int,
) -> Part:
    hits = []
    for rank, hit in enumerate(result.hits[name], start=1):
        key = (name, hit.item.id)
        reason = "" if key in places else reasons.get(key, UNWRITTEN)
        place, form = places.get(key, 0), forms.get(key, "")
        hits.append(RankedHit(id=hit.item.id, rank=rank, hit=hit, place=place, reason=reason, form=form))
    absence = _absence(name, result, configuration, n_stored)
    return Part(
        name=name,
        hits=tuple(hits),
        sentence=_hits_sentence(name, result, configuration, absence),
        absence=absence,
        hidden=hidden_text(result.n_hidden.get(name, 0), n_shown=len(hits), most=configuration.k),
        level=result.thresholds.get(name, 0.0),
    )


def _absence(name: str, result: MemoryQueryResult, configuration: Configuration, n_stored: int) -> Absence | None:
    if name in configuration.off:
        return "left out"
    if name in result.errors:
        return "failed"
    if not n_stored:
        return "no records"
    if result.hits[name]:
        return None
    return "not relevant" if result.n_hidden.get(name, 0) else "nothing found"


def _hits_sentence(name: str, result: MemoryQueryResult, configuration: Configuration, absence: Absence | None) -> str:
    match absence:
        case None:
            n_found = len(result.hits[name])
            hidden = hidden_text(result.n_hidden.get(name, 0), n_shown=n_found, most=configuration.k)
            return ", ".join(filter(None, [f"{n_found:,} found", hidden]))
        case "left out":
            return "Left out here."
        case "failed":
            return f"This memory failed, so the answer is without it: {result.errors[name]}"
        case "no records":
            return NONE_YET[name]
        case "nothing found":
            return "Nothing found"
        case "not relevant":
            return f"Nothing reaches the level of {result.thresholds[name]:.2f}."


def _hits_left_out(result: MemoryQueryResult, reasons: Mapping[Key, str]) -> Iterator[LeftOut]:
    hits = {(name, hit.item.id): hit for name, hits in result.hits.items() for hit in hits}
    for (name, record_id), reason in reasons.items():
        hit = hits[name, record_id]
        title = TITLES.get(name, name)
        yield LeftOut(memory=title, caption=caption_of(hit.item), relevance=hit.relevance, reason=reason)


def _block_sentence(block: ContextBlock) -> str:
    n_shown = sum(map(len, block.shown.values()))
    if not block.text:
        if not block.n_left_out:
            return "The block is empty: no memory is relevant to the task, so an agent is told nothing."
        return f"The block is empty: none of the {block.n_left_out:,} memories found fits into the budget."
    n_shortened = sum(map(len, block.shortened.values()))
    shortened = f" ({n_shortened:,} shortened)" if n_shortened else ""
    omitted = f", {block.n_left_out:,} left out" if block.n_left_out else ""
    return f"{_counted_memories(n_shown)}{shortened} in {block.n_tokens:,} of {block.budget_tokens:,} tokens{omitted}"


def _counted_memories(n: int) -> str:
    return "1 memory" if n == 1 else f"{n:,} memories"


def _task_of(text: str) -> Task:
    """Return a task for a typed text."""
    return Task(id="", domain="", description=text)
