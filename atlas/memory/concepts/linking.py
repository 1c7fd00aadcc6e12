"""Which concepts a concept's code calls, told by the names in it, whoever has these names by now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from atlas.core.types import CodeConcept


def linked(
    concept: CodeConcept, needed: Set[str], titles: Mapping[str, str], defines: Mapping[str, Any]
) -> CodeConcept:
    """The concept with the ids of what it calls: those that it names, and for names that none of them has, the last.

    Of those that it names and that are gone, one is left out for each that was found.

    Args:
        needed: The names that its code calls.
        titles: The names of all concepts that there are, by id.
        defines: Other names that the code of some of them defines, a text or several, by id. Names go before them.
    """
    named = [*((one, name) for one, given in defines.items() for name in _texts(given)), *titles.items()]
    held = {name for one, name in named if one in concept.calls}
    by_name = {name: one for one, name in named if name in needed - held and one != concept.id}
    if not by_name:
        return concept
    found = [by_name[name] for name in sorted(by_name)]
    gone = [called for called in concept.calls if called not in titles]
    there = [called for called in concept.calls if called in titles]
    return replace(concept, calls=tuple(dict.fromkeys([*there, *found, *gone[len(found) :]])))


def _texts(given: Any) -> Sequence[str]:
    return [given] if isinstance(given, str) else given
