"""Links between entries, as a picture and as rows, and suggested ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from atlas.core.types import JournalEntry
from atlas.memory.journal import Edge, LinkGraph, LinkSuggestion
from atlas.memory.system import MemorySystem
from atlas.views.charts.palette import GREY
from atlas.views.concepts.lineage import quoted
from atlas.views.journal.list import EntryRow, entry_rows
from atlas.views.journal.timeline import COLOURS
from atlas.views.shared.scope import BEST_MATCH
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import counted

DRAWN = 24
"""Entries that the picture shows, nearest first."""

FEW = 5
"""Entries that a picture has room for side by side."""

LABEL_CHARACTERS = 24

SHOWN = 60
"""Entries that the table shows."""

SUGGESTIONS = 20

CANDIDATES = 6

WORDS = {
    "caused_by": ("caused by", "cause of"),
    "fixed_by": ("fixed by", "fix of"),
    "related": ("related to", "related to"),
    "summarises": ("summarises", "summarised by"),
    "refers_to": ("refers to", "referred to by"),
}
"""Words for an entry at either end of a link, by the link's type."""

PHRASES = {
    phrase: (link_type, bool(number))
    for link_type, phrases in WORDS.items()
    for number, phrase in enumerate(dict.fromkeys(phrases))
}
"""Words for a link, with its type and whether it is the other entry's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectLink:
    """A link that an entry has, or that another has to it."""

    source_id: str
    type: str
    target_id: str
    words: str
    """The relation in our own words, seen from the open entry."""

    other: EntryRow


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLinks:
    """The entries linked with one, directly or over others."""

    direct: tuple[DirectLink, ...]
    rows: tuple[EntryRow, ...]
    """Nearest first. `how` is the distance of each, or its relation to the entry."""

    dot: str
    """The picture in the DOT language, with texts as labels. Empty if there are no links."""

    caption: str
    """A sentence on what is left out. Empty if all is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedLink:
    """A suggested link. Both texts are untrusted."""

    suggestion: LinkSuggestion
    source: EntryRow
    source_text: Text
    target: EntryRow
    target_text: Text


def entry_links(memory: MemorySystem, entry_id: str, depth: int = 1) -> EntryLinks:
    """Return the entries that can be reached over `depth` links, whichever way they point.

    Raises:
        NotFound: It does not exist.
    """
    graph, entry = memory.journal.linked(entry_id, depth), memory.journal.get(entry_id)
    nearest = sorted(graph.entries, key=lambda other: graph.depths[other.id])[:SHOWN]
    how = {other.id: _how(graph, entry_id, other.id) for other in nearest}
    rows = {row.id: row for row in entry_rows(memory, nearest, how=how)}
    drawn_entries = [entry, *nearest[:DRAWN]] if entry is not None else []
    return EntryLinks(
        direct=tuple(_direct(edge, entry_id, rows) for edge in graph.edges if _other(edge, entry_id) in rows),
        rows=tuple(rows.values()),
        dot="\n".join(_dot(drawn_entries, graph)) if rows and drawn_entries else "",
        caption=_caption(len(graph.entries)),
    )


def suggested_links(memory: MemorySystem) -> tuple[SuggestedLink, ...]:
    """Return suggested links, the most alike first."""
    suggestions = memory.journal.suggest_links(SUGGESTIONS)
    ids = {end for suggestion in suggestions for end in (suggestion.source_id, suggestion.target_id)}
    entries = {entry.id: entry for entry in memory.journal.get_many(list(ids))}
    rows = {row.id: row for row in entry_rows(memory, list(entries.values()))}
    return tuple(
        SuggestedLink(
            suggestion=suggestion,
            source=rows[suggestion.source_id],
            source_text=Text(entries[suggestion.source_id].content),
            target=rows[suggestion.target_id],
            target_text=Text(entries[suggestion.target_id].content),
        )
        for suggestion in suggestions
        if {suggestion.source_id, suggestion.target_id} <= {*rows}
    )


def candidates(memory: MemorySystem, entry_id: str, text: str, by: str = BEST_MATCH) -> tuple[EntryRow, ...]:
    """Return the entries that a person may want to link to, by id or by text."""
    named = memory.journal.get(text.strip()) if text.strip() else None
    if named is not None:
        found = [named]
    elif by == BEST_MATCH:
        hits = memory.journal.retrieve(text, CANDIDATES + 1, count_retrieval=False, with_buried=True, threshold=0.0)
        found = [hit.item for hit in hits.hits]
    else:
        found = memory.journal.search_words(text, CANDIDATES + 1, with_buried=True)
    return entry_rows(memory, [entry for entry in found if entry.id != entry_id][:CANDIDATES])


def _other(edge: Edge, entry_id: str) -> str:
    """Return the other end of an entry's link, or an empty string for a link among others."""
    if entry_id == edge.source_id:
        return edge.target_id
    return edge.source_id if entry_id == edge.target_id else ""


def _direct(edge: Edge, entry_id: str, rows: dict[str, EntryRow]) -> DirectLink:
    return DirectLink(
        source_id=edge.source_id,
        type=edge.type,
        target_id=edge.target_id,
        words=WORDS[edge.type][edge.source_id != entry_id],
        other=rows[_other(edge, entry_id)],
    )


def _how(graph: LinkGraph, entry_id: str, other_id: str) -> str:
    if graph.depths[other_id] > 1:
        return f"{counted(graph.depths[other_id], 'link')} away"
    words = [WORDS[edge.type][edge.source_id != entry_id] for edge in graph.edges if _other(edge, entry_id) == other_id]
    return ", ".join(dict.fromkeys(words))


def _caption(n: int) -> str:
    if n <= DRAWN:
        return ""
    in_table = f", the table the nearest {SHOWN}" if n > SHOWN else ""
    return f"The picture shows the nearest {DRAWN} of {counted(n, 'entry')}{in_table}."


def _dot(entries: list[JournalEntry], graph: LinkGraph) -> Iterator[str]:
    """Return a picture with the entry framed: downwards, or to the right if that would be too wide."""
    numbers = {entry.id: number for number, entry in enumerate(entries)}
    direction = "TB" if len(entries) <= FEW else "LR"
    yield "digraph {"
    yield f'graph [rankdir={direction}, bgcolor="transparent", pad=0.1, nodesep=0.15, ranksep=0.35]'
    yield (
        'node [shape=box, style="rounded,filled", fontcolor="white", fontname="sans-serif", fontsize=11, height=0.3, '
        'margin="0.12,0.05"]'
    )
    yield f'edge [color="{GREY}", fontcolor="{GREY}", fontname="sans-serif", fontsize=9, arrowsize=0.6]'
    for entry in entries:
        colour = COLOURS.get(entry.entry_type, GREY)
        frame = ", penwidth=3" if numbers[entry.id] == 0 else ""
        edge_colour = GREY if numbers[entry.id] == 0 else colour
        label = quoted(f"{entry.generation}: {entry.content[:LABEL_CHARACTERS]}")
        yield f'n{numbers[entry.id]} [label={label}, fillcolor="{colour}", color="{edge_colour}"{frame}]'
    for edge in graph.edges:
        if edge.source_id in numbers and edge.target_id in numbers:
            words = WORDS[edge.type][0]
            yield f'n{numbers[edge.source_id]} -> n{numbers[edge.target_id]} [label=" {words}"]'
    yield "}"
