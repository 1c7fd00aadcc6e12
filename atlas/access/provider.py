"""Configuration of the OpenID Connect provider."""

from __future__ import annotations

import ipaddress
import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from atlas.core.errors import InvalidInput

SCOPE = "openid profile email"
"""Scope that is requested by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """An OpenID Connect provider."""

    issuer: str
    """ATLAS_OIDC_ISSUER: URL of the provider, without `/.well-known/openid-configuration`."""

    client: str
    """ATLAS_OIDC_CLIENT: client id that the provider gave to this server."""

    secret: str = field(repr=False)
    """ATLAS_OIDC_SECRET: client secret of this server. Or ATLAS_OIDC_SECRET_FILE: a file with the secret.

    The file must be readable by its owner only.
    """

    claim: str = "groups"
    """ATLAS_OIDC_CLAIM: name of the claim with a person's groups."""

    scope: str = SCOPE
    """ATLAS_OIDC_SCOPE: the requested scope. Many providers return groups only for the scope `groups`."""

    public_url: str = ""
    """ATLAS_PUBLIC_URL: the server's address in browsers, or empty for the host of the request."""

    @property
    def public_host(self) -> str:
        """The host of the server's public URL, with its port if the URL has one. Empty if the URL is not set."""
        return urlsplit(self.public_url).netloc

    @property
    def has_tls(self) -> bool:
        """True if browsers use https, even if a proxy forwards their requests over plain http."""
        return urlsplit(self.public_url).scheme == "https"

    def warning(self, proxies: Collection[str]) -> str:
        """Return a warning about the configuration, or an empty string.

        Args:
            proxies: Addresses of trusted proxies.
        """
        if not self.has_tls or proxies:
            return ""
        return (
            f"ATLAS_PUBLIC_URL is {self.public_url}, so there is a proxy, but ATLAS_PROXY is not set: all addresses "
            "in the audit log will be the proxy's; set it, for example ATLAS_PROXY=127.0.0.1"
        )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Provider | None:
        """Return the provider of the ATLAS_OIDC_* variables, or None if they are not set.

        Raises:
            InvalidInput: A part is missing or malformed, or others may read the file with the secret.
        """
        environment = os.environ if environ is None else environ
        issuer = environment.get("ATLAS_OIDC_ISSUER", "")
        if not issuer:
            return None
        _check_issuer(issuer)
        client, secret = environment.get("ATLAS_OIDC_CLIENT", ""), _read_secret(environment)
        if not client:
            raise InvalidInput("sign-in also needs ATLAS_OIDC_CLIENT; set it to the client's id")
        if not secret:
            raise InvalidInput("sign-in also needs a secret; set ATLAS_OIDC_SECRET or ATLAS_OIDC_SECRET_FILE")
        return cls(
            issuer=issuer.rstrip("/"),
            client=client,
            secret=secret,
            claim=environment.get("ATLAS_OIDC_CLAIM") or "groups",
            scope=_parse_scope(environment.get("ATLAS_OIDC_SCOPE", "")),
            public_url=environment.get("ATLAS_PUBLIC_URL", "").rstrip("/"),
        )


def _check_issuer(issuer: str) -> None:
    """Raise `InvalidInput` for a malformed or insecure URL."""
    address = urlsplit(issuer)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise InvalidInput(f"expected a URL such as https://id.example for ATLAS_OIDC_ISSUER, got {issuer!r:.200}")
    if address.scheme == "http" and not _is_loopback(address.hostname):
        raise InvalidInput(
            f"expected a URL with https:// for ATLAS_OIDC_ISSUER, got {issuer!r:.200}: with plain http, anyone on the "
            "network path could sign in as any user. Use TLS; plain http is only allowed on this machine"
        )


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _parse_scope(text: str) -> str:
    """Return the scope to request, given the variable ATLAS_OIDC_SCOPE, which may be empty."""
    scopes = text.split() or SCOPE.split()
    if "openid" not in scopes:
        raise InvalidInput(f"expected openid in ATLAS_OIDC_SCOPE, as in `{SCOPE} groups`, got {text!r:.200}")
    return " ".join(scopes)


def _read_secret(environment: Mapping[str, str]) -> str:
    """Return the client secret from its variable or its file, or an empty string if neither is set."""
    if secret := environment.get("ATLAS_OIDC_SECRET", ""):
        return secret
    secret_file = environment.get("ATLAS_OIDC_SECRET_FILE", "")
    if not secret_file:
        return ""
    path = Path(secret_file).expanduser()
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise InvalidInput(f"{path} is readable by other users; restrict it: chmod 600 {path}")
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InvalidInput(
            f"ATLAS_OIDC_SECRET_FILE names {path}, which cannot be read ({error.strerror}); check its permissions"
        ) from error
