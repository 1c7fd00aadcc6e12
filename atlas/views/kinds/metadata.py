"""Filters of metadata and scopes by pairs such as `file=a.py` and `project=shop`."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from atlas.core.filters import METADATA, SCOPE, scope_of
from atlas.memory.base.records import Records

LOOKED_AT = 500
"""Number of latest records whose metadata is suggested."""

PAIRS_OFFERED = 100

SAMPLE_MARK = "is_sample"
"""Key of the metadata that marks the sample data. No record shows it."""

_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?", re.ASCII)


def shared_pairs(records: Records) -> dict[str, int]:
    """Return the pairs of metadata that several of the latest records share, most frequent first."""
    pairs: Counter[str] = Counter()
    for row in records.browse(limit=LOOKED_AT):
        for name, value in row["metadata"].items():
            if name.startswith(METADATA) and isinstance(value, str | int | float):
                text = str(value).lower() if isinstance(value, bool) else str(value)
                pairs[f"{name.removeprefix(METADATA)}={text}"] += 1
    return {pair: n for pair, n in pairs.most_common(PAIRS_OFFERED) if n > 1}


def pair_filter(pair: str) -> dict[str, Any]:
    """Return the filter for a key and value of metadata. A numeric string matches the number as well."""
    key, _, value = pair.partition("=")
    return {f"{METADATA}{key.strip()}": {"$in": _readings(value.strip())}}


def scope_pairs(records: Records) -> dict[str, int]:
    """Return the parts of the scopes of the latest records, such as `project=shop`, most frequent first."""
    pairs: Counter[str] = Counter()
    for row in records.browse(limit=LOOKED_AT):
        pairs.update(f"{name.removeprefix(SCOPE)}={value}" for name, value in scope_of(row["metadata"]).items())
    return dict(pairs.most_common(PAIRS_OFFERED))


def scope_pair_filter(pair: str) -> dict[str, Any]:
    """Return the filter for a part of a scope, `project=shop` or `scope.project=shop`."""
    name, _, value = pair.partition("=")
    return {f"{SCOPE}{name.strip().removeprefix(SCOPE)}": value}


def _readings(value: str) -> list[Any]:
    """Return the possible values of a typed text."""
    if value in ("true", "false"):
        return [value, value == "true"]
    if _NUMBER.fullmatch(value):
        return [value, float(value) if "." in value else int(value)]
    return [value]
