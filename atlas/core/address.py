"""The URL of a store in PostgreSQL: server, database, and the store's schema."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import platformdirs

from atlas.core.errors import InvalidInput
from atlas.core.imports.distribution import DIRECTORY

SCHEMES = ("postgresql", "postgres")
DEFAULT_SCHEMA = "atlas"
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a store. The string form contains no password."""

    conninfo: str
    """Connection string for the driver, without the schema."""

    schema: str

    def __str__(self) -> str:
        """Return the address without a password."""
        parts = urlsplit(self.conninfo)
        user, _, host = parts.netloc.rpartition("@")
        authority = f"{user.partition(':')[0]}@{host}" if user else host
        options = [(name, value) for name, value in parse_qsl(parts.query) if "password" not in name]
        query = urlencode([*options, ("schema", self.schema)], safe="/", quote_via=quote)
        return f"postgresql://{authority}{parts.path}?{query}"

    @property
    def with_password(self) -> str:
        """The address with its password, for the environment of a child process. Do not log or store it."""
        if self.conninfo.endswith("?"):
            return f"{self.conninfo}schema={self.schema}"
        separator = "&" if urlsplit(self.conninfo).query else "?"
        return f"{self.conninfo}{separator}schema={self.schema}"


def is_address(text: str) -> bool:
    """Return whether a string is the address of a store in PostgreSQL."""
    return text.partition("://")[0] in SCHEMES and "://" in text


def read_address(text: str) -> Address:
    """Parse an address such as `postgresql://user@host/database?schema=team`.

    Raises:
        InvalidInput: The address is malformed, or the schema's name is invalid.
    """
    if not is_address(text):
        raise InvalidInput(f"expected an address such as postgresql://user@host/database, got {text!r}")
    parts = urlsplit(text)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    schema = options.pop("schema", DEFAULT_SCHEMA)
    if not _NAME.fullmatch(schema):
        raise InvalidInput(
            f"expected up to 63 lower-case letters, digits and _ for a store's schema, got {schema!r}; write "
            "?schema=NAME after the database's name"
        )
    return Address(f"postgresql://{parts.netloc}{parts.path}?{urlencode(options, quote_via=quote)}", schema)


def local_directory(text: str) -> Path:
    """Return the local directory of a PostgreSQL store, for files that are not in the database.

    The directory contains derived results, and files of a running server. `ATLAS_LOCAL` sets the parent directory; the
    default is the user's state directory.
    """
    address = read_address(text)
    parent_directory = Path(os.environ.get("ATLAS_LOCAL") or platformdirs.user_state_path(DIRECTORY))
    digest = hashlib.blake2b(str(address).encode(), digest_size=6).hexdigest()
    return parent_directory.expanduser().absolute() / f"{address.schema}-{digest}"
