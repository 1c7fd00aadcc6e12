"""Links between entries, as a thread that begins with the cause, and suggested ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from atlas.memory.journal import Edge, LinkGraph, LinkSuggestion
from atlas.memory.system import MemorySystem
from atlas.views.journal.list import EntryRow, entry_rows
from atlas.views.shared.scope import BEST_MATCH
from atlas.views.shared.texts import Text

SHOWN = 40
"""Linked entries that a thread shows, nearest first."""

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

COLOURS = dict.fromkeys(("reflection", "reflection_finding", "task", "observation", "directive", "summary"), "gray")
COLOURS["crash_log"] = "red"
"""Colours of our own types in a thread, as in the list."""

THREAD_WORDS = {
    "caused_by": "followed from it",
    "fixed_by": "fixed it",
    "related": "is related to it",
    "summarises": "sums it up",
    "refers_to": "refers to it",
}
"""Relation of an entry to the one above it in a thread, by the link's type."""

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
class ThreadLine:
    """An entry in a thread, below the entry that it follows from."""

    row: EntryRow
    depth: int
    """Depth in the thread: 0 for its first entry."""

    words: str
    """Its relation to the entry above it, as trusted text, or empty for the first entry of a thread."""

    colour: str
    """Colour of a type that is ours, and whose word is trusted text. Empty for other types."""

    is_open: bool
    """True for the entry whose links are shown."""

    is_repeated: bool
    """True if it occurs above already, with its successors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLinks:
    """The entries linked with one, directly or over others."""

    direct: tuple[DirectLink, ...]
    thread: tuple[ThreadLine, ...]
    """Causes first, empty if there are no links."""

    n_hidden: int
    """Linked entries that the thread leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedLink:
    """A suggested link. Both texts are untrusted."""

    suggestion: LinkSuggestion
    reason: str
    """Contains no text of entries."""

    source: EntryRow
    source_text: Text
    target: EntryRow
    target_text: Text


def entry_links(memory: MemorySystem, entry_id: str, depth: int = 1) -> EntryLinks:
    """Return the entries that can be reached over `depth` links, in either direction.

    Raises:
        NotFound: It does not exist.
    """
    graph, entry = memory.journal.linked(entry_id, depth), memory.journal.get(entry_id)
    nearest = sorted(graph.entries, key=lambda neighbour: graph.depths[neighbour.id])[:SHOWN]
    linked = [entry, *nearest] if entry is not None and nearest else []
    rows = {row.id: row for row in entry_rows(memory, linked)}
    colours = {shown.id: COLOURS.get(shown.entry_type, "") for shown in linked}
    return EntryLinks(
        direct=tuple(_direct_link(edge, entry_id, rows) for edge in graph.edges if _other_end(edge, entry_id) in rows),
        thread=tuple(_thread_lines(rows, colours, graph, entry_id)),
        n_hidden=len(graph.entries) - len(nearest),
    )


def suggested_links(memory: MemorySystem) -> tuple[SuggestedLink, ...]:
    """Return suggested links, the most similar entries first."""
    suggestions = memory.journal.suggest_links(SUGGESTIONS)
    ids = {end for suggestion in suggestions for end in (suggestion.source_id, suggestion.target_id)}
    entries = {entry.id: entry for entry in memory.journal.get_many(list(ids))}
    rows = {row.id: row for row in entry_rows(memory, list(entries.values()))}
    return tuple(
        SuggestedLink(
            suggestion=suggestion,
            reason=suggestion.reason_in("round"),
            source=rows[suggestion.source_id],
            source_text=Text(entries[suggestion.source_id].content),
            target=rows[suggestion.target_id],
            target_text=Text(entries[suggestion.target_id].content),
        )
        for suggestion in suggestions
        if {suggestion.source_id, suggestion.target_id} <= {*rows}
    )


def candidates(memory: MemorySystem, entry_id: str, text: str, search_by: str = BEST_MATCH) -> tuple[EntryRow, ...]:
    """Return candidate entries for a link, by id or by text."""
    entry_with_id = memory.journal.get(text.strip()) if text.strip() else None
    if entry_with_id is not None:
        entries = [entry_with_id]
    elif search_by == BEST_MATCH:
        hits = memory.journal.retrieve(text, CANDIDATES + 1, count_retrieval=False, with_buried=True, threshold=0.0)
        entries = [hit.item for hit in hits.hits]
    else:
        entries = memory.journal.search_words(text, CANDIDATES + 1, with_buried=True)
    return entry_rows(memory, [entry for entry in entries if entry.id != entry_id][:CANDIDATES])


def _other_end(edge: Edge, entry_id: str) -> str:
    """Return the id at the other end of a link of this entry, or an empty string if the link is not of this entry."""
    if entry_id == edge.source_id:
        return edge.target_id
    return edge.source_id if entry_id == edge.target_id else ""


def _direct_link(edge: Edge, entry_id: str, rows: dict[str, EntryRow]) -> DirectLink:
    return DirectLink(
        source_id=edge.source_id,
        type=edge.type,
        target_id=edge.target_id,
        words=WORDS[edge.type][edge.source_id != entry_id],
        other=rows[_other_end(edge, entry_id)],
    )


def _thread_lines(
    rows: Mapping[str, EntryRow], colours: Mapping[str, str], graph: LinkGraph, entry_id: str
) -> Iterator[ThreadLine]:
    """Yield each entry below the entry that it follows from, and again if it follows from several."""
    by_time = sorted(rows, key=lambda row_id: (rows[row_id].generation, str(rows[row_id].created_at or ""), row_id))
    following: dict[str, dict[str, str]] = defaultdict(dict)
    for edge in graph.edges:
        if edge.source_id in rows and edge.target_id in rows:
            earlier, later = _earlier_and_later(edge, by_time)
            following[earlier].setdefault(later, THREAD_WORDS[edge.type])
    followers = set(chain.from_iterable(following.values()))
    visited: set[str] = set()

    def branch(branch_id: str, depth: int, words: str) -> Iterator[ThreadLine]:
        is_repeated = branch_id in visited
        visited.add(branch_id)
        yield ThreadLine(
            row=rows[branch_id],
            depth=depth,
            words=words,
            colour=colours[branch_id],
            is_open=branch_id == entry_id,
            is_repeated=is_repeated,
        )
        if not is_repeated:
            for later in sorted(following[branch_id], key=by_time.index):
                yield from branch(later, depth + 1, following[branch_id][later])

    unpreceded = [row_id for row_id in by_time if row_id not in followers]
    for first_id in (*unpreceded, *by_time):  # in a circle all follow
        if first_id not in visited:
            yield from branch(first_id, 0, "")


def _earlier_and_later(edge: Edge, by_time: Sequence[str]) -> tuple[str, str]:
    """Return the ids of a link's two entries, first the one that stands above the other in a thread.

    That is the cause, the crash that was fixed, or of related entries the older one.
    """
    ends = (edge.source_id, edge.target_id)
    if edge.type == "related":
        earlier, later = sorted(ends, key=by_time.index)
        return earlier, later
    return ends if edge.type == "fixed_by" else ends[::-1]
