"""Translation of the ledger's statements to PostgreSQL's syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_LITERAL = re.compile(r"('(?:[^']|'')*')")
_PARAMETER = re.compile(r"\?(\d*)")
_REPLACEMENTS = (
    (re.compile(r"\bjson_each\("), "items("),
    # A hint to SQLite about the order of a join. PostgreSQL chooses it by its own statistics.
    (re.compile(r"\bCROSS (JOIN \w+ \w+ ON\b)"), r"\1"),
    (re.compile(r"\bINDEXED BY \w+"), ""),
    (re.compile(r"\bgroup_concat\(([\w.]+)\)"), r"string_agg((\1)::text, ',')"),
    (re.compile(r"\bjson_group_array\(([\w.]+)\)"), r"coalesce(json_agg(\1), '[]')::text"),
    (re.compile(r"\bCAST\((\w+) AS BLOB\)"), r"convert_to(\1, 'UTF8')"),
    (re.compile(r"\bwindow\b"), '"window"'),
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement for psycopg."""

    text: str

    order: tuple[int, ...] | None
    """Index of the parameter for each placeholder, or None if the parameters are in order."""

    def arrange(self, parameters: Sequence[Any]) -> Sequence[Any]:
        """Return the parameters in the order of the placeholders."""
        return parameters if self.order is None else [parameters[index] for index in self.order]


@lru_cache(maxsize=4_096)
def translate(statement: str) -> Statement:
    """Translate a ledger statement to PostgreSQL's syntax, with psycopg's placeholders."""
    order: list[int] = []
    parts = [
        part if number % 2 else _translate_part(part, order)
        for number, part in enumerate(_LITERAL.split(_escape(statement)))
    ]
    return Statement("".join(parts), tuple(order) if order else None)


def _escape(statement: str) -> str:
    """Return a statement with percent signs escaped for psycopg."""
    return statement.replace("%", "%%")


def _translate_part(part: str, order: list[int]) -> str:
    """Translate a part without literals, and append the indices of its numbered parameters to `order`."""
    for pattern, replacement in _REPLACEMENTS:
        part = pattern.sub(replacement, part)

    def number_placeholder(match: re.Match[str]) -> str:
        if match[1]:
            order.append(int(match[1]) - 1)
        return "%s"

    return _PARAMETER.sub(number_placeholder, part)
