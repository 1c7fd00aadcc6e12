"""Values of forgetting: an entry as it is judged, its next tier, and the plan for all entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from atlas.core.errors import InvalidInput
from atlas.core.journal_codec import TIERS
from atlas.core.operations import Marks, Usage
from atlas.core.tables import TableRow, Tabular
from atlas.core.types import JournalEntry
from atlas.memory.journal.summaries import SummaryDraft
from atlas.storage.records import NO_MOMENT, Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """Limits on what a journal forgets."""

    keep_recent: int = 200
    """Number of latest entries that always stay."""

    keep_types: Mapping[str, int] = field(default_factory=dict)
    """Number of latest entries of a type that always stay as well, by type."""

    max_entries: int | None = None
    """Most entries of the journal afterwards, at least 1. None for no cap."""

    def check(self) -> None:
        """Raise `InvalidInput` for a value that is not a number, or too small."""
        for name, count in {"keep_recent": self.keep_recent, **self.keep_types}.items():
            if not _is_whole(count) or count < 0:
                raise InvalidInput(f"the entries to keep should be a whole number from 0 up, but {name} is {count!r}")
        if self.max_entries is not None and not (_is_whole(self.max_entries) and self.max_entries > 0):
            raise InvalidInput(
                f"max_entries should be a whole number from 1 up, or None for no cap, but is {self.max_entries!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An entry with all that forgetting judges it by."""

    entry: JournalEntry
    usage: Usage
    marks: Marks
    n_linking: int
    """Entries that link to it, without summaries."""

    summary: JournalEntry | None
    """The latest summary that stands for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """An entry that would go to a farther tier."""

    id: str
    title: str
    entry_type: str
    generation: int
    from_tier: str
    to_tier: str
    value: float
    """In [0, 3]: importance × recency × use × links."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """An entry that would be deleted because the journal is over its cap."""

    id: str
    title: str
    entry_type: str
    generation: int
    tier: str
    value: float
    """In [0, 3], as that of a move."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactPlan(Tabular):
    """A plan to compact. Applying it makes exactly these changes, or fails if one of the entries has changed."""

    moves: tuple[Move, ...]
    summaries: tuple[SummaryDraft, ...]
    n_total: int
    kept: Mapping[str, int]
    """Number of entries that stay where they are, by the reason."""

    keep_recent: int
    """Number of latest entries that always stay."""

    keep_types: Mapping[str, int] = field(default_factory=dict)
    """Number of latest entries of a type that always stay as well, by type."""

    evictions: tuple[Eviction, ...] = ()
    """In the order in which they go. Empty if there is no cap."""

    max_entries: int | None = None
    """Most entries of the journal afterwards. None for no cap."""

    n_above_cap: int = 0
    """Entries above the cap that stay nevertheless, because every entry left is protected."""

    moment: Moment = NO_MOMENT
    """The point in the store's history that the plan holds for."""

    spent: str = ""
    """Calls, tokens and their price, or empty if no model was asked."""

    made_at: str = ""
    """As ISO 8601."""

    @property
    def is_empty(self) -> bool:
        """True if the plan changes no entry."""
        return not self.moves and not self.summaries and not self.evictions

    @property
    def touched(self) -> tuple[str, ...]:
        """The ids of all that would move, be deleted or be summarised."""
        ids = [*(move.id for move in self.moves), *(eviction.id for eviction in self.evictions)]
        return tuple(dict.fromkeys([*ids, *(source for draft in self.summaries for source in draft.source_ids)]))

    @property
    def problems(self) -> tuple[str, ...]:
        """Why a language model did not write summaries that it should have, each reason once."""
        return tuple(dict.fromkeys(draft.problem for draft in self.summaries if draft.problem))

    @property
    def tiers(self) -> Mapping[str, int]:
        """How many entries would come to each tier."""
        return {tier: sum(move.to_tier == tier for move in self.moves) for tier in TIERS[1:]}

    @property
    def cap_problem(self) -> str:
        """Why the cap cannot be reached and what to do, or empty if it can."""
        if self.max_entries is None or not self.n_above_cap:
            return ""
        return (
            f"The cap of {self.max_entries:,} cannot be reached: {self.max_entries + self.n_above_cap:,} entries are "
            "protected. Keep fewer of the latest, unpin some, or raise the cap."
        )

    def _caption(self) -> str:
        return (
            f"{len(self.moves):,} of {self.n_total:,} entries would move to another tier, "
            f"{len(self.evictions):,} would be deleted, and {len(self.summaries):,} summaries would be written"
        )

    def _rows(self) -> Iterator[TableRow]:
        for eviction in self.evictions:
            yield {"entry": eviction.title, "would be": "deleted", "reason": eviction.reason}
        for move in self.moves:
            yield {"entry": move.title, "would be": move.to_tier, "reason": move.reason}


def _is_whole(count: object) -> bool:
    return isinstance(count, int) and not isinstance(count, bool)
