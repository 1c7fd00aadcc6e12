"""A provider of sign-in that puts into its tokens whatever it is told to, signed as it is told to."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jws
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry

Sign = Callable[[dict[str, Any], RSAKey], str]
"""Makes a token of claims, with the provider's key."""


def signed(algorithm: str = "RS256") -> Sign:
    """Signs with the provider's private key."""
    header, registry = {"alg": algorithm, "kid": "one"}, JWSRegistry(algorithms=[algorithm])
    return lambda claims, key: jws.serialize_compact(header, json.dumps(claims), key, registry=registry)


def unsigned(claims: dict[str, Any], key: RSAKey) -> str:
    """A token that anybody can make: without a signature."""
    return f"{_body('none', claims)}."


def signed_with_the_public_key(claims: dict[str, Any], key: RSAKey) -> str:
    """A token that anybody can make: HS256, whose secret is the public key."""
    body = _body("HS256", claims)
    return f"{body}.{_base64(hmac.digest(key.as_pem(private=False), body.encode(), hashlib.sha256))}"


def _body(algorithm: str, claims: dict[str, Any]) -> str:
    return ".".join(_base64(json.dumps(part).encode()) for part in ({"alg": algorithm, "kid": "one"}, claims))


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@contextmanager
def lying_provider(
    userinfo: dict[str, Any] | None = None, *, sign: Sign | None = None, algorithms: Sequence[str] = ("RS256",)
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Its address, and the claims that its next token has.

    Args:
        userinfo: What its userinfo endpoint tells. None without such an endpoint.
        sign: By default with its private key.
        algorithms: The algorithms that it announces. Empty for none.
    """
    key, claims = RSAKey.generate_key(2048, {"kid": "one"}), dict[str, Any]()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told: dict[str, Any] = {
                "issuer": address,
                "authorization_endpoint": f"{address}/authorize",
                "token_endpoint": f"{address}/token",
                "jwks_uri": f"{address}/keys",
            }
            if algorithms:
                told["id_token_signing_alg_values_supported"] = [*algorithms]
            if userinfo is not None:
                told["userinfo_endpoint"] = f"{address}/userinfo"
            keys = {"keys": [key.as_dict(private=False)]}
            self._answer({"/keys": keys, "/userinfo": userinfo or {}}.get(self.path, told))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            now = int(time.time())
            token = (sign or signed())({"iat": now, "exp": now + 60, **claims}, key)
            self._answer({"access_token": "one", "token_type": "Bearer", "id_token": token})

        def _answer(self, told: dict[str, Any]) -> None:
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield address, claims
        server.shutdown()
