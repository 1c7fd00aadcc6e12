"""The scope: which experiences a person looks at, shared by every page and kept in the address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from atlas.analysis.maps import UNCLUSTERED, MemoryMap
from atlas.memory.records import RecordMemory
from atlas.memory.system import MemorySystem
from atlas.views.wording import counted, in_words

BEST_MATCH, WORDS = "Best match", "Words"

OPTIONS_SHOWN = 300
"""The most frequent values of a field that a box offers; a link may name any other one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a person has narrowed the memory to; nothing at first."""

    text: str = ""
    """A question: experiences are ranked by it, or highlighted, never left out."""

    by: str = BEST_MATCH
    """`BEST_MATCH` or `WORDS`."""

    outcomes: tuple[str, ...] = ()
    """Only these; all where empty. The same holds for the next four."""

    domains: tuple[int, ...] = ()
    """Numbers of domains on the map; `UNCLUSTERED` for what belongs to none."""

    tags: tuple[Any, ...] = ()
    sources: tuple[Any, ...] = ()
    agents: tuple[Any, ...] = ()
    is_pinned: bool = False
    """Whether only pinned ones are wanted."""

    since: date | None = None
    """The first day, in UTC."""

    until: date | None = None
    """The last day, in UTC."""

    @property
    def is_search(self) -> bool:
        """Whether there is a question."""
        return bool(self.text.strip())

    @property
    def is_narrow(self) -> bool:
        """Whether anything is left out."""
        return bool(self._chosen() or self.domains or self.is_pinned or self.since or self.until)

    def where(self, memory_map: MemoryMap | None = None) -> dict[str, Any]:
        """The filter as the store takes it.

        Args:
            memory_map: Where the domains' members are found; without it, no experience is in a domain.
        """
        where: dict[str, Any] = {key: {"$in": list(values)} for key, values in self._chosen().items()}
        if self.domains:
            where["id"] = {"$in": members(memory_map, self.domains)}
        if self.is_pinned:
            where["marks.pinned"] = True
        if days := self._days():
            where["created_at"] = days
        return where

    def _chosen(self) -> dict[str, tuple[Any, ...]]:
        wanted = {"outcome": self.outcomes, "marks.tags": self.tags, "source": self.sources, "agent_id": self.agents}
        return {key: values for key, values in wanted.items() if values}

    def _days(self) -> dict[str, str]:
        """Times are texts that sort as the times do, so a day is the text that all its times begin with."""
        days = {}
        if self.since:
            days["$gte"] = self.since.isoformat()
        if self.until:
            days["$lt"] = (self.until + timedelta(days=1)).isoformat() if self.until < date.max else "9999-12-32"
        return days


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeOptions:
    """What the boxes of the scope bar can offer: untrusted text."""

    tags: Mapping[Any, int]
    """How many experiences hold each, most frequent first; so the next two."""

    sources: Mapping[Any, int]
    agents: Mapping[Any, int]


def scope_options(memory: MemorySystem) -> ScopeOptions:
    """What the store's experiences can be narrowed by."""
    return ScopeOptions(
        tags=known_tags(memory.experience),
        sources=memory.experience.values("source"),
        agents=memory.experience.values("agent_id"),
    )


def known_tags(records: RecordMemory) -> dict[str, int]:
    """How many records hold each tag, most frequent first."""
    tags: Counter[str] = Counter()
    for held in records.column("marks.tags").values():
        tags.update([held] if isinstance(held, str) else held)
    return dict(tags.most_common())


def offered(held: Mapping[Any, int], chosen: Sequence[Any]) -> list[Any]:
    """What a box offers: the most frequent values, and those that are chosen, even where nothing holds them any more.

    A value that is chosen stays until the person takes it away: it would widen the scope unasked if it fell out.
    """
    return list(dict.fromkeys([*list(held)[:OPTIONS_SHOWN], *chosen]))


def domain_titles(memory_map: MemoryMap | None, chosen: Sequence[int] = ()) -> dict[int, str]:
    """What each domain is called in a box, by its number, largest first; those that are gone keep their number."""
    domains = memory_map.domains if memory_map is not None else ()
    titles = {domain.number: f"{domain.name} ({domain.n:,})" for domain in domains}
    n_outside = int((memory_map.labels == UNCLUSTERED).sum()) if memory_map is not None else 0
    if domains and n_outside:
        titles[UNCLUSTERED] = f"Unclustered ({n_outside:,})"
    return titles | {number: f"Domain {number}, gone since" for number in chosen if number not in titles}


def members(memory_map: MemoryMap | None, domains: Sequence[int]) -> list[str]:
    """The ids of the experiences in any of these domains."""
    if memory_map is None:
        return []
    wanted = set(domains)
    labels = memory_map.labels.tolist()
    return [record_id for record_id, label in zip(memory_map.ids, labels, strict=True) if label in wanted]


def domain_names(memory_map: MemoryMap | None, ids: Sequence[str]) -> dict[str, str]:
    """The name of the domain that each of these experiences lies in; those that lie in none are left out."""
    if memory_map is None:
        return {}
    wanted, names = set(ids), {domain.number: domain.name for domain in memory_map.domains}
    labelled = zip(memory_map.ids, memory_map.labels.tolist(), strict=True)
    return {record_id: names[label] for record_id, label in labelled if record_id in wanted and label in names}


def scope_sentence(scope: Scope, n_inside: int, n_all: int) -> str:
    """`41 of 306 experiences in scope`; holds nothing that memories hold."""
    inside = (
        f"{n_inside:,} of {counted(n_all, 'experience')} in scope" if scope.is_narrow else counted(n_all, "experience")
    )
    if not scope.is_search:
        return inside
    return f"{inside}, ranked by {'meaning and words' if scope.by == BEST_MATCH else 'words'}"


def left_out_sentence(n_left_out: Mapping[str, int]) -> str:
    """What an address asked for and this store does not hold, in our own words; empty where there is none."""
    named = [counted(n, noun) for noun, n in n_left_out.items() if n]
    if not named:
        return ""
    return f"The address also asked for {in_words(named)} that this store does not hold; left out here."
