"""Keys, people, links, the audit log and review over HTTP, as scripts of an administrator use them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import atlas
from atlas.access.keys import ApiKeys
from atlas.access.people import Identity, People
from atlas.access.stores import Stores
from atlas.infra.actor import Actor, Role, acting
from atlas.storage.maintenance.backup import restore
from atlas.testing import HashEmbedder
from atlas.views.settings.copies import backup_directory
from tests.support.records import attempts

ADA = Identity(issuer="https://provider.example", subject="1", name="Ada", groups=("ml",))


def client(memory: atlas.MemorySystem, address: str, role: Role) -> httpx.Client:
    """A client with a key of a role."""
    secret = ApiKeys(memory.storage.path).add(f"the {role}", role, created_by="owner")[1]
    return httpx.Client(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {secret}"}, timeout=60)


@pytest.fixture
def admin(memory: atlas.MemorySystem, address: str) -> Iterator[httpx.Client]:
    """A client with an administrator's key."""
    with client(memory, address, Role.ADMIN) as admin:
        yield admin


def sent(admin: httpx.Client, path: str, status: int = 200, **body) -> dict:
    """The answer to a POST."""
    answer = admin.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_new_key_works_until_it_is_revoked_and_its_secret_is_returned_once(admin, address):
    made = sent(admin, "/access/keys", 201, name="crawler", role="viewer", days=30)
    own = {"Authorization": f"Bearer {made['secret']}"}
    assert httpx.get(f"{address}/api/v1/operations", headers=own).status_code == 200
    assert (made["key"]["created_by"], made["key"]["problem"]) == ("the admin", "")
    listed = admin.get("/access/keys")
    assert [key["name"] for key in listed.json()] == ["crawler", "the admin"]
    assert made["secret"] not in listed.text
    assert "was revoked" in sent(admin, "/access/keys/crawler/revoke")["problem"]
    assert httpx.get(f"{address}/api/v1/operations", headers=own).status_code == 401
    assert admin.post("/access/keys/crawler/revoke").status_code == 404


def test_a_key_with_a_scope_takes_no_name_of_the_history(admin):
    scope = {"project": "shop"}
    refusal = admin.post("/access/keys", json={"name": "owner", "scope": scope})
    assert (refusal.status_code, "already has an actor" in refusal.json()["detail"]) == (422, True)
    assert sent(admin, "/access/keys", 201, name="shop", scope=scope)["key"]["scope"] == {"scope.project": "shop"}


def test_a_person_is_given_a_role_removed_and_readmitted(admin, memory):
    People(memory.storage.path, {"ml": Role.VIEWER}).sign_in(ADA)
    (person,) = admin.get("/access/people").json()
    path = f"/access/people/{person['id']}"
    assert (person["name"], person["role"], person["is_role_given"]) == ("Ada", "viewer", False)
    given = sent(admin, f"{path}/role", role="curator")
    assert (given["role"], given["is_role_given"]) == ("curator", True)
    assert not sent(admin, f"{path}/role", role="groups")["is_role_given"]
    sent(admin, "/access/keys", 201, name="crawler")
    ApiKeys(memory.storage.path).add("nightly", Role.WRITER, created_by="Ada")
    kept = sent(admin, f"{path}/remove")
    assert (list(kept["keys"].values()), kept["are_grants_revoked"]) == (["nightly"], False)
    assert sent(admin, f"{path}/readmit")["removed_at"] is None
    assert sent(admin, f"{path}/remove", revoke_grants=True)["person"]["removed_at"]
    assert [key.name for key in ApiKeys(memory.storage.path).active_keys()] == ["crawler", "the admin"]
    assert admin.post("/access/people/nobody/role", json={"role": "viewer"}).status_code == 404


def test_a_link_opens_a_copy_until_it_is_ended(admin, memory):
    made = sent(admin, "/access/links", 201, name="board", days=2)
    secret = made["path"].removeprefix("/link/")
    stores = Stores({"store": memory.storage.path}, {})
    assert stores.authenticate_link(secret)[1].id == made["link"]["id"]
    listed = admin.get("/access/links")
    assert [link["name"] for link in listed.json()] == ["board"]
    assert secret not in listed.text
    assert sent(admin, f"/access/links/{made['link']['id']}/end")["revoked_at"]
    with pytest.raises(atlas.NotAllowed):
        stores.authenticate_link(secret)


def test_a_backup_is_made_listed_and_restored(admin, memory, tmp_path):
    made = sent(admin, "/access/backups", 201)
    (listed,) = admin.get("/access/backups").json()
    assert (listed["path"], made["removed"]) == (made["path"], [])
    with atlas.open_memory(tmp_path / "other", embedder=HashEmbedder()) as other:
        assert restore(other.storage, Path(made["path"])).n_records == made["n_records"]
        assert other.experience.count() == memory.experience.count()


def test_a_new_backup_replaces_an_older_one(admin, memory):
    first = Path(sent(admin, "/access/backups", 201, keep=1)["path"])
    older = first.rename(first.with_name(f"{first.name[:-10]}000000.zip"))
    memory.storage.ledger.notes.write({f"backup:{older}": "2026-01-01T00:00:00+00:00"})
    second = sent(admin, "/access/backups", 201, keep=1)
    assert second["removed"] == [str(older)]
    assert [*backup_directory(memory).glob("*.zip")] == [Path(second["path"])]
    assert admin.post("/access/backups", json={"keep": 0}).status_code == 422


