"""Conversion between strategies and rows of a store, and validation of strategies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from atlas.core.codec import decode_strategy, encode_strategy, parse_parameters
from atlas.core.errors import InvalidInput
from atlas.core.filters import scope_of, with_shared_scope
from atlas.core.json_values import check_text, dump
from atlas.core.operations import Use
from atlas.core.types import Strategy
from atlas.memory.base.merging import join_distinct, merged_record_ids
from atlas.memory.base.records import Entry, filterable_metadata
from atlas.memory.base.success_rates import replay
from atlas.protocols.strategies import SuccessRateUpdater
from atlas.storage.damage import decode_content
from atlas.storage.plain.usage import usage_fields

TITLE_CHARACTERS = 200

TextFunction = Callable[[Strategy], str]
"""Function that returns the text to embed of a strategy."""


def situation_of(strategy: Strategy) -> str:
    """Return the situation of a strategy. This is the text to embed, which is compared with tasks."""
    return strategy.situation


WARNING = "warning"
"""Metadata key of a strategy that is a warning rather than advice."""


def is_warning(strategy: Strategy) -> bool:
    """Return whether a strategy is a warning, learned from failed attempts."""
    return strategy.metadata.get(WARNING) is True


def validate(strategy: Strategy, now: datetime) -> Strategy:
    """Return a strategy after checking it, with a title and `created_at` set.

    Raises:
        InvalidInput: The strategy's situation or suggestion is blank, or a field has the wrong type.
    """
    for name in ("id", "situation", "suggestion"):
        text = getattr(strategy, name)
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"expected a string that is not blank for a strategy's {name}, got {text!r}")
        check_text(text, f"the strategy's {name}")
    title = (strategy.title.strip() or strategy.situation.strip().splitlines()[0])[:TITLE_CHARACTERS]
    made_at = strategy.created_at or now
    return replace(strategy, title=title, parameters=parse_parameters(strategy.parameters), created_at=made_at)


FIELDS = frozenset(["derived_by", "domain", "sources", "content", "search_text"])
"""Metadata keys that `to_entry` writes, in addition to those of every memory."""


def to_entry(strategy: Strategy, text_of: TextFunction) -> Entry:
    """Return a strategy as an entry for a store. The metadata has keys to filter and sort by, and all fields."""
    if strategy.created_at is None:
        raise InvalidInput(f"expected a time for the created_at of strategy {strategy.id!r}, got None; set it")
    metadata = {
        "title": strategy.title,
        "derived_by": strategy.metadata.get("derived_by", ""),
        "domain": strategy.metadata.get("domain", ""),
        "created_at": strategy.created_at.astimezone(UTC).isoformat(timespec="microseconds"),
        "sources": list(strategy.sources),
        "merged_from": merged_record_ids(strategy.metadata),
        **filterable_metadata(strategy.metadata),
        "content": dump(encode_strategy(strategy)),
        "content_hash": content_hash(strategy),
        "search_text": "\n".join(part for part in (strategy.title, strategy.suggestion, strategy.rationale) if part),
    }
    non_empty = {name: value for name, value in metadata.items() if value not in ("", [])}
    return Entry(strategy.id, text_of(strategy), non_empty)


def _collapse_spaces(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def content_hash(strategy: Strategy) -> str:
    """Return a hash of a strategy's situation, suggestion and scope that does not depend on whitespace."""
    content: list[Any] = [_collapse_spaces(strategy.situation), _collapse_spaces(strategy.suggestion)]
    if scope := scope_of(strategy.metadata):
        content.append(scope)
    return hashlib.sha256(dump(content).encode()).hexdigest()


def from_row(row: Mapping[str, Any], uses: Sequence[Use], updater: SuccessRateUpdater) -> Strategy:
    """Return the strategy of a row, with the success rate that the updater computes from recorded attempts.

    If the store keeps no attempts, the rate comes from the metadata.
    """
    strategy = decode_content(decode_strategy, row["metadata"])
    points = replay(updater, uses)
    if not points:
        return replace(strategy, **usage_fields(row["metadata"]))
    n_succeeded = sum(point.success for point in points)
    return replace(strategy, usage_count=len(points), n_succeeded=n_succeeded, success_rate=points[-1].rate)


def sort_by_merge_preference(strategies: Sequence[Strategy]) -> list[Strategy]:
    """Return strategies sorted by their preference in a merge: most used first, then oldest first."""
    latest = datetime.max.replace(tzinfo=UTC)
    return sorted(strategies, key=lambda strategy: (-strategy.usage_count, strategy.created_at or latest))


def merge_strategies(survivor: Strategy, duplicates: Sequence[Strategy]) -> Strategy:
    """Return the kept strategy of a merge. It has its own texts, and the sources and parameters of all strategies."""
    lineages = [[strategy.id, *merged_record_ids(strategy.metadata)] for strategy in duplicates]
    merged_ids = join_distinct(merged_record_ids(survivor.metadata), *lineages)
    strategies = (survivor, *duplicates)
    names = join_distinct(parameter["name"] for strategy in strategies for parameter in strategy.parameters)
    parameters: dict[str, Any] = {}
    for strategy in reversed(strategies):  # the parameters of the kept strategy replace those of the others
        parameters.update((parameter["name"], parameter) for parameter in strategy.parameters)
    scopes = [strategy.metadata for strategy in (survivor, *duplicates)]
    return replace(
        survivor,
        sources=join_distinct(survivor.sources, *(strategy.sources for strategy in duplicates)),
        parameters=tuple(parameters[name] for name in names),
        metadata={**with_shared_scope(survivor.metadata, scopes), "merged_from": [*merged_ids]},
    )
