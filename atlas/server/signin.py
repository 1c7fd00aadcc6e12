"""OpenID Connect sign-in, with the authorization code flow, PKCE, state and nonce.

The provider is only contacted at sign-in. Permissions are then read from the store.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from authlib.integrations.starlette_client import OAuth, OAuthError, StarletteOAuth2App
from joserfc.errors import UnsupportedAlgorithmError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from atlas.access.people import Identity
from atlas.access.provider import Provider

logger = logging.getLogger(__name__)

SIGN_IN, CALLBACK = "/signin", "/signin/callback"
_MINUTES = 10
"""Time limit of a sign-in."""

_MESSAGE_CHARACTERS = 300

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519", "Ed448"),
)
"""Accepted signature algorithms, all asymmetric.

`none` and HMAC algorithms are rejected even if the provider announces them.
"""

_ALGORITHMS_KEY = "id_token_signing_alg_values_supported"

AuthenticatedHandler = Callable[[Request, Identity], Response]
"""Returns the response to an authenticated user."""

RefusalPage = Callable[[Request, str], Response]
"""Returns the response to a failed sign-in, with the reason."""


def make_sign_in(provider: Provider, on_authenticated: AuthenticatedHandler, on_refused: RefusalPage) -> Starlette:
    """Return the application for paths below `/signin`."""
    oauth = OAuth()
    oauth.register(
        "oidc",
        client_cls=_PinnedClient,
        client_id=provider.client,
        client_secret=provider.secret,
        server_metadata_url=f"{provider.issuer}/.well-known/openid-configuration",
        client_kwargs={"scope": provider.scope, "code_challenge_method": "S256"},
    )

    async def begin(request: Request) -> Response:
        base_url = provider.public_url or str(request.base_url).rstrip("/")
        try:
            answer: Response = await oauth.oidc.authorize_redirect(request, base_url + CALLBACK)
        except Exception as error:  # noqa: BLE001 - whatever a provider answers
            logger.warning("the provider cannot be reached: %s", _on_one_line(error))
            return on_refused(request, f"the provider at {provider.issuer} cannot be asked; try again later")
        return answer

    async def callback(request: Request) -> Response:
        try:
            token = await oauth.oidc.authorize_access_token(request)
            identity = _to_identity(await _read_claims(oauth.oidc, token, provider.claim), provider)
        except Exception as error:  # noqa: BLE001 - a token that cannot be read never grants access
            # anyone can forge an error in the URL, so it is not shown
            logger.warning("a sign-in was refused: %s", _on_one_line(error))
            return on_refused(request, _refusal_reason(error))
        return on_authenticated(request, identity)

    return Starlette(
        routes=[Route(SIGN_IN, begin), Route(CALLBACK, callback)],
        middleware=[
            Middleware(
                SessionMiddleware,
                secret_key=secrets.token_urlsafe(32),
                session_cookie="atlas_signin",
                max_age=_MINUTES * 60,
                same_site="lax",
                https_only=provider.has_tls,
            )
        ],
    )


class _PinnedClient(StarletteOAuth2App):  # type: ignore[misc]  # the package has no types
    """A client that only accepts those `ALGORITHMS` that the provider announces, or else RS256."""

    async def load_server_metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = await super().load_server_metadata()
        announced = metadata.get(_ALGORITHMS_KEY) or ()
        return {**metadata, _ALGORITHMS_KEY: [name for name in ALGORITHMS if name in announced] or ["RS256"]}


async def _read_claims(client: StarletteOAuth2App, token: Mapping[str, Any], groups: str) -> Mapping[str, Any]:
    """Return the claims of a token, completed from the userinfo endpoint if the groups are missing.

    Args:
        groups: Name of the claim with the groups.

    Raises:
        ValueError: The userinfo has a different `sub`.
    """
    claims: Mapping[str, Any] = token["userinfo"]
    if claims.get(groups) is not None or not (await client.load_server_metadata()).get("userinfo_endpoint"):
        return claims
    userinfo = await client.userinfo(token=token)
    if userinfo.get("sub") != claims["sub"]:  # prevents that another user's access token adds their groups
        raise ValueError("expected the same `sub` from the userinfo endpoint as in the token, got another one")
    return {**userinfo, **{name: value for name, value in claims.items() if value is not None}}


def _to_identity(claims: Mapping[str, Any], provider: Provider) -> Identity:
    """Return the user that the claims of a token describe, or raise `ValueError` if they are malformed."""
    groups = claims.get(provider.claim) or ()
    if not claims["sub"]:
        raise ValueError("expected a `sub` in the token, got an empty one")
    if not isinstance(groups, str | list | tuple):
        raise ValueError(
            f"expected a string or a list of strings for the claim {provider.claim!r}, got {type(groups).__name__}"
        )
    name = next((claims[claim] for claim in ("name", "preferred_username", "email") if claims.get(claim)), "")
    identity = Identity(
        issuer=str(claims.get("iss") or provider.issuer),
        subject=str(claims["sub"]),
        name=str(name or claims["sub"]),
        groups=tuple(map(str, [groups] if isinstance(groups, str) else groups)),
    )
    "\n".join((identity.issuer, identity.subject, *identity.groups)).encode()  # raises for a lone surrogate
    return identity


def _on_one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:_MESSAGE_CHARACTERS]


def _refusal_reason(error: Exception) -> str:
    """Return the reason for a failed sign-in, without text from the URL or the token."""
    if isinstance(error, UnsupportedAlgorithmError):
        return (
            "the provider signs its tokens with an algorithm that is not accepted here; accepted are "
            f"{', '.join(ALGORITHMS)}, where the provider announces them. Have its administrator choose one"
        )
    is_denied = isinstance(error, OAuthError) and error.error == "access_denied"
    return f"the sign-in {'was refused by the provider' if is_denied else 'could not be finished'}; begin again"
