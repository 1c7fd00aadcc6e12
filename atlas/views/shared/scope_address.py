"""The scope as parameters of an address, and the part of an address's scope that a store has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.maps.map import UNCLUSTERED, MemoryMap
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.filters import Options, address_text, known_values
from atlas.views.shared.scope import BEST_MATCH, BY, Scope, domain_titles, has_domains, scope_with

NUMBERS = 100_000
"""Upper bound of the numbers of domains. All numbers below it are accepted before there is a map."""

BY_NAME = {f"scope_{each.name}": each for each in EXPERIENCE.filters}
"""The filters by their parameters of an address."""

NOUNS = {
    "scope_by": "way of searching",
    **{key: each.noun for key, each in BY_NAME.items() if each.is_foremost},
    "scope_domains": "domain",
    **{key: each.noun for key, each in BY_NAME.items() if not each.is_foremost and each.noun},
}
"""Nouns for the values of parameters that a store may lack."""

KEYS = ("scope_text", *dict.fromkeys([*NOUNS, *BY_NAME]))
"""The parameters of an address that make the scope."""

Address = Mapping[str, Sequence[str]]
"""The values of those parameters, without empty ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressReading:
    """The result of reading an address."""

    scope: Scope
    n_left_out: Mapping[str, int]
    """Number of ignored values, by their type."""


def address_of(scope: Scope) -> dict[str, list[str]]:
    """Return a scope as parameters of an address, without empty ones."""
    written: dict[str, Iterable[Any]] = {
        "scope_text": [scope.text],
        "scope_by": [scope.by] if scope.by != BEST_MATCH else [],
        "scope_domains": scope.domains,
    }
    for key, each in BY_NAME.items():
        written[key] = each.written(scope.values[each.name]) if each.name in scope.values else []
    texts = {key: [text for value in values if (text := address_text(value))] for key, values in written.items()}
    return {key: values for key, values in texts.items() if values}


def read_address(address: Address, options: Mapping[str, Options], memory_map: MemoryMap | None) -> AddressReading:
    """Read the scope from URL parameters, as far as their values exist in the store.

    Args:
        address: The parameters of the opened URL, which are untrusted.
        options: The values that each filter can offer, by its name.
        memory_map: The map with the domains. Until there is one, every number may be a domain.
    """
    values = {
        each.name: each.read(address[key], options[each.name]) for key, each in BY_NAME.items() if address.get(key)
    }
    scope = scope_with(
        text=["", *address.get("scope_text", ())][-1],
        by=next(iter(known_values(address.get("scope_by", ()), BY)), BEST_MATCH),
        domains=known_values(address.get("scope_domains", ()), _domains(address, memory_map)),
        **values,
    )
    parameters, n_left_out = {"scope_by": [BEST_MATCH], **address_of(scope)}, Counter[str]()
    for key, noun in NOUNS.items():
        texts = [BY_NAME[key].canonical(text) if key in BY_NAME else text for text in address.get(key, ())]
        n_left_out[noun] += len({*texts} - {*parameters.get(key, ())})
    return AddressReading(scope=scope, n_left_out=n_left_out)


def _domains(address: Address, memory_map: MemoryMap | None) -> Iterable[int]:
    if has_domains(memory_map):
        return domain_titles(memory_map)
    return range(UNCLUSTERED, NUMBERS) if address.get("scope_domains") else ()
