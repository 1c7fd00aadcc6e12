"""The scope as an address says it, and what a store can be narrowed to of what an address asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from atlas.maps.map import UNCLUSTERED, MemoryMap
from atlas.views.shared.scope import BEST_MATCH, BY, Scope, ScopeOptions, domain_titles, tells_domains
from atlas.views.shared.wording import OUTCOMES

FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(2199, 12, 31)

NUMBERS = 100_000
"""The number of a domain is below it. So much may be asked for before there is a map."""

NOUNS = {
    "scope_by": "way of searching",
    "scope_outcomes": "outcome",
    "scope_domains": "domain",
    "scope_tags": "tag",
    "scope_sources": "source",
    "scope_agents": "agent",
    "scope_since": "date",
    "scope_until": "date",
}
"""Nouns for the values of parameters that a store may not hold."""

KEYS = ("scope_text", *NOUNS, "scope_pinned")
"""The parameters of an address that say the scope."""

Address = Mapping[str, Sequence[str]]
"""The values of those parameters. One that says nothing is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The result of reading an address."""

    scope: Scope
    n_left_out: Mapping[str, int]
    """How many of the values that it asked for were not taken, by what they are."""


def address_of(scope: Scope) -> dict[str, list[str]]:
    """Say a scope as an address. Return what is not narrowed is left out."""
    said: dict[str, Iterable[Any]] = {
        "scope_text": [scope.text],
        "scope_by": [scope.by] if scope.by != BEST_MATCH else [],
        "scope_outcomes": scope.outcomes,
        "scope_domains": scope.domains,
        "scope_tags": scope.tags,
        "scope_sources": scope.sources,
        "scope_agents": scope.agents,
        "scope_since": [scope.since] if scope.since else [],
        "scope_until": [scope.until] if scope.until else [],
        "scope_pinned": ["true"] if scope.is_pinned else [],
    }
    texts = {key: [text for value in values if (text := _text(value))] for key, values in said.items()}
    return {key: values for key, values in texts.items() if values}


def taken(asked: Address, options: ScopeOptions, memory_map: MemoryMap | None) -> Taken:
    """Read an address as far as the store holds what it asks for.

    Args:
        asked: What was opened: whatever a person, or anyone who sent a link, has put into it.
        options: What the store can be narrowed to.
        memory_map: Tells which domains there are; until there is one, every domain that is asked for may be.
    """
    scope = Scope(
        text=_last(asked, "scope_text"),
        by=next(iter(_held(asked, "scope_by", BY)), BEST_MATCH),
        outcomes=_held(asked, "scope_outcomes", OUTCOMES),
        domains=_held(asked, "scope_domains", _domains(asked, memory_map)),
        tags=_held(asked, "scope_tags", options.tags),
        sources=_held(asked, "scope_sources", options.sources),
        agents=_held(asked, "scope_agents", options.agents),
        since=_day(asked, "scope_since"),
        until=_day(asked, "scope_until"),
        is_pinned=_last(asked, "scope_pinned").lower() == "true",
    )
    said, n_left_out = {"scope_by": [BEST_MATCH], **address_of(scope)}, Counter[str]()
    for key, noun in NOUNS.items():
        n_left_out[noun] += len({*asked.get(key, ())} - {*said.get(key, ())})
    return Taken(scope=scope, n_left_out=n_left_out)


def _held(asked: Address, key: str, held: Iterable[Any]) -> tuple[Any, ...]:
    wanted = set(asked.get(key, ()))
    return tuple(value for value in held if _text(value) in wanted) if wanted else ()


def _last(asked: Address, key: str) -> str:
    values = asked.get(key, ())
    return values[-1] if values else ""


def _day(asked: Address, key: str) -> date | None:
    text = _last(asked, key)
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.isoformat() == text and FIRST_DAY <= day <= LAST_DAY else None


def _domains(asked: Address, memory_map: MemoryMap | None) -> Iterable[int]:
    if tells_domains(memory_map):
        return domain_titles(memory_map)
    return range(UNCLUSTERED, NUMBERS) if asked.get("scope_domains") else ()


def _text(value: object) -> str:
    """Return a value as an address can hold it."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
