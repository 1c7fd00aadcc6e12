"""Configuration of trusted proxies in front of the server, and of the users that they authenticate."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from atlas.access.people import Identity
from atlas.core.errors import InvalidInput

ISSUER = "proxy"
"""Issuer of all people whom a proxy has authenticated."""

_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """Addresses of trusted proxies, and names of the headers that are only accepted from these addresses."""

    addresses: frozenset[str] = frozenset()
    """ATLAS_PROXY: addresses of the proxies, such as `127.0.0.1 10.0.0.5`."""

    user: str = ""
    """ATLAS_PROXY_USER: name of the header with the user's id, such as `X-Forwarded-User`.

    Empty for no sign-in by proxy.
    """

    name: str = ""
    """ATLAS_PROXY_NAME: name of the header with the name that History shows, or empty for the id."""

    groups: str = ""
    """ATLAS_PROXY_GROUPS: name of the header with the user's groups, separated by commas."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Proxy:
        """Return the proxy that the ATLAS_PROXY* variables describe.

        Raises:
            InvalidInput: A variable is malformed, or headers are configured without a proxy.
        """
        environment = os.environ if environ is None else environ
        headers = {part: environment.get(f"ATLAS_PROXY_{part}", "") for part in ("USER", "NAME", "GROUPS")}
        for part, header in headers.items():
            if header and not _HEADER.fullmatch(header):
                raise InvalidInput(
                    f"expected the name of a header in ATLAS_PROXY_{part}, such as X-Forwarded-User, got {header!r:.80}"
                )
        user, name, groups = headers.values()
        addresses = frozenset(map(_parse_address, environment.get("ATLAS_PROXY", "").replace(",", " ").split()))
        has_headers = bool(user or name or groups)
        is_complete = bool(addresses and user)
        if has_headers and not is_complete:
            raise InvalidInput("sign-in by a proxy needs ATLAS_PROXY (its address) and ATLAS_PROXY_USER; set both")
        return cls(addresses=addresses, user=user, name=name, groups=groups)

    def identity(self, get_header: Callable[[str], str]) -> Identity | None:
        """Return the user named in the proxy's headers, or None.

        Args:
            get_header: Returns a header's value by its name, or an empty string.
        """
        subject = get_header(self.user) if self.user else ""
        if not subject:
            return None
        groups = get_header(self.groups) if self.groups else ""
        return Identity(
            issuer=ISSUER,
            subject=subject,
            name=(get_header(self.name) if self.name else "") or subject,
            groups=tuple(group for part in groups.split(",") if (group := part.strip())),
        )


def _parse_address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise InvalidInput(f"expected addresses such as 127.0.0.1 for ATLAS_PROXY, got {text!r:.80}") from None
