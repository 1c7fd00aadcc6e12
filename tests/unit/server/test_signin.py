"""Signing in with a provider: the whole code flow, and everything that may go wrong in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from oidc_provider_mock import User, run_server_in_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from atlas.access.keys import ApiKeys
from atlas.access.people import People
from atlas.access.provider import Provider
from atlas.access.stores import Stores
from atlas.access.wrong_keys import FREE_ATTEMPTS
from atlas.core.errors import InvalidInput
from atlas.infra.actor import Role
from atlas.server.login import LoginMiddleware
from atlas.server.sessions import COOKIE, MAX_PER_USER, Sessions
from atlas.storage.location.audit import REFUSED
from tests.support.lying_provider import lying_provider, signed, signed_with_the_public_key, unsigned

ROLES = {"admins": Role.ADMIN, "team": Role.CURATOR}
USERS = (
    User(sub="ada", claims={"name": "Ada", "groups": ["team", "others"]}),
    User(sub="bob", claims={"name": "Bob"}),
    User(sub="eve", claims={"name": "Ada", "groups": ["admins"]}),
)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """A provider with three people."""
    with run_server_in_thread(user_claims=USERS) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def provider(issuer: str) -> Provider:
    return Provider(issuer=issuer, client="atlas", secret="secret")


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return Stores({"main": tmp_path}, ROLES)


@pytest.fixture
def people(stores: Stores) -> People:
    return stores.first.people


@pytest.fixture
def sessions(stores: Stores) -> Sessions:
    return Sessions(stores)


@pytest.fixture
def page(sessions: Sessions) -> Starlette:
    """A page that says who it is for."""

    def said(request: Request) -> PlainTextResponse:
        [actor] = sessions.actors_of(request.cookies.get(COOKIE, "")).values()
        return PlainTextResponse(f"{actor.name}, {actor.role}")

    return Starlette(routes=[Route("/", said)])


@pytest.fixture
def client(provider: Provider, sessions: Sessions, page: Starlette) -> Iterator[TestClient]:
    """A browser before the page."""
    with TestClient(LoginMiddleware(page, sessions, provider), base_url="http://atlas.example") as opened:
        yield opened


def came_back(client: TestClient, subject: str) -> str:
    """The address by which somebody comes back from the provider, who has said yes there."""
    begun = client.get("/signin", follow_redirects=False)
    assert begun.status_code == 302, begun.text
    said = httpx.post(begun.headers["location"], data={"sub": subject})
    assert said.status_code == 302, said.text
    return str(said.headers["location"])


def sign_in(client: TestClient, subject: str) -> httpx.Response:
    return client.get(came_back(client, subject), follow_redirects=False)


def test_whoever_signs_in_has_the_role_of_their_groups(client):
    assert client.get("/").url.path == "/enter"
    assert sign_in(client, "ada").headers["location"] == "/"
    assert client.get("/").text == "Ada, curator"


def test_whoever_is_in_no_group_is_a_viewer(client):
    sign_in(client, "bob")
    assert client.get("/").text == "Bob, viewer"


def test_two_of_one_name_are_two_in_the_history(client):
    sign_in(client, "ada")
    sign_in(client, "eve")
    assert client.get("/").text == "Ada (2), admin"


def test_a_change_of_role_and_removal_hold_from_the_next_request_on(client, people):
    sign_in(client, "ada")
    [ada] = people.all()
    people.set_role(ada.id, Role.WRITER)
    assert client.get("/").text == "Ada, writer"
    sign_in(client, "ada")
    assert client.get("/").text == "Ada, writer", "what an administrator gave is not what groups give"
    people.remove(ada.id)
    assert client.get("/").url.path == "/enter"
    assert "was removed from this memory" in sign_in(client, "ada").text
    people.readmit(ada.id)
    sign_in(client, "ada")
    assert client.get("/").text == "Ada, writer"


def test_leaving_ends_it(client):
    sign_in(client, "ada")
    assert client.post("/leave").url.path == "/enter"
    assert client.get("/").url.path == "/enter"


def test_a_session_ends_after_its_time(client, sessions):
    sessions.seconds = 0
    sign_in(client, "ada")
    assert client.get("/").url.path == "/enter"


@pytest.mark.parametrize("part", ["state", "code"])
def test_what_was_tampered_with_is_refused(client, people, part):
    address = urlsplit(came_back(client, "ada"))
    asked = {name: values[0] for name, values in parse_qs(address.query).items()} | {part: "another"}
    answer = client.get(address.path, params=asked, follow_redirects=False)
    assert (answer.status_code, "begin again" in answer.text) == (401, True)
    assert COOKIE not in client.cookies
    assert people.all() == []


def test_an_answer_to_another_browser_is_refused(client, people):
    address = came_back(client, "ada")
    client.cookies.clear()
    assert client.get(address, follow_redirects=False).status_code == 401
    assert people.all() == []


def test_an_answer_counts_once(client):
    address = came_back(client, "ada")
    assert client.get(address, follow_redirects=False).status_code == 303
    client.post("/leave")
    assert client.get(address, follow_redirects=False).status_code == 401


def test_whoever_says_no_at_the_provider_is_told_so(client):
    begun = client.get("/signin", follow_redirects=False)
    said = httpx.post(begun.headers["location"], data={"action": "deny"})
    answer = client.get(said.headers["location"], follow_redirects=False)
    assert (answer.status_code, "was refused by the provider" in answer.text) == (401, True)


def test_words_of_an_address_stand_neither_on_the_page_nor_in_the_audit_log(client, stores):
    for number in range(FREE_ATTEMPTS):
        said = {"error": f"e{number}", "error_description": "call 0800 49 now", "state": "none"}
        assert "0800" not in client.get("/signin/callback", params=said, follow_redirects=False).text
    stores.first.audit.flush()
    events = stores.first.audit.events()
    assert ([event.n for event in events], any("0800" in event.about for event in events)) == (
        [FREE_ATTEMPTS - 1, 1],
        False,
    )


def test_a_key_begins_another_session_and_ends_the_one_before(client, sessions, tmp_path):
    sign_in(client, "ada")
    before = client.cookies[COOKIE]
    secret = ApiKeys(tmp_path).add("crawler", Role.WRITER, created_by="ada")[1]
    client.post("/enter", data={"key": secret})
    assert client.get("/").text == "crawler, writer"
    assert not sessions.has_session(before)


def test_one_key_opened_without_end_throws_out_nobody_else(client, sessions, tmp_path):
    sign_in(client, "ada")
    secret = ApiKeys(tmp_path).add("crawler", Role.WRITER, created_by="ada")[1]
    tokens = [sessions.begin_with_secret(secret) for _ in range(MAX_PER_USER + 5)]
    assert [sessions.has_session(token) for token in tokens].count(True) == MAX_PER_USER
    assert client.get("/").text.startswith("Ada")


def test_a_provider_that_is_not_there_is_told_as_such(sessions, provider):
    gone = replace(provider, issuer="http://127.0.0.1:9")
    with TestClient(LoginMiddleware(Starlette(), sessions, gone)) as client:
        assert "cannot be asked" in client.get("/signin").text


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1, "iat": 0},
        {"nonce": "another"},
        {"aud": "another"},
        {"iss": "http://another.example"},
        {"groups": 5},
        {"sub": ""},
    ],
    ids=lambda claims: next(iter(claims)),
)
def test_a_token_that_is_not_for_this_sign_in_lets_nobody_in(sessions, stores, claims):
    with lying_provider() as (issuer, said):
        provider = Provider(issuer=issuer, client="atlas", secret="secret")
        with TestClient(LoginMiddleware(Starlette(), sessions, provider), base_url="http://atlas.example") as client:
            refused = answered(client, said, {"aud": "atlas", "iss": issuer, "sub": "ada", **claims})
            assert (refused.status_code, "begin again" in refused.text) == (401, True)
            assert [event.what for event in stores.first.audit.events()] == [REFUSED]
            right = answered(client, said, {"aud": "atlas", "iss": issuer, "sub": "ada"})
            assert right.status_code == 303, "with the right claims the same provider is believed"


ANNOUNCED = ("none", "HS256", "RS256")


@pytest.mark.parametrize(
    ("sign", "algorithms"),
    [
        (unsigned, ("RS256",)),
        (unsigned, ANNOUNCED),
        (unsigned, ("none",)),
        (unsigned, ()),
        (signed_with_the_public_key, ("RS256",)),
        (signed_with_the_public_key, ANNOUNCED),
        (signed_with_the_public_key, ("HS256",)),
        (signed("RS512"), ("RS256",)),
        (signed("RS512"), ANNOUNCED),
    ],
)
def test_a_token_of_an_algorithm_that_is_not_accepted_lets_nobody_in(sessions, stores, caplog, sign, algorithms):
    with lying_provider(sign=sign, algorithms=algorithms) as (issuer, said):
        provider = Provider(issuer=issuer, client="atlas", secret="secret")
        with TestClient(LoginMiddleware(Starlette(), sessions, provider), base_url="http://atlas.example") as client:
            refused = answered(client, said, {"aud": "atlas", "iss": issuer, "sub": "ada"})
            assert (refused.status_code, COOKIE in client.cookies) == (401, False)
            assert "signs its tokens with an algorithm that is not accepted here; accepted are RS256" in refused.text
            assert "Algorithm of" in caplog.text
            assert stores.first.people.all() == []


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256"])
def test_a_token_of_an_accepted_algorithm_that_the_provider_announces_lets_somebody_in(sessions, algorithm):
    with lying_provider(sign=signed(algorithm), algorithms=("none", algorithm)) as (issuer, said):
        provider = Provider(issuer=issuer, client="atlas", secret="secret")
        with TestClient(LoginMiddleware(Starlette(), sessions, provider), base_url="http://atlas.example") as client:
            assert answered(client, said, {"aud": "atlas", "iss": issuer, "sub": "ada"}).status_code == 303


@pytest.mark.parametrize(
    ("claims", "shown"),
    [
        ({"name": "A\x1b[31mda\x00 \x07Love\x9dlace"}, "A[31mda Lovelace, viewer"),
        ({"name": "Ada\r\nSet-Cookie: a"}, "Ada Set-Cookie: a, viewer"),
        ({"name": "\x1b\x00", "preferred_username": "ada\x7f"}, "somebody, viewer"),
        ({"name": "A\ud800da"}, "Ada, viewer"),
    ],
)
def test_names_of_a_provider_lose_their_control_characters(sessions, stores, page, claims, shown):
    with lying_provider() as (issuer, said):
        provider = Provider(issuer=issuer, client="atlas", secret="secret")
        with TestClient(LoginMiddleware(page, sessions, provider), base_url="http://atlas.example") as client:
            assert answered(client, said, {"aud": "atlas", "iss": issuer, "sub": "ada", **claims}).status_code == 303
            assert client.get("/").text == shown
    assert stores.first.audit.events()[0].who == shown.removesuffix(", viewer")


@pytest.mark.parametrize("claims", [{"sub": "a\ud800"}, {"sub": "ada", "groups": ["\udfff"]}])
def test_what_no_text_can_hold_lets_nobody_in(sessions, claims):
    with lying_provider() as (issuer, said):
        provider = Provider(issuer=issuer, client="atlas", secret="secret")
        with TestClient(LoginMiddleware(Starlette(), sessions, provider), base_url="http://atlas.example") as client:
            assert answered(client, said, {"aud": "atlas", "iss": issuer, **claims}).status_code == 401


@pytest.mark.parametrize(
    ("claims", "told", "expected"),
    [
        ({}, {"sub": "ada", "groups": ["admins"]}, "ada, admin"),
        ({"groups": None}, {"sub": "ada", "groups": ["admins"], "name": "Ada"}, "Ada, admin"),
        ({"groups": ["team"]}, {"sub": "ada", "groups": ["admins"]}, "ada, curator"),
        ({"groups": []}, {"sub": "ada", "groups": ["admins"]}, "ada, viewer"),
        ({}, {"sub": "ada"}, "ada, viewer"),
        ({}, {"sub": "eve", "groups": ["admins"]}, ""),
        ({}, {"groups": ["admins"]}, ""),
    ],
)
def test_groups_that_a_token_does_not_have_are_asked_for(sessions, page, claims, told, expected):
    with lying_provider(userinfo=told) as (issuer, said):
        provider = Provider(issuer=issuer, client="atlas", secret="secret")
        with TestClient(LoginMiddleware(page, sessions, provider), base_url="http://atlas.example") as client:
            answer = answered(client, said, {"aud": "atlas", "iss": issuer, "sub": "ada", **claims})
            assert answer.status_code == (303 if expected else 401)
            assert not expected or client.get("/").text == expected


def answered(client: TestClient, said: dict[str, object], claims: dict[str, object]) -> httpx.Response:
    """What is answered to somebody who comes back from a provider whose token has these claims."""
    begun = client.get("/signin", follow_redirects=False).headers["location"]
    asked = {name: values[0] for name, values in parse_qs(urlsplit(begun).query).items()}
    said.clear()
    said.update({"nonce": asked["nonce"], **claims})
    return client.get("/signin/callback", params={"code": "c", "state": asked["state"]}, follow_redirects=False)


def test_a_key_opens_the_same_door(client, tmp_path):
    secret = ApiKeys(tmp_path).add("crawler", Role.WRITER, created_by="ada")[1]
    client.post("/enter", data={"key": secret})
    assert client.get("/").text == "crawler, writer"


def test_a_provider_comes_from_the_environment(tmp_path):
    file = tmp_path / "secret"
    file.write_text("hush\n")
    given = {
        "ATLAS_OIDC_ISSUER": "https://id.example/",
        "ATLAS_OIDC_CLIENT": "atlas",
        "ATLAS_OIDC_SECRET_FILE": str(file),
    }
    file.chmod(0o644)
    with pytest.raises(InvalidInput, match="chmod 600"):
        Provider.from_environment(given)
    file.chmod(0o600)
    provider = Provider.from_environment(given)
    assert provider is not None
    assert (provider.issuer, provider.secret) == ("https://id.example", "hush")
    assert "hush" not in repr(provider)
    assert provider.scope == "openid profile email"
    assert Provider.from_environment({}) is None


@pytest.mark.parametrize(
    "issuer", ["http://localhost:4444", "http://127.0.0.1:9", "http://127.3.2.1", "http://[::1]:9"]
)
def test_a_provider_on_this_machine_may_speak_plain_http(issuer):
    given = {"ATLAS_OIDC_ISSUER": issuer, "ATLAS_OIDC_CLIENT": "atlas", "ATLAS_OIDC_SECRET": "hush"}
    assert Provider.from_environment(given).issuer == issuer


def test_the_scope_that_is_asked_for_can_be_said(sessions, provider):
    given = {"ATLAS_OIDC_ISSUER": provider.issuer, "ATLAS_OIDC_CLIENT": "atlas", "ATLAS_OIDC_SECRET": "hush"}
    wanted = Provider.from_environment(given | {"ATLAS_OIDC_SCOPE": "openid  groups"})
    with TestClient(LoginMiddleware(Starlette(), sessions, wanted), base_url="http://atlas.example") as client:
        begun = client.get("/signin", follow_redirects=False).headers["location"]
    assert parse_qs(urlsplit(begun).query)["scope"] == ["openid groups"]
    with pytest.raises(InvalidInput, match="expected openid in ATLAS_OIDC_SCOPE"):
        Provider.from_environment(given | {"ATLAS_OIDC_SCOPE": "groups"})


@pytest.mark.parametrize(("public_url", "is_secure"), [("https://atlas.example", True), ("", False)])
def test_a_cookie_is_for_tls_alone_where_the_public_address_is(sessions, provider, public_url, is_secure):
    public = replace(provider, public_url=public_url)
    secret = sessions.stores.first.keys.add("crawler", Role.WRITER, created_by="ada")[1]
    with TestClient(LoginMiddleware(Starlette(), sessions, public), base_url="http://atlas.example") as client:
        entered = client.post("/enter", data={"key": secret}, follow_redirects=False)
    assert ("Secure" in entered.headers["set-cookie"]) is is_secure


def test_whoever_names_no_proxy_in_front_of_a_public_address_is_warned(provider):
    public = replace(provider, public_url="https://atlas.example")
    assert "ATLAS_PROXY=127.0.0.1" in public.warning([])
    assert public.warning(["127.0.0.1"]) == ""
    assert provider.warning([]) == replace(provider, public_url="http://atlas.example").warning([]) == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ATLAS_OIDC_ISSUER": "id.example"}, "https://id.example"),
        ({"ATLAS_OIDC_ISSUER": "http://id.example"}, "expected a URL with https://"),
        ({"ATLAS_OIDC_ISSUER": "http://127.0.0.1.evil.example"}, "expected a URL with https://"),
        ({"ATLAS_OIDC_ISSUER": "HTTP://10.0.0.7/realms/one"}, "expected a URL with https://"),
        ({"ATLAS_OIDC_ISSUER": "http://[::2]"}, "expected a URL with https://"),
        ({"ATLAS_OIDC_ISSUER": "https://"}, "https://id.example"),
        ({"ATLAS_OIDC_ISSUER": "https://id.example"}, "ATLAS_OIDC_CLIENT"),
        ({"ATLAS_OIDC_SECRET": "", "ATLAS_OIDC_SECRET_FILE": "/nowhere"}, "cannot be read"),
    ],
)
def test_a_provider_that_is_half_given_is_refused_with_what_to_do(given, said):
    whole = {"ATLAS_OIDC_ISSUER": "https://id.example", "ATLAS_OIDC_CLIENT": "atlas", "ATLAS_OIDC_SECRET": "hush"}
    with pytest.raises(InvalidInput, match=said):
        Provider.from_environment(given if len(given) == 1 and "ISSUER" in next(iter(given)) else whole | given)


def test_a_viewer_uploads_nothing_and_a_curator_may(client):
    sign_in(client, "bob")
    assert client.put("/_stcore/upload_file/one/two", content=b"x").status_code == 403
    client.post("/leave")
    sign_in(client, "ada")
    assert client.put("/_stcore/upload_file/one/two", content=b"x").status_code == 404, "of the pages, not of the door"


def test_nobody_takes_the_name_of_whoever_runs_the_server(tmp_path, provider):
    stores = Stores({"main": tmp_path}, ROLES, owner="Ada")
    with TestClient(
        LoginMiddleware(Starlette(), Sessions(stores), provider), base_url="http://atlas.example"
    ) as client:
        sign_in(client, "ada")
    assert stores.first.people.names() == {"Ada (2)"}
