"""The URL of a service for a store's index: Pinecone, a ChromaDB server, or Chroma Cloud. It has no API key."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from enum import Enum
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from atlas.core.errors import InvalidInput
from atlas.core.imports.plugins import INDEXES, find_plugin

DEFAULT_TENANT, DEFAULT_DATABASE = "default_tenant", "default_database"
"""Default tenant and database of a ChromaDB server."""

_PORTS = {"http": 8000, "https": 443}


class Service(Enum):
    """A kind of index service. The value is the scheme of its address."""

    PINECONE = "pinecone"
    CHROMA = "chroma"
    CHROMA_CLOUD = "chroma+cloud"


FORMS = "pinecone://INDEX-HOST, chroma+http://HOST:PORT, chroma+https://HOST:PORT or chroma+cloud://TENANT/DATABASE"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexAddress:
    """Address of a remote index."""

    service: Service
    host: str = ""
    """Host name, or empty for Chroma Cloud."""

    port: int | None = None
    """Port, or None for the default of https."""

    is_secure: bool = True
    """True for https."""

    tenant: str = DEFAULT_TENANT
    database: str = DEFAULT_DATABASE

    def __str__(self) -> str:
        """Return the address as a URL."""
        if self.service is Service.CHROMA_CLOUD:
            return f"chroma+cloud://{self.tenant}/{self.database}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        host_and_port = f"{host}:{self.port}" if self.port else host
        if self.service is Service.PINECONE:
            return f"pinecone://{host_and_port}"
        values_and_defaults = {"tenant": (self.tenant, DEFAULT_TENANT), "database": (self.database, DEFAULT_DATABASE)}
        query = urlencode({name: value for name, (value, default) in values_and_defaults.items() if value != default})
        return f"chroma+http{'s' if self.is_secure else ''}://{host_and_port}{f'?{query}' if query else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginIndexAddress:
    """Address of an index in a service of a plug-in."""

    scheme: str
    """The plug-in's name."""

    text: str

    def __str__(self) -> str:
        """Return the address as a URL."""
        return self.text


def read_index_address(text: str) -> IndexAddress | PluginIndexAddress:
    """Parse an address such as `pinecone://notes-a1b2c3.svc.aped-1234.pinecone.io`.

    Raises:
        InvalidInput: The address is malformed or has a key, which belongs into the environment. The message does not
            repeat the key.
    """
    parts = _split_address(text)
    if parts.scheme == "pinecone":
        return _parse_pinecone(parts)
    if parts.scheme in ("chroma+http", "chroma+https"):
        return _parse_chroma(parts)
    if parts.scheme == "chroma+cloud":
        return _parse_chroma_cloud(parts)
    return PluginIndexAddress(scheme=parts.scheme, text=text)


def _split_address(text: str) -> SplitResult:
    """Return the parts of an address with a known scheme, or raise `InvalidInput` if it is malformed or has a key."""
    try:
        parts = urlsplit(text)
        is_port_valid = parts.port is None or parts.port > 0
    except ValueError:
        raise InvalidInput(f"expected {FORMS} for ATLAS_INDEX, got no readable host or port") from None
    schemes = ("pinecone", "chroma+http", "chroma+https", "chroma+cloud")
    is_known = parts.scheme in schemes or (parts.scheme and find_plugin(INDEXES, parts.scheme) is not None)
    if not is_known:
        scheme = f"{parts.scheme}://" if parts.scheme else "no scheme"
        raise InvalidInput(f"expected {FORMS} for ATLAS_INDEX, got {scheme}")
    if parts.username is not None or parts.password is not None or _has_credential_in_query(parts):
        raise InvalidInput(
            "ATLAS_INDEX contains an API key, but is displayed to users; set PINECONE_API_KEY or CHROMA_API_KEY instead"
        )
    if not parts.hostname:
        raise InvalidInput(f"expected {FORMS} for ATLAS_INDEX, got no host; add it")
    if not is_port_valid:
        raise InvalidInput("expected a port from 1 to 65535 in ATLAS_INDEX, got port 0; correct it")
    if parts.fragment:
        raise InvalidInput(f"expected {FORMS} for ATLAS_INDEX, got a part after #; remove it")
    return parts


def _has_credential_in_query(parts: SplitResult) -> bool:
    """Return whether a parameter in a query string has the name of a key. Values are ignored: `database=turkey`."""
    names = [name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    return any(word in name for name in names for word in ("key", "token", "secret"))


def _parse_pinecone(parts: SplitResult) -> IndexAddress:
    if parts.path.strip("/") or parts.query:
        raise InvalidInput(
            "expected pinecone://HOST for ATLAS_INDEX, with the index's host from Pinecone's console, got more "
            "after the host; remove it"
        )
    host = parts.hostname or ""
    return IndexAddress(service=Service.PINECONE, host=host, port=parts.port, is_secure=not _is_loopback(host))


def _parse_chroma(parts: SplitResult) -> IndexAddress:
    options = dict(parse_qsl(parts.query))
    if parts.path.strip("/") or options.keys() - {"tenant", "database"}:
        raise InvalidInput(
            f"expected {parts.scheme}://HOST:PORT or {parts.scheme}://HOST:PORT?tenant=…&database=… for "
            "ATLAS_INDEX, got other parts too; remove them"
        )
    scheme = parts.scheme.removeprefix("chroma+")
    return IndexAddress(
        service=Service.CHROMA,
        host=parts.hostname or "",
        port=parts.port or _PORTS[scheme],
        is_secure=scheme == "https",
        tenant=options.get("tenant", DEFAULT_TENANT),
        database=options.get("database", DEFAULT_DATABASE),
    )


def _parse_chroma_cloud(parts: SplitResult) -> IndexAddress:
    database = parts.path.strip("/")
    if not database:
        raise InvalidInput(
            "expected chroma+cloud://TENANT/DATABASE for ATLAS_INDEX, got no database; add the one that Chroma "
            "Cloud's console names"
        )
    if "/" in database or parts.query or parts.port:
        raise InvalidInput("expected chroma+cloud://TENANT/DATABASE for ATLAS_INDEX, got other parts too; remove them")
    return IndexAddress(service=Service.CHROMA_CLOUD, tenant=parts.netloc, database=database)


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine. A proxy or test emulator there is reached without encryption."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
