"""The audit log: what stands in it, that nothing fills it, and that damage costs a line."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import atlas
from atlas.access.keys import ApiKeys
from atlas.access.people import Identity, People
from atlas.infra.actor import Actor, Role, acting
from atlas.protocols.access import AUDIT
from atlas.storage.location.audit import AuditLog
from atlas.storage.maintenance.backup import backup
from atlas.testing import HashEmbedder
from atlas.views.settings.audit import AuditRow, as_csv, audit_rows, kinds_of, of_kind
from atlas.views.settings.keys import key_rows, make_key, revoke_key
from atlas.views.settings.links import end_link, link_rows, make_link
from tests.support.records import attempt


def said(log: AuditLog) -> list[tuple[str, str, str]]:
    return [(event.what, event.who, event.about) for event in reversed(log.events())]


def test_keys_people_and_roles_stand_in_it(tmp_path):
    api_keys, people = ApiKeys(tmp_path, owner="ada"), People(tmp_path, {"*": Role.VIEWER})
    api_keys.add("crawler", Role.WRITER, created_by="ada")
    api_keys.revoke("crawler")
    person = people.sign_in(Identity(issuer="i", subject="eve", name="Eve"))
    with acting(Actor("root", Role.ADMIN)):
        people.set_role(person.id, Role.CURATOR)
        people.remove(person.id)
        people.readmit(person.id)
    assert said(AuditLog(tmp_path)) == [
        ("key made", "ada", "crawler, writer"),
        ("key revoked", "ada", "crawler"),
        ("signed in", "Eve", "viewer"),
        ("role given: curator", "root", "Eve"),
        ("removed", "root", "Eve"),
        ("let in again", "root", "Eve"),
    ]


def test_what_is_done_on_an_open_dashboard_is_said_to_be_its_owners(tmp_path):
    settings = atlas.Settings(store=tmp_path / "store", actor="owner")
    with atlas.open_memory(settings=settings, embedder=HashEmbedder()) as memory:
        make_key(memory, "crawler", "writer", 30)
        revoke_key(memory, key_rows(memory)[0].id)
        make_link(memory, "board", 7)
        end_link(memory, link_rows(memory)[0].id)
        with acting(Actor("root", Role.ADMIN)):
            make_key(memory, "reader", "viewer", 30)
            revoke_key(memory, key_rows(memory)[0].id)
    done = [(event.what, event.who) for event in reversed(AuditLog(tmp_path / "store").events())]
    by_owner = [("key made", "owner"), ("key revoked", "owner"), ("link made", "owner"), ("link ended", "owner")]
    assert done == [*by_owner, ("key made", "root"), ("key revoked", "root")]


def test_purges_and_backups_stand_in_it_without_what_was_purged(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.store(attempt("the address of a customer", task_id="customer"))
        with acting(Actor("root", Role.ADMIN)):
            backup(memory.storage, tmp_path / "kept.zip")
            memory.apply_purge(memory.plan_purge(memory.experience.ids()))
        rows = audit_rows(memory)
        assert [row.what for row in rows] == ["purged", "made a backup"]
        assert {row.who for row in rows} == {"root"}
        assert "customer" not in (memory.storage.path / AUDIT).read_text()


def test_whoever_guesses_keys_does_not_fill_it(tmp_path):
    log = AuditLog(tmp_path)
    for _ in range(500):
        log.add_refusal("10.0.0.9", "this key is unknown")
    assert [event.n for event in log.events()] == [1]
    log.flush()
    assert [event.n for event in log.events()] == [499, 1]
    log.flush()
    assert len(log.events()) == 2


def test_a_burst_of_different_refusals_is_bounded_and_none_goes_uncounted(tmp_path):
    log = AuditLog(tmp_path)
    for number in range(500):
        log.add_refusal(f"10.0.0.{number}", "this key is unknown")
    log.flush()
    events = log.events()
    assert len(events) < 100
    assert sum(event.n for event in events) == 500


def test_many_writers_lose_nothing_and_a_cut_line_costs_itself(tmp_path):
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: AuditLog(tmp_path).add_event("signed in", who=f"person {n}"), range(64)))
    with (tmp_path / AUDIT).open("a") as file:
        file.write('{"at": "2026-')
    AuditLog(tmp_path).add_event("signed in", who="last\nof all")
    events = AuditLog(tmp_path).events()
    assert (len(events), events[0].who) == (65, "last of all")


def test_only_its_owner_reads_it(tmp_path):
    AuditLog(tmp_path).add_event("signed in", who="ada")
    assert (tmp_path / AUDIT).stat().st_mode & 0o077 == 0


def test_what_cannot_be_written_stops_nobody(tmp_path, caplog):
    AuditLog(tmp_path / "gone").add_event("signed in", who="ada")
    assert "cannot be written" in caplog.text


def test_it_leaves_as_a_table_that_no_spreadsheet_runs(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.storage.audit.add_event("signed in", who="=cmd()", about="viewer")
        memory.storage.audit.add_event("role given: admin", who="root", about="Eve")
        rows = audit_rows(memory)
    assert kinds_of(rows) == ["role given", "signed in"]
    assert "'=cmd()" in as_csv(of_kind(rows, "signed in"))
    blanks_first = AuditRow(at="", what="signed in", who="\xa0@cmd()", about="")
    assert "'\xa0@cmd()" in as_csv([blanks_first])
