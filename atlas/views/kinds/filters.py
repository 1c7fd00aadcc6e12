"""Filters of lists: the widget, the URL parameter, and the condition on the store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.memory.base.records import Records

FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(2199, 12, 31)
"""Range of days in a filter."""

MOST = 10**9
"""Maximum absolute value of numbers in a filter."""

TAGS = "marks.tags"

Values = Mapping[str, Any]
"""Values of filters, by name. A filter without a value passes everything."""

Options = Mapping[Any, int]
"""Options of a filter, with the number of records for each. Untrusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(ABC):
    """A filter of a list."""

    name: str
    """Suffix of its URL parameter and widget key."""

    label: str
    """Label of its widget."""

    key: str
    """Key of the stored field, for `where`."""

    noun: str = ""
    """Noun for a value, in the note on values missing in the store, or None for no note."""

    help_text: str | None = None
    width: int = 160
    """Width of its widget, in pixels."""

    is_foremost: bool = False
    """True if its widget is always visible."""

    def options(self, records: Records) -> Options:
        """Return the options of the filter."""
        return {}

    @abstractmethod
    def condition(self, value: Any, records: Records | None) -> Any:
        """Return the condition on its field.

        Args:
            value: A non-empty value.
            records: The memory, or None for filters that do not read the store.
        """

    def written(self, value: Any) -> Sequence[str]:
        """Return a value in the form of a URL parameter."""
        return [address_text(value)]

    @abstractmethod
    def read(self, texts: Sequence[str], options: Options) -> Any:
        """Parse a value from a URL parameter, or None if it is missing or invalid.

        Args:
            texts: Texts of the parameter, at least one.
        """

    def canonical(self, text: str) -> str:
        """Return a URL parameter in canonical form."""
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices(Filter):
    """Any of several values."""

    values: tuple[Any, ...] = ()
    """All options, empty for the values in the store, the most frequent first."""

    order: tuple[Any, ...] = ()
    """Order of the options from the store, or None for the most frequent first."""

    word: Callable[[Any], str] | None = None
    """Function that returns the word shown for a value, or None for the value itself."""

    def options(self, records: Records) -> Options:
        """Return the values that records have."""
        if self.values:
            return dict.fromkeys(self.values, 0)
        counts = known_tags(records) if self.key == TAGS else records.values(self.key)
        return {value: counts[value] for value in self.order if value in counts} if self.order else counts

    def condition(self, value: Any, records: Records | None) -> Any:
        """Return the condition that the field has one of the values."""
        return {"$in": list(value)}

    def written(self, value: Any) -> Sequence[str]:
        """Return each value as a string."""
        return [text for each in value if (text := address_text(each))]

    def read(self, texts: Sequence[str], options: Options) -> Any:
        """Return the filters that are offered."""
        return known_values(texts, options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs(Filter):
    """Several `key=value` pairs, which must all match."""

    offered: Callable[[Records], Options]
    reading: Callable[[str], dict[str, Any]]
    """Function that returns the filter of a pair."""

    needs_options: bool = False
    """True if its box is left out as long as no record has a pair."""

    def options(self, records: Records) -> Options:
        """Return the pairs to choose from."""
        return self.offered(records)

    def condition(self, value: Any, records: Records | None) -> Any:
        """Return one condition for each pair."""
        return [self.reading(pair) for pair in value]

    def written(self, value: Any) -> Sequence[str]:
        """Return the pairs."""
        return list(value)

    def read(self, texts: Sequence[str], options: Options) -> Any:
        """Return the texts that are pairs."""
        return tuple(text for text in texts if is_pair(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(Filter):
    """One of a few states. The first passes everything."""

    values: tuple[str, ...]
    chosen: Callable[[Any, str], Any]
    """Function that returns the condition of another state, given the memory."""

    def condition(self, value: Any, records: Records | None) -> Any:
        """Return the condition that selects the records in a state, which may have to be read from the store.

        Raises:
            InvalidInput: `records` is None.
        """
        if records is None:
            raise InvalidInput(f"the filter {self.label!r} needs the memory that it narrows; pass its records")
        return self.chosen(records, value)

    def read(self, texts: Sequence[str], options: Options) -> Any:
        """Return the last value, or None if it is unknown or the default, which does not filter."""
        return texts[-1] if texts[-1] in self.values[1:] else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(Filter):
    """Only records whose field is true."""

    def condition(self, value: Any, records: Records | None) -> Any:
        """Return the condition that the field is true."""
        return True

    def written(self, value: Any) -> Sequence[str]:
        """Return `true`."""
        return ["true"]

    def read(self, texts: Sequence[str], options: Options) -> Any:
        """Return whether the last text is `true`."""
        return texts[-1].lower() == "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Filter):
    """A bound of a number."""

    operator: str
    """`$gt`, `$gte`, `$lt` or `$lte`."""

    least: int = -MOST
    most: int = MOST

    def condition(self, value: Any, records: Records | None) -> Any:
        """Return the comparison."""
        return {self.operator: value}

    def read(self, texts: Sequence[str], options: Options) -> Any:
        """Return the last text as a number, if it is one within the bounds."""
        number = _whole_number(texts[-1])
        return number if number is not None and self.least <= number <= self.most else None

    def canonical(self, text: str) -> str:
        """Return a number without leading zeros."""
        number = _whole_number(text)
        return text if number is None else str(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day(Filter):
    """The first or the last day, in UTC. Stored times are ISO texts, so a day is a prefix of its times."""

    is_last: bool = False

    def condition(self, value: Any, records: Records | None) -> Any:
        """Return the condition of the date range. Times are ISO strings, so a day is a prefix of its times."""
        if not self.is_last:
            return {"$gte": value.isoformat()}
        return {"$lt": (value + timedelta(days=1)).isoformat() if value < date.max else "9999-12-32"}

    def read(self, texts: Sequence[str], options: Options) -> Any:
        """Return the last text as a day, or None unless it has the form `2026-03-01` and is in the allowed range."""
        try:
            day = date.fromisoformat(texts[-1])
        except ValueError:
            return None
        return day if day.isoformat() == texts[-1] and FIRST_DAY <= day <= LAST_DAY else None


Filters = Sequence[Filter]


def is_empty(value: Any) -> bool:
    """Return whether a value does not filter. The number 0 does filter."""
    return value is None or value is False or (isinstance(value, str | tuple | list) and not value)


def without_empty(values: Values) -> dict[str, Any]:
    """Return the values that are set."""
    return {name: value for name, value in values.items() if not is_empty(value)}


def where_of(filters: Filters, values: Values, records: Records | None = None) -> dict[str, Any]:
    """Return the conjunction of filters in the store's format.

    Args:
        records: The filtered memory. If it is None, filters by state are left out.
    """
    where: dict[str, Any] = {}
    for each in filters:
        if each.name in values:
            condition = each.condition(values[each.name], records)
            existing = where.get(each.key)
            where[each.key] = {**existing, **condition} if isinstance(existing, dict) else condition
    return where


def options_of(filters: Filters, records: Records) -> dict[str, Options]:
    """Return the values that each filter can offer, by its name."""
    return {each.name: each.options(records) for each in filters}


def known_tags(records: Records) -> dict[str, int]:
    """Return how many records have each tag, most frequent first."""
    tags: Counter[str] = Counter()
    for value in records.column(TAGS).values():
        tags.update([value] if isinstance(value, str) else value)
    return dict(tags.most_common())


def is_pair(text: str) -> bool:
    """Return whether a string is `key=value`."""
    return bool(text.partition("=")[0].strip()) and "=" in text


def address_text(value: object) -> str:
    """Return a value as text, with the characters that UTF-8 cannot encode replaced."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _whole_number(text: str) -> int | None:
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= len(str(MOST)):
        return int(text)
    return None


def known_values(texts: Iterable[str], values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the known values among URL parameters."""
    wanted = set(texts)
    return tuple(value for value in values if address_text(value) in wanted) if wanted else ()
