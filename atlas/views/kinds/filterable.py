"""The fields that a filter (`where`) can name, for the command line and the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from atlas.core.filters import COMMON_NAMES, METADATA, SCOPE
from atlas.memory.concepts.records import FIELDS as CONCEPT_FIELDS
from atlas.memory.experience.extraction import FIELDS as EXPERIENCE_FIELDS
from atlas.memory.journal.records import FIELDS as JOURNAL_FIELDS
from atlas.memory.strategies.records import FIELDS as STRATEGY_FIELDS
from atlas.views.kinds.concept import CONCEPT
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.filters import Choices, Filter
from atlas.views.kinds.journal import JOURNAL
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.strategy import STRATEGY

EVERY = "every memory"

FIELDS: Mapping[str, frozenset[str]] = {
    EXPERIENCE.page: EXPERIENCE_FIELDS,
    CONCEPT.page: CONCEPT_FIELDS,
    STRATEGY.page: STRATEGY_FIELDS,
    JOURNAL.page: JOURNAL_FIELDS,
}
"""Names of the fields of each memory's records, by the name of its page."""

OF_METADATA = (
    f"Keys of a record's metadata can be filtered too: `{SCOPE}project` and other parts of a scope everywhere, and "
    f"keys of your own as `{METADATA}NAME`, or of experiences as `NAME`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterableField:
    """A field that a filter can name."""

    memory: str
    """Name of the memory's page, or `every memory`."""

    key: str
    label: str = ""
    """Label of the field's filter on the page. Empty if the page has none."""

    values: tuple[str, ...] = ()
    """The only values of the field. Empty if there are others."""


def filterable_fields() -> list[FilterableField]:
    """Return the fields of each memory, then the fields of all memories, each group in the order of their keys."""
    fields = [field for kind in (EXPERIENCE, CONCEPT, STRATEGY, JOURNAL) for field in _fields_of(kind)]
    return [*fields, *(FilterableField(memory=EVERY, key=key) for key in sorted(COMMON_NAMES))]


def _fields_of(kind: Kind) -> list[FilterableField]:
    filters = {each.key: each for each in reversed(kind.filters) if not each.key.startswith("$")}
    keys = sorted((FIELDS[kind.page] | filters.keys()) - COMMON_NAMES)
    return [_field(kind, key, filters.get(key)) for key in keys]


def _field(kind: Kind, key: str, shown: Filter | None) -> FilterableField:
    values = shown.values if isinstance(shown, Choices) else ()
    return FilterableField(
        memory=kind.page, key=key, label=shown.label if shown else "", values=tuple(map(str, values))
    )
