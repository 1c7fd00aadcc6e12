"""Journals over a real store, with a clock that moves a minute with every entry."""

from __future__ import annotations

from datetime import timedelta

from atlas.memory.journal import COLLECTION, REFUSED_COLLECTION, Journal
from atlas.storage.store import Store
from atlas.testing import FixedClock, HashEmbedder


def opened(store: Store, clock: FixedClock, **options) -> Journal:
    stores = [store.collection(name) for name in (COLLECTION, REFUSED_COLLECTION)]
    return Journal(HashEmbedder(), *stores, clock=clock, **options)


def write(journal: Journal, entry_type: str, content: str, generation: int = 1, **fields) -> str:
    """Add an entry that must be taken, a minute after the last."""
    journal._clock.advance(timedelta(minutes=1))  # type: ignore[attr-defined]
    written = journal.add(entry_type, content, generation=generation, **fields)
    assert written is not None
    return written
