"""A store in PostgreSQL: its address, its files on this machine, and errors that say what to do."""

from __future__ import annotations

import psycopg
import pytest

from atlas.core.address import local_directory, read_address
from atlas.core.errors import InvalidInput, ReadOnlyStore, SchemaTooNew, StoreUnavailable
from atlas.core.settings import Settings
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.maintenance.copying import copy_store
from atlas.storage.maintenance.doctor import examine
from atlas.storage.postgres import postings
from atlas.storage.postgres.schema import VERSION
from atlas.storage.store import LABEL, Store
from tests.support.storage.engines import rows_of, run_in
from tests.support.storage.ledgers import THINGS, Opened, vector_of
from tests.support.storage.postgres import close_idle_connections


@pytest.fixture
def opened(postgres_address):
    store = Store.open(postgres_address)
    yield Opened(store)
    store.close()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://ada:secret@db/memories", "postgresql://ada@db/memories?schema=atlas"),
        ("postgres://db:6000/m?schema=team&sslmode=require", "postgresql://db:6000/m?sslmode=require&schema=team"),
        ("postgresql:///m?options=-c%20jit%3Doff", "postgresql:///m?options=-c%20jit%3Doff&schema=atlas"),
        ("postgresql:///m?password=secret&user=ada", "postgresql:///m?user=ada&schema=atlas"),
    ],
)
def test_an_address_is_shown_without_its_password(given, shown):
    assert str(read_address(given)) == shown


@pytest.mark.parametrize(
    "given", ["postgresql://ada:s%2Fcret@db/m?schema=t", "postgresql:///m?password=a%26b&sslmode=require"]
)
def test_a_child_gets_the_address_with_its_password(given):
    address = read_address(given)
    assert read_address(address.with_password) == address
    assert local_directory(address.with_password) == local_directory(given)


@pytest.mark.parametrize("schema", ["Team", "a-b", "", "x" * 64, 'a"; DROP'])
def test_a_schema_that_is_no_plain_name_is_refused(schema):
    with pytest.raises(InvalidInput, match=r"lower-case letters.*write \?schema=NAME"):
        read_address(f"postgresql://db/m?schema={schema}")


def test_the_files_of_this_machine_say_whose_they_are_and_open_the_store(opened, postgres_address):
    opened.add("a")
    directory = local_directory(postgres_address)
    assert opened.store.path == directory
    assert str(read_address(postgres_address)) in (directory / LABEL).read_text().replace("\\/", "/")
    again = Store.open(directory)
    assert Opened(again).ids() == ["a"]
    assert again.location == opened.store.location == str(read_address(postgres_address))
    again.close()


def test_settings_take_the_address_from_where_a_directory_would_be(postgres_address):
    settings = Settings.from_environment({"ATLAS_STORE": postgres_address})
    assert (settings.address, settings.directory) == (postgres_address, local_directory(postgres_address))


def test_a_misspelt_variable_opens_no_other_store():
    with pytest.raises(InvalidInput, match="expected a setting of ATLAS, got ATLAS_STROE; did you mean ATLAS_STORE"):
        Settings.from_environment({"ATLAS_STROE": "postgresql://db/m"})


def test_a_server_that_is_not_there_is_said_with_its_address(tmp_path, monkeypatch):
    monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path))
    with pytest.raises(StoreUnavailable, match=r"the server of postgresql://ada@127.0.0.1:1/m.* cannot be reached"):
        Store.open("postgresql://ada:secret@127.0.0.1:1/m")


def test_a_store_that_is_not_there_is_made_only_where_that_is_asked(postgres_address):
    with pytest.raises(StoreUnavailable, match=r"there is no store at .*atlas --store ADDRESS init"):
        Store.open(postgres_address, create=False)
    with pytest.raises(ReadOnlyStore, match="there is no store at "):
        Store.open(postgres_address, read_only=True)


