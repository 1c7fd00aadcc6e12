"""The views of a journal's entries."""

from __future__ import annotations

from functools import partial

from atlas.core.types import JournalEntry
from atlas.memory.system import MemorySystem
from atlas.views.journal.entry import EditableEntry, entry_detail
from atlas.views.journal.links import COLOURS
from atlas.views.journal.list import count_with_crashes, entry_rows, light_rows
from atlas.views.journal.proposals import delete_view
from atlas.views.kinds.journal import JOURNAL
from atlas.views.kinds.journal_words import type_word
from atlas.views.lists.facts import Badge
from atlas.views.lists.hits import CardText
from atlas.views.lists.kind_views import KindViews, deleting
from atlas.views.shared.removals import DeleteRequest


def _card(memory: MemorySystem, entry: JournalEntry, text: str) -> CardText:
    return CardText(
        title=entry.content,
        sources={"Entry": entry.content},
        badge=Badge(type_word(entry.entry_type), COLOURS.get(entry.entry_type, "gray")),
        outcome=f"round {entry.generation:,}",
    )


ENTRIES = KindViews(
    kind=JOURNAL,
    rows=entry_rows,
    stored_rows=light_rows,
    count=count_with_crashes,
    card=_card,
    detail=entry_detail,
    editable=EditableEntry.of,
    acts=(deleting(partial(DeleteRequest, JOURNAL, delete_view), "You first see what links to {}."),),
)
