"""Links between entries of a journal: traversal in both directions, suggestions and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.journal_codec import LINK_TYPES, TIERS, check_link_type
from atlas.core.types import JournalEntry, Link, Vectors
from atlas.memory.base.records import first_vectors
from atlas.memory.journal.entries import EntryLog
from atlas.memory.journal.entry_types import EntryTypes
from atlas.memory.journal.records import PROMOTED_TO, REFUSED_LINKS, promotions_of, refusals_of

CRASH, REFLECTION = "crash_log", "reflection"

MIN_SIMILARITY = 0.45
"""Minimum cosine of a crash and a reflection that may fix it."""

MAX_GENERATION_GAP = 20
"""Maximum number of generations between a crash and a reflection that may fix it."""

MAX_PER_CRASH = 3

MAX_COMPARED = 2_000
"""Number of latest crashes, and of latest reflections, to compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A link between two entries of a graph."""

    source_id: str
    type: str
    target_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkGraph:
    """The entries reachable from an entry by links, in either direction."""

    entries: tuple[JournalEntry, ...]
    """The reachable entries, nearest first, without the start."""

    depths: Mapping[str, int]
    """Distance of each entry from the start in links, keyed by id."""

    edges: tuple[Edge, ...]
    """Links among the entries and the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSuggestion:
    """A suggested link, for a person to accept or refuse."""

    source_id: str
    type: str
    target_id: str
    similarity: float
    """Cosine of both entries, in [-1, 1]."""

    n_generations_later: int
    """Number of generations from the source to the target."""

    reason: str = ""
    """The reason as a sentence."""

    def reason_in(self, period: str) -> str:
        """Return the reason with another word for a generation, such as `round`."""
        n_later = self.n_generations_later
        plural = "s" if n_later > 1 else ""
        when = f"{n_later} {period}{plural} later" if n_later else f"in the same {period}"
        return f"a reflection {when} is on the same subject (similarity {self.similarity:.2f})"


def read_link_graph(log: EntryLog, entry_id: str, depth: int) -> LinkGraph:
    """Return the graph of entries within `depth` links of an entry. See `Journal.linked`."""
    if depth < 1:
        raise InvalidInput(f"expected a depth of at least 1, got {depth}")
    with log.store.reading():
        log.check_exist([entry_id])
        depths, edges = _reachable_entries(log, entry_id, depth)
        entries = log.get([linked_id for linked_id in depths if linked_id != entry_id])
    edges |= dict.fromkeys(edge for entry in entries for edge in _outgoing_edges(entry))  # adds links at maximum depth
    existing_ids = {entry_id, *(entry.id for entry in entries)}
    return LinkGraph(
        entries=tuple(entries),
        depths={linked_id: depths[linked_id] for linked_id in depths if linked_id in existing_ids},
        edges=tuple(edge for edge in edges if {edge.source_id, edge.target_id} <= existing_ids),
    )


def suggest_links(log: EntryLog, types: EntryTypes) -> list[LinkSuggestion]:
    """Return suggestions to link crashes without an existing fix to possible fixes. See `Journal.suggest_links`."""
    with log.store.reading():
        crashes, reflections = [
            log.recent(MAX_COMPARED, types.types_sharing_quota(name), tiers=TIERS) for name in (CRASH, REFLECTION)
        ]
        fix_ids = {crash.id: {link.target_id for link in crash.links if link.type == "fixed_by"} for crash in crashes}
        existing_ids = log.store.existing_ids(list(set().union(*fix_ids.values())))
        open_crashes = [crash for crash in crashes if not fix_ids[crash.id] & existing_ids]
        vectors = [
            first_vectors([entry.id for entry in entries], log.store, log.embedder.dimension)
            for entries in (open_crashes, reflections)
        ]
    return suggest_fixes(open_crashes, reflections, *vectors)


def suggest_fixes(
    crashes: Sequence[JournalEntry],
    reflections: Sequence[JournalEntry],
    crash_vectors: Vectors,
    reflection_vectors: Vectors,
) -> list[LinkSuggestion]:
    """Return suggestions to link crashes to later reflections on the same subject, which may fix them.

    The most similar pairs come first.

    Args:
        crashes: Unsolved crashes.
        crash_vectors: Vectors of the crashes.
        reflection_vectors: Vectors of the reflections.
    """
    similarities = crash_vectors @ reflection_vectors.T
    suggestions = []
    for row, crash in enumerate(crashes):
        crash_suggestions = [
            _make_suggestion(crash, reflection, float(similarities[row, column]))
            for column, reflection in enumerate(reflections)
            if similarities[row, column] >= MIN_SIMILARITY and _may_solve(crash, reflection)
        ]
        suggestions += sorted(crash_suggestions, key=lambda suggestion: -suggestion.similarity)[:MAX_PER_CRASH]
    return sorted(suggestions, key=lambda suggestion: -suggestion.similarity)


