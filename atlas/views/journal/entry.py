"""One entry of a journal in full: its text, its importance and why, and the entries around it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.journal_codec import TIERS
from atlas.core.operations import NO_MARKS, NO_USAGE, Marks, Usage, Use
from atlas.core.types import JournalEntry
from atlas.memory.journal.contexts import estimate_tokens, recency_of
from atlas.memory.journal.entry_types import EntryTypes
from atlas.memory.journal.importance import adjust_by_feedback, importance_of
from atlas.memory.journal.records import sortable_time
from atlas.memory.system import MemorySystem
from atlas.views.journal.links import COLOURS
from atlas.views.journal.list import AGENT, EntryRow, fix_of, light_rows
from atlas.views.journal.promotion import promoted_records, why_not_promoted
from atlas.views.kinds.journal import JOURNAL
from atlas.views.kinds.journal_words import state_word, type_word
from atlas.views.lists.editable import EditableFields
from atlas.views.lists.facts import Fact, RecordLink, facts_of
from atlas.views.lists.uses import uses_of
from atlas.views.shared.texts import Text, as_json
from atlas.views.shared.wording import counted, percent, utc_time_text

__all__ = ["TIERS"]

AROUND = 4
"""Entries before, and entries after, that are shown as its neighbours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditableEntry(EditableFields):
    """The editable fields of an entry."""

    content: str
    generation: int
    importance: float
    """Value in [0, 1]."""

    tier: str
    metadata: str
    """As JSON, or empty if there are none."""

    @classmethod
    def of(cls, entry: JournalEntry) -> EditableEntry:
        """Return the fields of an entry as they are now."""
        return cls(
            content=entry.content,
            generation=entry.generation,
            importance=entry.importance,
            tier=entry.tier,
            metadata=metadata_text(entry.metadata),
        )

    def changes(self, begun: EditableEntry, record: JournalEntry) -> dict[str, Any]:
        """Return a person's changes to an entry, as arguments of `edit`.

        Raises:
            InvalidInput: The metadata are not a JSON object.
        """
        changes = EditableFields.changes(self, begun, record)
        return changes | {"metadata": metadata_in(self.metadata)} if "metadata" in changes else changes


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDetail:
    """Detail of an entry, except its links."""

    id: str
    content: Text
    type: str
    """Its type in plain words."""

    colour: str
    """Colour of a type that is ours, and whose word is trusted text. Empty for other types."""

    fix: str
    """Trusted text on whether a crash is fixed, empty for other entries."""

    facts: tuple[Fact, ...]
    usage: tuple[Fact, ...]
    """Its importance, its length, and how often it was retrieved and used."""

    uses: tuple[Use, ...]
    """Oldest first."""

    worth: tuple[str, ...]
    """Sentences on its importance and its current worth. They contain no text of an entry."""

    metadata: Text | None
    marks: Marks
    editable: EditableEntry
    before: tuple[EntryRow, ...]
    """The entries written just before it, oldest first."""

    after: tuple[EntryRow, ...]
    """The entries written just after it, oldest first."""

    why_not_promoted: str
    """The reason why it cannot be promoted, as trusted text, or empty if it can."""

    became: tuple[RecordLink, ...]
    """The memories that it was promoted to."""


def entry_detail(memory: MemorySystem, entry_id: str) -> EntryDetail | None:
    """Return an entry in full, or None if it is not in the journal."""
    entry = memory.journal.get(entry_id)
    if entry is None:
        return None
    usage = memory.journal.usage([entry_id]).get(entry_id, NO_USAGE)
    return EntryDetail(
        id=entry.id,
        content=Text(entry.content),
        type=type_word(entry.entry_type),
        colour=COLOURS.get(entry.entry_type, ""),
        fix=fix_of(memory, entry),
        facts=_facts(entry),
        usage=_usage_facts(entry, usage),
        uses=uses_of(memory, JOURNAL, entry.id),
        worth=tuple(_worth_sentences(entry, usage, memory.journal.types)),
        metadata=as_json(entry.metadata),
        marks=memory.journal.marks([entry_id]).get(entry_id, NO_MARKS),
        editable=EditableEntry.of(entry),
        before=_neighbours(memory, entry, is_before=True),
        after=_neighbours(memory, entry, is_before=False),
        why_not_promoted=why_not_promoted(memory, entry),
        became=promoted_records(memory, entry),
    )