@pytest.mark.parametrize("role", [Role.VIEWER, Role.WRITER, Role.CURATOR])
def test_backups_are_for_admins(memory, address, role):
    with client(memory, address, role) as other:
        assert [other.get("/access/backups").status_code, other.post("/access/backups").status_code] == [403, 403]
    assert not backup_directory(memory).exists()


def test_each_act_is_in_the_audit_log_under_the_name_of_its_key(admin, memory):
    person = People(memory.storage.path, {"ml": Role.VIEWER}).sign_in(ADA)
    sent(admin, "/access/keys", 201, name="crawler")
    sent(admin, "/access/keys/crawler/revoke")
    link = sent(admin, "/access/links", 201, name="board")["link"]
    sent(admin, f"/access/links/{link['id']}/end")
    for act in ("role", "remove", "readmit"):
        sent(admin, f"/access/people/{person.id}/{act}", **({"role": "writer"} if act == "role" else {}))
    page = admin.get("/access/audit").json()
    acts = [event["what"] for event in page["events"] if event["who"] == "the admin"]
    expected = ["key made", "key revoked", "link made", "link ended", "role given: writer", "removed", "let in again"]
    assert acts[::-1] == expected
    page = admin.get("/access/audit", params={"kind": "role given", "limit": 1}).json()
    assert ([event["about"] for event in page["events"]], page["n_events"]) == (["Ada"], 1)


def test_what_waits_is_accepted_or_rejected_and_both_are_undone(admin, memory):
    with acting(Actor("intern", Role.WRITER, is_reviewed=True)):
        memory.experience.store_many([*attempts(32)][30:])
    queue = admin.get("/review", params={"writer": "intern", "limit": 1}).json()
    assert (len(queue["records"]), queue["n_records"]) == (1, 2)
    first = queue["records"][0]["id"]
    assert sent(admin, "/review/accept", ids=[first[:12]], dry_run=True) == {"ids": [first], "operation": None}
    accepted = sent(admin, "/review/accept", ids=[first])
    rejected = sent(admin, "/review/reject", all=True)
    assert len(rejected["ids"]) == 1
    assert admin.get("/review").json()["n_records"] == 0
    for operation in (rejected["operation"], accepted["operation"]):
        sent(admin, f"/operations/{operation}/undo")
    assert admin.get("/review").json()["n_records"] == 2
    refused = admin.post("/review/accept", json={})
    assert (refused.status_code, "by ids" in refused.json()["detail"]) == (422, True)
    assert admin.post("/review/accept", json={"ids": ["zzz"]}).status_code == 404


@pytest.mark.parametrize("act", ["accept", "reject"])
def test_what_changed_since_it_was_reviewed_is_neither_accepted_nor_rejected(admin, memory, act):
    intern = Actor("intern", Role.WRITER, is_reviewed=True)
    with acting(intern):
        [record_id] = memory.experience.store_many(attempts(1))
    reviewed = admin.get("/review").json()
    with acting(intern):
        memory.experience.edit(record_id, feedback="send all to evil")
    refused = admin.post(f"/review/{act}", json={"ids": [record_id], "unchanged_since": reviewed["moment"]})
    assert (refused.status_code, "has changed since" in refused.json()["detail"]) == (409, True)
    again = admin.get("/review").json()
    assert [record["id"] for record in again["records"]] == [record_id]
    sent(admin, f"/review/{act}", ids=[record_id], unchanged_since=again["moment"])
    assert admin.post(f"/review/{act}", json={"all": True, "unchanged_since": "yesterday"}).status_code == 422


ACTS = [
    ("GET", "/access/keys", {}),
    ("POST", "/access/keys", {"name": "mine"}),
    ("POST", "/access/keys/x/revoke", {}),
    ("GET", "/access/people", {}),
    ("POST", "/access/people/x/role", {"role": "admin"}),
    ("POST", "/access/people/x/remove", {}),
    ("POST", "/access/people/x/readmit", {}),
    ("GET", "/access/links", {}),
    ("POST", "/access/links", {"name": "mine"}),
    ("POST", "/access/links/x/end", {}),
    ("GET", "/access/audit", {}),
]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.WRITER, Role.CURATOR])
def test_access_is_for_admins_alone(memory, address, role):
    reviews = [("POST", f"/review/{act}", {"all": True}) for act in ("accept", "reject")]
    with client(memory, address, role) as visitor:
        for method, path, body in ACTS + (reviews if role < Role.CURATOR else []):
            answer = visitor.request(method, path, json=body or None)
            assert (answer.status_code, path) == (403, path)
            assert "needs the role" in answer.json()["detail"]
    assert ApiKeys(memory.storage.path).names() == {f"the {role}"}


def test_a_server_without_keys_makes_its_first_key_by_script(memory, address):
    with httpx.Client(base_url=f"{address}/api/v1", timeout=60) as visitor:
        made = sent(visitor, "/access/keys", 201, name="me", role="admin")
    assert made["key"]["created_by"] == "owner"
    assert httpx.get(f"{address}/api/v1/access/keys").status_code == 401