def _may_solve(crash: JournalEntry, reflection: JournalEntry) -> bool:
    if crash.created_at is None or reflection.created_at is None or reflection.created_at < crash.created_at:
        return False
    is_near = 0 <= reflection.generation - crash.generation <= MAX_GENERATION_GAP
    return is_near and f"fixed_by:{reflection.id}" not in refusals_of(crash)


def _make_suggestion(crash: JournalEntry, reflection: JournalEntry, similarity: float) -> LinkSuggestion:
    suggestion = LinkSuggestion(
        source_id=crash.id,
        type="fixed_by",
        target_id=reflection.id,
        similarity=similarity,
        n_generations_later=reflection.generation - crash.generation,
    )
    return replace(suggestion, reason=suggestion.reason_in("generation"))


def link(log: EntryLog, source_id: str, target_id: str, link_type: str) -> JournalEntry:
    """Link an entry to another, and return the source. See `Journal.link`."""
    check_link_type(link_type)
    log.check_exist([source_id, target_id])
    if source_id == target_id:
        raise InvalidInput(f"expected another entry as the target of a link, got the source {source_id!r} itself")
    new_link = Link(link_type, target_id)
    return log.change(source_id, lambda entry: _with_links(entry, [*entry.links, new_link]), "link")


def unlink(log: EntryLog, source_id: str, target_id: str, link_type: str | None) -> JournalEntry:
    """Remove the links from one entry to another, of one type or of all, and return the source."""

    def remove_links(entry: JournalEntry) -> JournalEntry:
        links = [link for link in entry.links if link.target_id != target_id or link_type not in (None, link.type)]
        return _with_links(entry, links)

    return log.change(source_id, remove_links, "unlink")


def with_refusal(suggestion: LinkSuggestion, entry: JournalEntry) -> JournalEntry:
    """Return an entry with a refused suggestion recorded in its metadata."""
    refused_link = f"{suggestion.type}:{suggestion.target_id}"
    return _append_to_metadata(entry, REFUSED_LINKS, [*refusals_of(entry), refused_link])


def with_promotion(name: str, entry: JournalEntry) -> JournalEntry:
    """Return an entry whose metadata names the record that it was promoted to, such as `experience:id`."""
    return _append_to_metadata(entry, PROMOTED_TO, [*promotions_of(entry), name])


def _with_links(entry: JournalEntry, links: Sequence[Link]) -> JournalEntry:
    return replace(entry, links=tuple(dict.fromkeys(links)))


def _reachable_entries(log: EntryLog, entry_id: str, depth: int) -> tuple[dict[str, int], dict[Edge, None]]:
    """Return the distance of each reachable entry in links, keyed by id, and all traversed links."""
    depths = {entry_id: 0}
    edges = dict[Edge, None]()
    frontier = [entry_id]
    for level in range(1, depth + 1):
        edges |= dict.fromkeys(_edges_touching(log, frontier))
        end_ids = [end_id for edge in edges for end_id in (edge.source_id, edge.target_id)]
        frontier = [end_id for end_id in dict.fromkeys(end_ids) if end_id not in depths]
        depths |= dict.fromkeys(frontier, level)
        if not frontier:
            break
    return depths, edges


def _edges_touching(log: EntryLog, ids: Sequence[str]) -> list[Edge]:
    """Return the links from and to these entries."""
    links_to_ids = {"$or": [{name: {"$in": list(ids)}} for name in LINK_TYPES]}
    rows = [*log.store.get_without_content(ids), *log.store.scan(links_to_ids)]
    entry_ids = set(ids)
    edges = [edge for row in rows for edge in _edges_of_row(row["id"], row["metadata"])]
    return [edge for edge in edges if edge.source_id in entry_ids or edge.target_id in entry_ids]


def _append_to_metadata(entry: JournalEntry, key: str, names: Sequence[str]) -> JournalEntry:
    return replace(entry, metadata={**entry.metadata, key: list(dict.fromkeys(names))})


def _outgoing_edges(entry: JournalEntry) -> list[Edge]:
    return [Edge(source_id=entry.id, type=link.type, target_id=link.target_id) for link in entry.links]


def _edges_of_row(source_id: str, metadata: Mapping[str, Any]) -> list[Edge]:
    return [
        Edge(source_id=source_id, type=name, target_id=target)
        for name in LINK_TYPES
        for target in metadata.get(name, ())
    ]
