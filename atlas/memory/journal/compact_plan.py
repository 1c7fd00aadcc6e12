"""Data classes of compaction: the policy, the entries to judge, and the plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from atlas.core.errors import InvalidInput
from atlas.core.journal_codec import TIERS
from atlas.core.operations import Marks, Usage
from atlas.core.tables import TableRow, Tabular
from atlas.core.types import JournalEntry
from atlas.memory.journal.summaries import SummaryDraft
from atlas.memory.loss import CurationLoss
from atlas.storage.records import NO_MOMENT, Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """The limits of a compaction: entries to keep, and the maximum number of entries."""

    keep_recent: int = 200
    """Number of latest entries that are always kept."""

    keep_types: Mapping[str, int] = field(default_factory=dict)
    """Number of latest entries of each type that are also always kept."""

    max_entries: int | None = None
    """Maximum number of entries after the compaction, at least 1, or None for no cap."""

    def check(self) -> None:
        """Raise `InvalidInput` for a limit that is not a whole number or is too small."""
        for name, count in {"keep_recent": self.keep_recent, **self.keep_types}.items():
            if not _is_whole_number(count) or count < 0:
                raise InvalidInput(f"expected a whole number of at least 0 for {name}, got {count!r}")
        if self.max_entries is not None and not (_is_whole_number(self.max_entries) and self.max_entries > 0):
            raise InvalidInput(
                f"expected None or a whole number of at least 1 for max_entries, got {self.max_entries!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionCandidate:
    """An entry with the data that compaction needs."""

    entry: JournalEntry
    usage: Usage
    marks: Marks
    n_linking: int
    """Number of entries that link to this one, not counting summaries."""

    summary: JournalEntry | None
    """The latest summary of the entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A planned move of an entry to a colder tier."""

    id: str
    title: str
    entry_type: str
    generation: int
    from_tier: str
    to_tier: str
    value: float
    """Value in [0, 3]: importance × recency × use × links."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """A planned deletion of an entry, because the journal exceeds its cap."""

    id: str
    title: str
    entry_type: str
    generation: int
    tier: str
    value: float
    """Value in [0, 3]: importance × recency × use × links."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactPlan(Tabular):
    """A plan to compact. Applying it makes exactly these changes, or fails if an entry has changed."""

    memory: ClassVar[str] = "journal"

    moves: tuple[Move, ...]
    summaries: tuple[SummaryDraft, ...]
    n_total: int
    kept: Mapping[str, int]
    """Number of entries that keep their tier, keyed by reason."""

    keep_recent: int
    """Number of latest entries that are always kept."""

    keep_types: Mapping[str, int] = field(default_factory=dict)
    """Number of latest entries of each type that are also always kept."""

    evictions: tuple[Eviction, ...] = ()
    """Deletions in order. Empty without a cap."""

    max_entries: int | None = None
    """Maximum number of entries after the compaction, or None for no cap."""

    n_above_cap: int = 0
    """Number of entries above the cap that stay because all remaining entries are protected."""

    moment: Moment = NO_MOMENT
    """Moment in the store's history at which the plan was made."""

    spent: str = ""
    """Number of calls and tokens, and their price, or empty if no model was used."""

    made_at: str = ""
    """Time of the plan, in ISO 8601."""

    loss: CurationLoss | None = None
    """Loss to agents, or None if it was not measured. See `MemorySystem.with_loss`."""

    @property
    def replacements(self) -> dict[str, str]:
        """An empty string for each entry that searches would no longer find, keyed by id. No entry is merged."""
        archived = [move.id for move in self.moves if move.to_tier == TIERS[-1]]
        return dict.fromkeys([*(eviction.id for eviction in self.evictions), *archived], "")

    def keep_records(self, ids: Collection[str]) -> CompactPlan:
        """Return the plan without the moves and deletions of these entries."""
        return replace(
            self,
            moves=tuple(move for move in self.moves if move.id not in ids),
            evictions=tuple(eviction for eviction in self.evictions if eviction.id not in ids),
        )

    @property
    def is_empty(self) -> bool:
        """True if the plan changes nothing."""
        return not self.moves and not self.summaries and not self.evictions

    @property
    def changed_ids(self) -> tuple[str, ...]:
        """The ids of all entries that would be moved, deleted or summarised."""
        ids = [*(move.id for move in self.moves), *(eviction.id for eviction in self.evictions)]
        return tuple(dict.fromkeys([*ids, *(source for draft in self.summaries for source in draft.source_ids)]))

    @property
    def problems(self) -> tuple[str, ...]:
        """The distinct reasons why the language model did not write a summary."""
        return tuple(dict.fromkeys(draft.problem for draft in self.summaries if draft.problem))

    @property
    def tiers(self) -> Mapping[str, int]:
        """Number of entries that would move to each tier, keyed by tier."""
        return {tier: sum(move.to_tier == tier for move in self.moves) for tier in TIERS[1:]}

    @property
    def cap_problem(self) -> str:
        """Reason why the cap cannot be reached, with a remedy. Empty if the cap can be reached."""
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


def _is_whole_number(count: object) -> bool:
    return isinstance(count, int) and not isinstance(count, bool)
