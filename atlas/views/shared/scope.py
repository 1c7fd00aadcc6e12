"""The scope: the experiences that all pages show, stored in the URL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atlas.maps.map import UNCLUSTERED, MemoryMap
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.filters import Values, where_of, without_empty
from atlas.views.shared.wording import counted, in_words

BEST_MATCH, WORDS = "Best match", "Words"
BY = (BEST_MATCH, WORDS)

AWAITED = (
    "The scope names a domain, but there is no map yet that says what it holds. Until then nothing can be done "
    "with all that is in scope."
)

MAX_OPTIONS = 300
"""The most frequent values of a field that a box offers. A link may name any other one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The part of the memory that the pages show. By default, all of it."""

    text: str = ""
    """A query that ranks or highlights experiences, but does not filter them."""

    by: str = BEST_MATCH
    """`BEST_MATCH` or `WORDS`."""

    domains: tuple[int, ...] = ()
    """Numbers of domains on the map, or empty for all. `UNCLUSTERED` for experiences outside every domain."""

    values: Values = field(default_factory=dict)
    """Values of the filters of experiences, by name, without empty ones."""

    @property
    def is_search(self) -> bool:
        """True if there is a question."""
        return bool(self.text.strip())

    @property
    def is_narrow(self) -> bool:
        """True if any record is filtered out."""
        return bool(self.values or self.domains)

    def awaits(self, memory_map: MemoryMap | None) -> bool:
        """Return whether it selects domains, but there is no map with domains."""
        return bool(self.domains) and not has_domains(memory_map)

    def where(self, memory_map: MemoryMap | None = None) -> dict[str, Any]:
        """Return the filter in the store's format.

        Args:
            memory_map: The map with the domains. Without it, a scope with domains contains no experience.
        """
        where = where_of(EXPERIENCE.filters, self.values)
        if self.domains:
            where["id"] = {"$in": members(memory_map, self.domains)}
        return where


def scope_with(text: str = "", by: str = BEST_MATCH, domains: Sequence[int] = (), **values: Any) -> Scope:
    """Return the scope with these values of filters, by name: `scope_with(outcomes=("failed",))`."""
    return Scope(text=text, by=by, domains=tuple(domains), values=without_empty(values))


def offered(options: Mapping[Any, int], chosen: Sequence[Any]) -> list[Any]:
    """Return the options of a box: the most frequent values, and chosen ones even if no record has them.

    A value that is chosen stays until the person takes it away: it would widen the scope unasked if it fell out.
    """
    return list(dict.fromkeys([*list(options)[:MAX_OPTIONS], *chosen]))


def has_domains(memory_map: MemoryMap | None) -> bool:
    """Return whether there is a complete map with domains, and not only a sketch."""
    return memory_map is not None and not memory_map.is_sketch


def domain_titles(memory_map: MemoryMap | None, chosen: Sequence[int] = ()) -> dict[int, str]:
    """Return unique titles of domains for a select box, by number, largest first.

    Missing domains are titled by their number. Titles contain nothing that changes with each record, such as a count,
    as the box identifies options by title.
    """
    titled = memory_map if memory_map is not None and has_domains(memory_map) else None
    domains = titled.domains if titled is not None else ()
    titles = {domain.number: domain.name for domain in domains}
    if titled is not None and domains and titled.share_unclustered:
        titles[UNCLUSTERED] = "In no domain"
    frequent = {title for title, n in Counter(titles.values()).items() if n > 1}
    titles = {number: f"{title} (domain {number})" if title in frequent else title for number, title in titles.items()}
    why = "gone since" if titled is not None else "when the map is made"
    return titles | {number: f"{_domain(number)}, {why}" for number in chosen if number not in titles}


def members(memory_map: MemoryMap | None, domains: Sequence[int]) -> list[str]:
    """Return the ids of the experiences in any of these domains, or an empty list while there is no map."""
    if memory_map is None or not has_domains(memory_map):
        return []
    wanted = set(domains)
    labels = memory_map.labels.tolist()
    return [record_id for record_id, label in zip(memory_map.ids, labels, strict=True) if label in wanted]


def domain_names(memory_map: MemoryMap | None, ids: Sequence[str]) -> dict[str, str]:
    """Return the name of the domain of each of these experiences, without those in no domain."""
    if memory_map is None:
        return {}
    wanted = set(ids)
    names = {domain.number: domain.name for domain in memory_map.domains}
    labelled = zip(memory_map.ids, memory_map.labels.tolist(), strict=True)
    return {record_id: names[label] for record_id, label in labelled if record_id in wanted and label in names}


def scope_sentence(scope: Scope, n_inside: int | None, n_all: int) -> str:
    """Return `41 of 306 experiences in scope`. Contains no text of memories.

    Args:
        n_inside: Number of records in it; None while that is unknown.
        n_all: Number of all records.
    """
    inside = counted(n_all, "experience")
    if n_inside is None:
        inside = f"{inside}; how many of them are in scope is known when the map is made"
    elif scope.is_narrow:
        inside = f"{n_inside:,} of {inside} in scope"
    if not scope.is_search:
        return inside
    return f"{inside}, ranked by {'meaning and words' if scope.by == BEST_MATCH else 'words'}"


def left_out_sentence(n_left_out: Mapping[str, int]) -> str:
    """Return a sentence on URL values that this store does not have, or an empty string."""
    named = [counted(n, noun) for noun, n in n_left_out.items() if n]
    if not named:
        return ""
    return f"The address names {in_words(named)} that this store does not have. The scope leaves this out."


def _domain(number: int) -> str:
    return "In no domain" if number == UNCLUSTERED else f"Domain {number}"
