"""Starting the server: command-line options, access and configuration."""

from __future__ import annotations

import argparse
import atexit
import logging
import os
import socket
import sys

from atlas import AtlasError, Settings
from atlas.access.provider import Provider
from atlas.access.proxy import Proxy
from atlas.access.roles import roles_from_environment
from atlas.access.server_token import LOOPBACK, make_token
from atlas.access.stores import Stores, named_stores
from atlas.server.access import host_name
from atlas.server.operations.logs import configure_logs
from atlas.server.sessions import COOKIE, Sessions, session_seconds
from pages.server.app import DASHBOARD, make_app
from pages.server.monitoring import Operations

logger = logging.getLogger(__name__)

NO_KEY = (
    "others could reach this memory, and it has no key yet, so nobody could enter. Make a key first: "
    "atlas keys add NAME --role admin. Or serve this machine alone, with a token: atlas serve"
)
NOT_ALONE = (
    "--no-token opens a server to this machine alone, so it goes with no other --host, no --allow-host, no --ask, no "
    "sign-in and no ATLAS_PROXY; leave out one or the other"
)


def serve() -> None:
    """Serve until it is stopped."""
    parser = argparse.ArgumentParser(prog="atlas serve")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--allow-host", action="append", default=[])
    parser.add_argument("--also", action="append", default=[])
    parser.add_argument("--ask", action="store_true")
    parser.add_argument("--no-token", action="store_true")
    options = parser.parse_args()
    sys.argv[:] = [str(DASHBOARD)]  # Streamlit reads the configuration in the program's directory
    try:
        provider, proxy = Provider.from_environment(), Proxy.from_environment()
        directories = named_stores(Settings.from_environment().directory.expanduser().resolve(), options.also)
        is_alone = options.host in LOOPBACK and not (options.allow_host or options.ask or provider or proxy.addresses)
        token = make_token() if is_alone and not options.no_token else ""
        owner = Settings.from_environment().actor
        stores = Stores(directories, roles_from_environment(), owner=owner, token=token)
        can_enter = is_alone or provider or proxy.user or stores.has_key()
        seconds = session_seconds(os.environ.get("ATLAS_SESSION_HOURS", ""))
        operations = Operations.from_environment()
        atexit.register(configure_logs(os.environ.get("ATLAS_LOG", "")).stop)
    except AtlasError as error:
        sys.exit(f"atlas: {error}")
    if options.no_token and not is_alone:
        sys.exit(f"atlas: {NOT_ALONE}")
    if not can_enter:
        sys.exit(f"atlas: {NO_KEY}")
    if provider and (warning := provider.warning(proxy.addresses)):
        logger.warning("atlas: %s", warning)
    public_hosts = [*options.allow_host, *([provider.public_host] if provider and provider.public_host else [])]
    hosts = [*LOOPBACK, options.host, *_own_names(options.host), *map(host_name, public_hosts)]
    os.environ["FORWARDED_ALLOW_IPS"] = "none"  # only ATLAS_PROXY defines trusted proxies
    host = "127.0.0.1" if options.host == "localhost" else options.host
    sessions = Sessions(stores, seconds, cookie=f"{COOKIE}_{options.port}")
    try:
        app = make_app(
            stores,
            hosts,
            provider,
            proxy,
            host=host,
            is_open=options.no_token,
            sessions=sessions,
            public_hosts=public_hosts,
            operations=operations,
        )
    except AtlasError as error:
        sys.exit(f"atlas: {error}")
    app.run(
        config={
            "server.address": host,
            "server.port": options.port,
            "server.allowedHosts": hosts,
            "server.headless": True,
            "logger.hideWelcomeMessage": bool(token),  # the URL without the token shows the login form
        }
    )


def _own_names(host: str) -> list[str]:
    """Return this machine's names and addresses if the server listens on all of them."""
    if host not in ("0.0.0.0", "::"):
        return []
    name = socket.gethostname()
    try:
        addresses = {str(found[4][0]) for found in socket.getaddrinfo(name, None)}
    except OSError:
        addresses = set()
    return [name, socket.getfqdn(), *sorted(addresses)]