def metadata_in(text: str) -> dict[str, Any]:
    """Return the metadata parsed from a text field.

    Raises:
        InvalidInput: It is not a JSON object.
    """
    try:
        metadata = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise InvalidInput(f'the metadata should be JSON such as {{"file": "a.py"}}: {error}') from error
    if not isinstance(metadata, dict):
        raise InvalidInput(f'the metadata should be a JSON object such as {{"file": "a.py"}}, but are {text[:80]!r}')
    return metadata


def metadata_text(metadata: Mapping[str, Any]) -> str:
    """Return metadata as editable text."""
    return json.dumps(dict(metadata), indent=2, ensure_ascii=False) if metadata else ""


def _facts(entry: JournalEntry) -> tuple[Fact, ...]:
    return facts_of(
        {
            "Written": utc_time_text(entry.created_at) if entry.created_at else "not known",
            "Agent": str(entry.metadata.get(AGENT) or ""),
            "Round": f"{entry.generation:,}",
            "State": "" if entry.tier == TIERS[0] else state_word(entry.tier),
        }
    )


def _usage_facts(entry: JournalEntry, usage: Usage) -> tuple[Fact, ...]:
    retrieved = f"{usage.n_retrieved:,}×"
    if usage.last_retrieved_at:
        retrieved += f", last {utc_time_text(usage.last_retrieved_at)}"
    used = f"{usage.n_uses:,}×, {usage.n_successes:,} succeeded" if usage.n_uses else "never"
    return (
        Fact("Importance", f"{entry.importance:.2f}"),
        Fact("Length", f"about {counted(estimate_tokens(entry.content), 'token')}"),
        Fact("Retrieved", retrieved if usage.n_retrieved else "never"),
        Fact("Used", used),
    )


def _worth_sentences(entry: JournalEntry, usage: Usage, types: EntryTypes) -> list[str]:
    entry_type = types.of(entry.entry_type)
    estimate = importance_of(entry_type, entry.content, entry.metadata)
    sentences = [
        f"Entries of this type start at {entry_type.importance:.2f}. What this one says makes it {estimate:.2f}."
    ]
    if abs(estimate - entry.importance) >= 0.005:
        sentences.append(f"It was set to {entry.importance:.2f} when it was written, imported or edited.")
    adjusted = adjust_by_feedback(entry.importance, usage)
    if usage.n_uses:
        sentences.append(f"The outcomes of the tasks that it was used for make it {adjusted:.2f}.")
    if entry_type.half_life_days is None:
        sentences.append("Entries of this type are never forgotten.")
    elif entry.created_at is not None:
        recency = recency_of(entry, types, datetime.now(UTC))
        half_life = f"half of it is left after {entry_type.half_life_days:g} days"
        sentences.append(f"Age leaves {percent(recency)} of that ({half_life}): {adjusted * recency:.2f}.")
    return sentences


def _neighbours(memory: MemorySystem, entry: JournalEntry, *, is_before: bool) -> tuple[EntryRow, ...]:
    """Return the entries just before or after this one. Entries of the same time are in the order of adding."""
    if entry.created_at is None:
        return ()
    time = sortable_time(entry.created_at)
    side = {"created_at": {"$lt" if is_before else "$gt": time}}
    neighbours = memory.journal.browse(side, descending=is_before, limit=AROUND)
    neighbour_times = [row["metadata"]["created_at"] for row in neighbours]
    window = {"created_at": {"$gte": min([time, *neighbour_times]), "$lte": max([time, *neighbour_times])}}
    rows = memory.journal.browse(window, descending=False)
    ids = [row["id"] for row in rows]
    index = ids.index(entry.id) if entry.id in ids else 0
    return light_rows(memory, rows[max(0, index - AROUND) : index] if is_before else rows[index + 1 :][:AROUND])
