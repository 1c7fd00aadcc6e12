"""The line of a report on the store that it was made from."""

from __future__ import annotations

from datetime import UTC, datetime

from atlas.memory.system import MemorySystem
from atlas.views.ask.answer import NOUNS, counts
from atlas.views.shared.wording import counted, in_words, utc_time_text


def about_store(memory: MemorySystem) -> str:
    """Return one line with the numbers of records in the store, its embedding model, and the time of the query."""
    contents = in_words([counted(n, NOUNS[name]) for name, n in counts(memory).items()])
    model = memory.storage.model.name if memory.storage.model else "no embedding model"
    return f"A store of {contents}. Embedding model {model}. Asked {utc_time_text(datetime.now(UTC))}."
