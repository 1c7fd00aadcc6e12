"""The parts of a store that work together for one of its collections."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from atlas.core.settings import Settings
from atlas.storage.engine import LedgerEngine
from atlas.storage.late_interaction import LateInteraction
from atlas.storage.records import Seqs
from atlas.storage.retrievals import RetrievalLog
from atlas.storage.vectors.vector_search import VectorSearch


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionParts:
    """The objects that all views of one collection share."""

    name: str
    ledger: LedgerEngine
    nearest: VectorSearch
    retrievals: RetrievalLog
    settings: Settings
    model: str
    dimension: int
    directory: Path
    late: LateInteraction | None = None
    """Comparison of token vectors, or None if only pooled vectors are compared."""

    excluded_seqs: Seqs | None = None
    """Sorted numbers of records that searches skip, or None if they skip none."""
