"""Conversion of values to PostgreSQL and back, so that queries return the same values as from SQLite.

PostgreSQL text cannot contain NUL, which is stored as an escaped control character.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from psycopg import Connection
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types.json import set_json_loads
from psycopg.types.numeric import NumericBinaryLoader

from atlas.storage.sql.connection import IntegerArray, TextArray

_LEAD, _NUL, _SELF = "\x01", "\x010", "\x011"


def escape(text: str) -> str:
    """Escape the characters of a string that PostgreSQL cannot store."""
    if "\0" not in text and _LEAD not in text:
        return text
    return text.replace(_LEAD, _SELF).replace("\0", _NUL)


def unescape(text: str) -> str:
    """Reverse `escape`."""
    return text.replace(_NUL, "\0").replace(_SELF, _LEAD) if _LEAD in text else text


class _TextDumper(Dumper):
    oid = 25  # text

    def dump(self, obj: str) -> bytes:
        return escape(obj).encode()


class _BooleanDumper(Dumper):
    oid = 21  # smallint: the ledger's booleans are 0 and 1

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"


class _TextArrayDumper(Dumper):
    oid = 1009  # text[]

    def dump(self, obj: TextArray) -> bytes:
        return f"{{{','.join(map(_quote_item, obj))}}}".encode()


class _IntegerArrayDumper(Dumper):
    oid = 1016  # bigint[]

    def dump(self, obj: IntegerArray) -> bytes:
        return f"{{{','.join(map(str, obj))}}}".encode()


class _TextLoader(Loader):
    def load(self, data: Any) -> str:
        return unescape(bytes(data).decode())


class _BinaryTextLoader(_TextLoader):
    format = Format.BINARY


class _NumericLoader(NumericBinaryLoader):
    """Loads a `numeric` as a float if it has fractional digits, else as an integer."""

    def load(self, data: Any) -> int | float:  # type: ignore[override]
        value = super().load(data)
        return int(value) if value.as_tuple().exponent == 0 else float(value)


def to_numeric(value: int | float) -> Decimal:
    """Return a number as a `numeric`. Floats have a fractional digit, and integers none, so that both are restored."""
    if isinstance(value, int):
        return Decimal(value)
    exact = Decimal(repr(value))
    if not exact.is_finite():
        return exact
    digits = f"{exact:f}"
    return Decimal(digits if "." in digits else f"{digits}.0")


def register(connection: Connection[Any]) -> None:
    """Register the adapters of these types on a connection."""
    adapters = connection.adapters
    adapters.register_dumper(str, _TextDumper)
    adapters.register_dumper(bool, _BooleanDumper)
    adapters.register_dumper(TextArray, _TextArrayDumper)
    adapters.register_dumper(IntegerArray, _IntegerArrayDumper)
    for name in ("text", "varchar", "name", "bpchar"):
        adapters.register_loader(name, _TextLoader)
        adapters.register_loader(name, _BinaryTextLoader)
    adapters.register_loader("numeric", _NumericLoader)
    set_json_loads(_read_json, context=connection)


def _read_json(data: str | bytes) -> Any:
    value = json.loads(data)
    return unescape(value) if isinstance(value, str) else value


def _quote_item(text: str) -> str:
    return '"' + escape(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
