"""One collection of an open store, and what comes with a record from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlas.core.operations import Marks, Usage, Use
from atlas.core.settings import Settings
from atlas.storage.marks.book import MarksBook
from atlas.storage.sqlite.ledger import SqliteLedger
from atlas.storage.sqlite.usage import RetrievalLog
from atlas.storage.vectors.vector_search import Nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What was known of a record where it comes from."""

    marks: Marks
    usage: Usage
    stored_at: str = ""
    """When it was stored there, as ISO 8601; now, where empty."""

    uses: Sequence[Use] = ()
    """Oldest first; they are counted in the usage already."""


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
