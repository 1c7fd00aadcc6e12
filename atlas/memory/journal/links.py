"""The links between the entries of a journal, as coroutines: written with the entries, followed both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.journal_codec import LINK_TYPES, TIERS, check_link_type
from atlas.core.types import JournalEntry, Link
from atlas.infra.twin import twin
from atlas.memory.base.columns import first_vectors
from atlas.memory.base.records import retried
from atlas.memory.journal.gates import GatedEntries
from atlas.memory.journal.link_graph import CRASH, REFLECTION, Edge, LinkGraph, LinkSuggestion, suggest_fixes
from atlas.memory.journal.records import (
    PROMOTED_TO,
    REFUSED_LINKS,
    changed_row,
    from_row,
    promotions_of,
    refusals_of,
)

MOST_COMPARED = 2_000
"""Latest crashes, and latest reflections, among which links are looked for."""


class LinkedEntries(GatedEntries):
    """A journal whose entries say what they have to do with one another."""

    def link(self, source_id: str, target_id: str, link_type: str = "related") -> JournalEntry:
        """Say how one entry is related to another; the first with its links. Saying it again changes nothing.

        Args:
            link_type: What the first is to the second: `caused_by`, `fixed_by`, `related`, `summarises`, `refers_to`.

        Raises:
            NotFound: One of them is not there.
            InvalidInput: There is no such type, or both are one.
        """
        check_link_type(link_type)
        self._check_there([source_id, target_id])
        if source_id == target_id:
            raise InvalidInput(f"entry {source_id!r} should be linked to another one, not to itself")
        added = Link(link_type, target_id)
        return self._with_links(source_id, lambda links: [*links, added], "link")

    alink = twin(link)

    def unlink(self, source_id: str, target_id: str, link_type: str | None = None) -> JournalEntry:
        """Take links from one entry to another back, those of a type or all; the first with those that it has left.

        Raises:
            NotFound: The first is not there.
        """

        def others(links: Sequence[Link]) -> list[Link]:
            return [link for link in links if link.target_id != target_id or link_type not in (None, link.type)]

        return self._with_links(source_id, others, "unlink")

    aunlink = twin(unlink)

    def linked(self, entry_id: str, depth: int = 1) -> LinkGraph:
        """What can be reached from an entry over so many links, whichever way they point; deleted ones are left out.

        Raises:
            NotFound: It is not there.
            InvalidInput: The depth is less than 1.
        """
        if depth < 1:
            raise InvalidInput(f"a depth should be 1 or more, but is {depth}")
        self._row(entry_id)
        depths, edges, waiting = {entry_id: 0}, dict[Edge, None](), [entry_id]
        for level in range(1, depth + 1):
            edges |= dict.fromkeys(self._edges_of(waiting))
            ends = [end for edge in edges for end in (edge.source_id, edge.target_id)]
            waiting = [end for end in dict.fromkeys(ends) if end not in depths]
            depths |= dict.fromkeys(waiting, level)
            if not waiting:
                break
        entries = self.get_many([found for found in depths if found != entry_id])
        edges |= dict.fromkeys(edge for entry in entries for edge in _edges_from(entry))  # also among the farthest
        there = {entry_id, *(entry.id for entry in entries)}
        return LinkGraph(
            entries=tuple(entries),
            depths={found: depths[found] for found in depths if found in there},
            edges=tuple(edge for edge in edges if {edge.source_id, edge.target_id} <= there),
        )

    alinked = twin(linked)

    def suggest_links(self, limit: int = 20) -> list[LinkSuggestion]:
        """Which later reflections may tell how which crashes were solved, the most alike first; nothing is written.

        Crashes that are linked to what fixed them, where that is still there, and links that were refused, are left
        out. `link` accepts one.
        """
        crashes, reflections = [
            self.recent(MOST_COMPARED, self.types.counting_as(name), tiers=TIERS) for name in (CRASH, REFLECTION)
        ]
        fixes = {crash.id: {link.target_id for link in crash.links if link.type == "fixed_by"} for crash in crashes}
        there = self._store.present(list(set().union(*fixes.values())))
        open_crashes = [crash for crash in crashes if not fixes[crash.id] & there]
        vectors = [
            first_vectors([entry.id for entry in entries], self._store, self.embedder.dimension)
            for entries in (open_crashes, reflections)
        ]
        return suggest_fixes(open_crashes, reflections, *vectors)[: max(limit, 0)]

    asuggest_links = twin(suggest_links)

    def accept_link(self, suggestion: LinkSuggestion) -> JournalEntry:
        """Make a suggested link; the entry that has it now."""
        return self.link(suggestion.source_id, suggestion.target_id, suggestion.type)

    aaccept_link = twin(accept_link)

    def refuse_link(self, suggestion: LinkSuggestion) -> None:
        """Never suggest this link again.

        Raises:
            NotFound: The entry that it would go from is not there.
        """
        refused = f"{suggestion.type}:{suggestion.target_id}"

        def refusing(entry: JournalEntry) -> JournalEntry:
            return _listing(entry, REFUSED_LINKS, [*refusals_of(entry), refused])

        retried(lambda: self._change(suggestion.source_id, refusing, "refuse a link"))

    arefuse_link = twin(refuse_link)

    def note_promotion(self, entry_ids: Sequence[str], name: str) -> None:
        """Say of entries what they became a part of.

        Args:
            name: Such as `experience:id`.

        Raises:
            NotFound: One of them is not there.
        """

        def noting(entry: JournalEntry) -> JournalEntry:
            return _listing(entry, PROMOTED_TO, [*promotions_of(entry), name])

        for entry_id in entry_ids:
            retried(partial(self._change, entry_id, noting, "promote"))

    anote_promotion = twin(note_promotion)

    def _edges_of(self, ids: Sequence[str]) -> list[Edge]:
        """The links from these entries and those to them."""
        naming = {"$or": [{name: {"$in": list(ids)}} for name in LINK_TYPES]}
        rows = [*self._store.peek(ids), *self._store.scan(naming)]
        among = set(ids)
        edges = [edge for row in rows for edge in _edges(row["id"], row["metadata"])]
        return [edge for edge in edges if edge.source_id in among or edge.target_id in among]

    def _with_links(
        self, source_id: str, change: Callable[[Sequence[Link]], Sequence[Link]], kind: str
    ) -> JournalEntry:
        def changed(entry: JournalEntry) -> JournalEntry:
            return replace(entry, links=tuple(dict.fromkeys(change(entry.links))))

        return retried(lambda: self._change(source_id, changed, kind))

    def _change(self, entry_id: str, change: Callable[[JournalEntry], JournalEntry], kind: str) -> JournalEntry:
        """Write what becomes of an entry, unless nothing does."""
        moment = self._store.moment()
        row = self._row(entry_id)
        before = from_row(row)
        changed = change(before)
        if changed != before:
            self._rewrite([changed_row(row, changed)], moment, kind, "")
        return changed


def _listing(entry: JournalEntry, key: str, names: Sequence[str]) -> JournalEntry:
    return replace(entry, metadata={**entry.metadata, key: list(dict.fromkeys(names))})


def _edges_from(entry: JournalEntry) -> list[Edge]:
    return [Edge(source_id=entry.id, type=link.type, target_id=link.target_id) for link in entry.links]


def _edges(source_id: str, metadata: Mapping[str, Any]) -> list[Edge]:
    return [
        Edge(source_id=source_id, type=name, target_id=target)
        for name in LINK_TYPES
        for target in metadata.get(name, ())
    ]
