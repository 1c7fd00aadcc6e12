"""A provider of sign-in that puts into its tokens whatever it is told to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey


@contextmanager
def lying_provider(userinfo: dict[str, Any] | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Its address, and the claims that its next token has.

    Args:
        userinfo: What its userinfo endpoint tells. None without such an endpoint.
    """
    key, claims = RSAKey.generate_key(2048, {"kid": "one"}), dict[str, Any]()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told = {
                "issuer": address,
                "authorization_endpoint": f"{address}/authorize",
                "token_endpoint": f"{address}/token",
                "jwks_uri": f"{address}/keys",
                "id_token_signing_alg_values_supported": ["RS256"],
            }
            if userinfo is not None:
                told["userinfo_endpoint"] = f"{address}/userinfo"
            keys = {"keys": [key.as_dict(private=False)]}
            self._answer({"/keys": keys, "/userinfo": userinfo or {}}.get(self.path, told))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            now = int(time.time())
            token = jwt.encode({"alg": "RS256", "kid": "one"}, {"iat": now, "exp": now + 60, **claims}, key)
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
