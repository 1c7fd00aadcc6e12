"""People, links, review and the audit log by commands, as an operator's scripts use them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import atlas
from atlas.access.keys import ApiKeys
from atlas.access.people import Identity, People
from atlas.access.stores import Stores
from atlas.cli import main
from atlas.infra.actor import Actor, Role, acting
from tests.support.records import attempts

ADA = Identity(issuer="https://provider.example", subject="1", name="Ada", groups=("ml",))


@pytest.fixture
def store(tmp_path: Path, monkeypatch) -> Path:
    """A store of three attempts that its owner stored, and two that wait for review."""
    directory = tmp_path / "store"
    with atlas.open_memory(directory, settings=atlas.Settings(embedding_model="all-MiniLM-L6-v2")) as memory:
        every = [*attempts(5)]
        memory.experience.store_many(every[:3])
        with acting(Actor("intern", Role.WRITER, is_reviewed=True)):
            memory.experience.store_many(every[3:])
    monkeypatch.setenv("ATLAS_STORE", str(directory))
    return directory


def run(capsys, *words: str) -> str:
    """The output of a command, which has to succeed."""
    capsys.readouterr()
    assert main([*words]) == 0
    return capsys.readouterr().out


def refused(capsys, *words: str) -> str:
    """The error of a command, which has to fail."""
    capsys.readouterr()
    assert main([*words]) == 1
    return capsys.readouterr().err


def rows(capsys, *words: str) -> list[dict]:
    return json.loads(run(capsys, *words, "--json"))


def test_a_person_is_given_a_role_removed_and_readmitted(store, capsys):
    assert run(capsys, "people") == "Nobody has signed in yet.\n"
    People(store, {"ml": Role.VIEWER}).sign_in(ADA)
    assert run(capsys, "people", "role", "Ada", "curator") == "Ada is a curator from now on.\n"
    (row,) = rows(capsys, "people")
    assert (row["name"], row["role"], row["is_removed"]) == ("Ada", "curator, given here", False)
    assert run(capsys, "people", "role", row["id"], "groups") == "Ada is a viewer from now on, by their groups.\n"
    assert run(capsys, "people", "remove", "Ada") == "Ada no longer has access.\n"
    assert not People(store, {"ml": Role.VIEWER}).find(row["id"])
    assert run(capsys, "people", "readmit", "Ada") == "Ada has access again.\n"
    assert "no person has the name 'Bob'" in refused(capsys, "people", "remove", "Bob")


def test_who_is_removed_can_lose_the_keys_they_made(store, capsys, monkeypatch):
    People(store, {"ml": Role.ADMIN}).sign_in(ADA)
    monkeypatch.setenv("ATLAS_ACTOR", "Ada")
    run(capsys, "keys", "add", "crawler")
    monkeypatch.delenv("ATLAS_ACTOR")
    assert "They made 1 key that is in use: crawler. They no longer work." in run(
        capsys, "people", "remove", "Ada", "--revoke-grants"
    )
    (key,) = json.loads(run(capsys, "keys", "list", "--json"))
    assert key["problem"]
    assert not {"secret", "hash"} & key.keys()


def test_a_new_key_and_a_new_link_stand_alone_on_the_standard_output(store, capsys):
    (secret,) = run(capsys, "keys", "add", "crawler", "--review").splitlines()
    assert ApiKeys(store).authenticate(secret).is_reviewed
    (path,) = run(capsys, "links", "add", "board").splitlines()
    assert path.startswith("/link/")


def test_a_link_leads_to_a_copy_until_it_is_ended(store, capsys):
    path = run(capsys, "links", "add", "board", "--days", "2").splitlines()[0]
    stores = Stores({"store": store}, {})
    assert stores.authenticate_link(path.removeprefix("/link/"))[1].name == "board"
    (row,) = rows(capsys, "links")
    assert (row["name"], row["is_live"]) == ("board", True)
    assert run(capsys, "links", "end", "board") == "The link board has ended, and its copy is removed.\n"
    assert not rows(capsys, "links")[0]["is_live"]
    with pytest.raises(atlas.NotAllowed):
        Stores({"store": store}, {}).authenticate_link(path.removeprefix("/link/"))
    assert "no open link has the name 'board'" in refused(capsys, "links", "end", "board")


def test_the_audit_log_is_listed_newest_first_and_by_kind(store, capsys):
    run(capsys, "keys", "add", "crawler")
    run(capsys, "links", "add", "board")
    assert [row["what"] for row in rows(capsys, "audit")][:2] == ["link made", "key made"]
    assert "crawler, writer" in run(capsys, "audit", "--kind", "key made", "-n", "1")
    assert "unknown kind 'nonsense'; recorded kinds: key made, link made" in refused(
        capsys, "audit", "--kind", "nonsense"
    )


def test_what_waits_is_accepted_or_rejected_and_both_are_undone(store, capsys):
    first, second = (row["id"] for row in rows(capsys, "review"))
    assert "Would accept 2 experiences." in run(capsys, "review", "accept", "--all", "--dry-run")
    assert "Would accept nothing." in run(capsys, "review", "--writer", "other", "accept", "--dry-run")
    assert "select the records by ids, by a writer, by a time, or all of them" in refused(capsys, "review", "reject")
    accepted = run(capsys, "review", "accept", first[:8])
    assert "Accepted 1 experience." in accepted
    assert [row["id"] for row in rows(capsys, "review")] == [second]
    rejected = run(capsys, "review", "reject", "--writer", "intern")
    assert "Rejected 1 experience." in rejected
    assert rows(capsys, "review") == []
    for output in (rejected, accepted):
        run(capsys, "undo", output.split()[-1])
    assert {row["id"] for row in rows(capsys, "review")} == {first, second}


def test_what_is_chosen_for_review_by_a_wrong_id_or_time_changes_nothing(store, capsys):
    assert "0 pending records have an id that begins with 'zzz'" in refused(capsys, "review", "accept", "zzz")
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    assert run(capsys, "review", "accept", "--since", tomorrow) == "Nothing waits.\n"
    assert len(rows(capsys, "review")) == 2


def test_the_doctor_gives_its_findings_to_scripts(store, capsys):
    findings = rows(capsys, "doctor")
    assert len(findings) > 3
    assert {finding["problem"] for finding in findings} == {""}