def test_a_newer_schema_is_refused_and_left_as_it_is(opened, postgres_address):
    run_in(postgres_address, "UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    with pytest.raises(SchemaTooNew, match=r"has schema 99, but .* Update ATLAS; the store is unchanged"):
        Store.open(postgres_address)


NEWEST = "artefacts, access_texts, audit_lines"
"""Tables that version 2 lacks."""


@pytest.mark.parametrize(
    ("version", "missing"),
    [(1, f"index_seals, index_vectors, {NEWEST}"), (2, NEWEST), (3, "access_texts, audit_lines"), (4, "pending_marks")],
)
def test_an_older_schema_is_brought_up_to_date(opened, postgres_address, version, missing):
    opened.add("a")
    run_in(
        postgres_address,
        f"DROP TABLE IF EXISTS {missing}",
        *(f"CREATE TABLE {name} (collection TEXT)" for name in ("pending_marks", "marks_files")),
        f"UPDATE meta SET value = '{version}' WHERE name = 'schema_version'",
    )
    with pytest.raises(ReadOnlyStore, match=rf"has schema {version}, but this version of ATLAS reads schema {VERSION}"):
        Store.open(postgres_address, read_only=True)
    again = Store.open(postgres_address)
    assert Opened(again).ids() == ["a"]
    assert again.collection(THINGS).parts.nearest.index.count() == 0
    shared = again.ledger.shared
    made = shared.publish("a result", b"content", job="", ledger_id=shared.ledger_id())
    again.audit.add_event("noted")
    assert shared.content("a result", made) == b"content"
    assert [event.what for event in again.audit.events()] == ["noted"]
    assert again.ledger.notes.read("schema_version") == {"": str(VERSION)}
    again.close()


def test_a_lock_is_free_once_the_server_has_ended_the_connection_that_held_it(opened, postgres_address):
    other = Store.open(postgres_address)
    with opened.store.locked():
        run_in(postgres_address, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
        with other.locked():
            pass
    with opened.store.locked():
        pass
    other.close()


def test_a_user_without_rights_is_told_what_to_grant(opened, postgres_address):
    opened.add("a")
    run_in(postgres_address, "DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN")
    guest = postgres_address.replace("//atlas@", "//guest@")
    with pytest.raises(StoreUnavailable, match=r"may not do that .*Grant it usage of the schema"):
        Store.open(guest)


def test_a_writer_that_is_kept_waiting_is_told_so(opened, postgres_address):
    where = read_address(postgres_address)
    short = Store.open(postgres_address, settings=Settings(busy_timeout_seconds=0.2))
    with psycopg.connect(where.conninfo) as other:
        other.execute(f"SELECT value FROM {where.schema}.meta WHERE name = 'revision' FOR UPDATE")
        with pytest.raises(StoreUnavailable, match=r"locked for over 0.2 s; nothing was written"):
            Opened(short).add("a")
        other.rollback()
    Opened(short).add("a")
    assert opened.ids() == ["a"]
    short.close()


def test_a_connection_that_the_server_ended_is_made_again(opened, postgres_address):
    opened.add("a")
    run_in(postgres_address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    opened.add("b")
    assert set(opened.ids()) == {"a", "b"}


def test_a_write_whose_connection_is_lost_under_way_is_not_tried_again(opened, postgres_address):
    end_others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    database = opened.store.ledger.database
    with pytest.raises(StoreUnavailable, match="the connection was lost"), database.write() as connection:
        connection.execute("INSERT INTO meta VALUES ('half', 'a write')")
        run_in(postgres_address, end_others)
        connection.execute("INSERT INTO meta VALUES ('other half', 'of it')")
    assert rows_of(postgres_address, "SELECT name FROM meta WHERE name LIKE '%half'") == []


def test_a_store_that_is_left_open_keeps_no_connection_and_may_be_used_on(opened, postgres_address):
    opened.add("a")
    close_idle_connections()
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'atlas'"
    assert rows_of(postgres_address, count) == [(0,)]
    assert opened.ids() == ["a"]


def test_texts_that_postgresql_cannot_hold_come_back_as_they_were(opened):
    odd = "nul\0 and \x01 and \x010 and \x011\0"
    title = odd.replace("\0", "")
    opened.add("a")
    opened.edit("a", odd, title=title, words=[title, "x" * 5_000, "x" * 4_999 + "y"])
    (row,) = opened.store.collection(THINGS).get(["a"])
    assert (row["document"], row["metadata"]["title"]) == (odd, title)
    assert opened.ids({"title": title}) == ["a"]
    assert opened.ids({"words": "x" * 4_999 + "y"}) == ["a"]
    assert opened.ids({"words": {"$gt": "x" * 4_999 + "x"}}) == ["a"]
    assert opened.ids({"words": "x" * 4_999}) == []
    with pytest.raises(InvalidInput, match="lone surrogate"):
        opened.store.collection(THINGS).update(["a"], [vector_of("a")], [{}], ["\ud800"])


def test_a_backup_is_a_file_that_a_store_in_a_directory_reads_too(opened, tmp_path):
    opened.add("a", colour="red")
    backup(opened.store, tmp_path / "backup")
    opened.delete("a")
    other = Opened(Store.open(tmp_path / "other"))
    restore(other.store, tmp_path / "backup")
    restore(opened.store, tmp_path / "backup")
    assert opened.contents() == other.contents() != {}
    assert opened.ids({"colour": "red"}) == ["a"]
    opened.add("b")
    other.store.close()


def test_the_size_is_that_of_the_servers_tables(opened):
    opened.add(*(f"r{i}" for i in range(50)))
    assert opened.store.n_bytes() > 100_000
    assert (opened.store.path / LABEL).stat().st_size < 1_000


def test_a_write_that_changes_a_record_and_adds_another_keeps_both(opened):
    opened.add("a")
    things = opened.store.collection(THINGS)
    opened.delete("a")
    things.add(["a", "b"], [vector_of("a"), vector_of("b")], [{}, {}], ["the first", "the second"])
    assert opened.ids() == ["a", "b"]
    assert opened.nearest("b") == ["b"]


@pytest.mark.parametrize("at_once", [30, 100_000])
def test_words_that_many_writes_have_scattered_are_brought_together_and_found_as_before(opened, monkeypatch, at_once):
    monkeypatch.setattr(postings, "MAX_PARTS", 3)
    monkeypatch.setattr(postings, "MERGE_BATCH", at_once)
    ledger, things = opened.store.ledger, opened.store.collection(THINGS)
    for number in range(20):
        opened.add(f"a{number}", f"b{number}")
    opened.store.undo(opened.delete("a3", "b4", "a11"))  # so that old records stand in new rows
    opened.edit("a5", "said text otherwise")
    before = {word: things.search_text(word, 50).ids for word in ("text", "a7", "otherwise", "of b4")}
    n_rows = count_rows(ledger)
    ledger.words.merge_parts([THINGS])
    assert count_rows(ledger) < n_rows / 2
    assert {word: things.search_text(word, 50).ids for word in before} == before
    assert [check.run() for check in ledger.checks()] == [""] * 6
    n_rows = count_rows(ledger)
    ledger.words.merge_parts([THINGS])
    assert count_rows(ledger) == n_rows


def count_rows(ledger) -> int:
    with ledger.database.read() as connection:
        return connection.execute("SELECT count(*) FROM word_postings").fetchone()[0]


NOTHING = "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
ATTACHED = {
    "trigger 'evil' on records": [
        NOTHING,
        "CREATE TRIGGER evil BEFORE INSERT ON records FOR EACH ROW EXECUTE FUNCTION nothing()",
    ],
    "rule 'evil' on changes": ["CREATE RULE evil AS ON INSERT TO changes DO INSTEAD NOTHING"],
    "policy 'evil' on records": ["CREATE POLICY evil ON records USING (false)"],
    "row security 'records' on records": ["ALTER TABLE records ENABLE ROW LEVEL SECURITY"],
    "constraint 'evil' on meta": ["ALTER TABLE meta ADD CONSTRAINT evil CHECK (length(value) < 9999)"],
    "default or generated column 'undone' on events": ["ALTER TABLE events ALTER undone SET DEFAULT 1"],
    "default or generated column 'n' on records": [
        "ALTER TABLE records ADD n INT GENERATED ALWAYS AS (length(content)) STORED"
    ],
    "index 'evil' on records": ["CREATE INDEX evil ON records (length(content))"],
    "function 'nothing()'": [NOTHING],
    "function 'items(character varying[])'": [
        "CREATE FUNCTION items(x VARCHAR[]) RETURNS TABLE (value TEXT) LANGUAGE sql AS 'SELECT NULL::text'"
    ],
    "view or foreign table 'lost_marks' on lost_marks": [
        "ALTER TABLE lost_marks RENAME TO lost",
        "CREATE VIEW lost_marks AS SELECT * FROM lost",
    ],
}


@pytest.mark.parametrize("named", ATTACHED)
def test_what_somebody_attached_to_the_tables_is_found_and_nothing_is_restored_or_copied_there(
    opened, postgres_address, tmp_path, named
):
    opened.add("a")
    backup(opened.store, tmp_path / "backup.zip")
    assert not any(finding.problem for finding in examine(opened.store))
    run_in(postgres_address, *ATTACHED[named])
    assert named in [finding.problem for finding in examine(opened.store, fix=True)][-1]
    with pytest.raises(InvalidInput, match=r"objects that ATLAS did not create.*Nothing was restored"):
        restore(opened.store, tmp_path / "backup.zip")
    with Store.open(tmp_path / "copy") as target, pytest.raises(InvalidInput, match="Nothing was copied"):
        copy_store(opened.store, target)
    with pytest.raises(InvalidInput, match=r"objects that ATLAS did not create.*Nothing was copied"):
        backup(opened.store, tmp_path / "again.zip")


def test_an_index_that_follows_is_nothing_foreign(postgres_address):
    with Store.open(postgres_address, settings=Settings(exact_max_rows=2, index_lag_rows=1)) as store:
        Opened(store).add(*(f"r{number}" for number in range(9)))
        store.catch_up()
        assert store.collection(THINGS).parts.nearest.updater.checkpoint().revision == 9
        assert not any(finding.problem for finding in examine(store))


def test_a_checkpoint_of_an_index_that_is_none_is_an_empty_one(postgres_address):
    with Store.open(postgres_address, settings=Settings(exact_max_rows=2, index_lag_rows=1)) as store:
        opened = Opened(store)
        opened.add(*(f"r{number}" for number in range(9)))
        store.catch_up()
        run_in(postgres_address, "UPDATE index_seals SET seal = '{\"revision\": -1}'")
        assert opened.nearest("r3") == ["r3"]
        assert ["has no index" in finding.problem for finding in examine(store) if finding.problem] == [True]
        assert [finding.check for finding in examine(store, fix=True) if finding.is_fixed] == ["index"]


def test_a_checkpoint_ahead_of_the_ledger_is_mended_there_too(postgres_address):
    with Store.open(postgres_address, settings=Settings(exact_max_rows=2, index_lag_rows=1_000)) as store:
        opened = Opened(store)
        ids = [f"r{number}" for number in range(9)]
        opened.add(*ids[:6])
        store.catch_up()
        opened.add(*ids[6:])
        run_in(postgres_address, "UPDATE index_seals SET seal = replace(seal, '\"revision\": 6', '\"revision\": 1006')")
        assert [opened.nearest(i) for i in ids] == [[i] for i in ids]
        assert [finding.check for finding in examine(store, fix=True) if finding.is_fixed] == ["index"]
        assert not any(finding.problem for finding in examine(store))
