"""One collection of an open store, and what comes with a record from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.core.settings import Settings
from atlas.storage.marks.book import MarksBook
from atlas.storage.sqlite.ledger import SqliteLedger
from atlas.storage.sqlite.usage import RetrievalLog
from atlas.storage.vectors.vector_search import Nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionParts:
    """What all views of one collection share."""

    name: str
    ledger: SqliteLedger
    marks: MarksBook
    nearest: Nearest
    retrievals: RetrievalLog
    settings: Settings
    model: str
    dimension: int
