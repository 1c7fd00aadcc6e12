"""The page about a team on one server: its environment file works, and it leaves out no setting of who may enter."""

from __future__ import annotations

import re
import shlex

import pytest

from atlas.access.provider import Provider
from atlas.access.proxy import Proxy
from atlas.access.roles import roles_from_environment
from atlas.infra.actor import Role
from tests.support.repository import REPOSITORY

PAGE = (REPOSITORY / "docs/how-to/team.md").read_text(encoding="utf-8")


@pytest.fixture
def environ(tmp_path) -> dict[str, str]:
    """The variables of the environment file that the page shows, with a file for the secret that is there."""
    [block] = re.findall(r"^`/etc/atlas/env`.*?```sh\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
    secret = tmp_path / "oidc-secret"
    secret.touch(mode=0o600)
    secret.write_text("hush")
    return dict(one.split("=", 1) for one in shlex.split(block)) | {"ATLAS_OIDC_SECRET_FILE": str(secret)}


def test_the_environment_file_of_the_page_sets_up_sign_in_behind_its_proxy(environ):
    provider, proxy = Provider.from_environment(environ), Proxy.from_environment(environ)
    assert provider is not None
    assert (provider.secret, provider.public_host) == ("hush", "memory.example")
    assert proxy.addresses == {"127.0.0.1"}, "or the audit log has the proxy's address for everybody"
    assert roles_from_environment(environ) == {"admins": Role.ADMIN, "ML Team": Role.CURATOR}


def test_no_setting_of_who_may_enter_is_left_out():
    sources = [file for part in ("access", "server") for file in (REPOSITORY / "atlas" / part).glob("*.py")]
    read = {name for file in sources for name in re.findall(r"ATLAS_\w+[A-Z](?!\w)", file.read_text(encoding="utf-8"))}
    assert {"ATLAS_OIDC_SCOPE", "ATLAS_PROXY", "ATLAS_SESSION_HOURS"} <= read
    assert {name for name in read if f"`{name}`" not in PAGE} == set()
