"""Protea's memories come in as entries of the journal, whole, once, and while Protea runs."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime

import pytest

import atlas
from atlas.core.errors import ImportFailed
from atlas.core.journal_codec import TIERS
from atlas.core.settings import Settings
from atlas.core.types import Link
from atlas.importers import Limits, detect, import_paths
from atlas.importers.fields import abbreviate
from atlas.importers.registry import all_formats
from atlas.importers.sink import MemorySink
from atlas.testing import HashEmbedder
from tests.support.protea import EARLY, LATE, protea, put, row


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=Settings()) as opened:
        yield opened


def run(memory, *paths):
    sink = MemorySink(memory, "a test")
    return import_paths(sink, list(paths), settings=Settings()), sink


def read(path):
    rows = list(detect(path).read(path, Limits()))
    return [one.item for one in rows if one.item], [(one.position, one.reason) for one in rows if not one.item]


def rows_of(path, columns):
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(f"SELECT {columns} FROM memory ORDER BY id").fetchall()


def test_a_row_of_the_early_form_is_an_entry_and_its_importance_follows_from_what_it_is(tmp_path):
    path = protea(
        tmp_path / "a.sqlite", [{"generation": 7, "metadata": '{"user": "ada"}'}, {"entry_type": "directive"}]
    )
    [task, directive], odd = read(path)
    assert odd == []
    assert (task.entry_type, task.content, task.generation) == ("task", "User asked: task 1", 7)
    assert task.created_at == datetime(2026, 2, 1, 11, 6, tzinfo=UTC)
    log = task.metadata["protea_log"]
    assert task.metadata == {"user": "ada", "protea_file": "a.sqlite", "protea_row": 1, "protea_log": log}
    assert task.tier == "hot"
    assert directive.importance > task.importance


def test_what_protea_summed_up_is_linked_to_its_summary(tmp_path):
    path = protea(tmp_path / "a.sqlite", [{}, {}, {"metadata": '{"archived_ids": [2, 1, 9, 3, "x", 2]}'}], columns=LATE)
    [first, second, summary], odd = read(path)
    assert odd == []
    assert summary.links == (Link("summarises", second.id), Link("summarises", first.id))


def test_columns_of_no_name_of_ours_come_as_metadata_but_for_vectors(tmp_path):
    path = protea(
        tmp_path / "a.sqlite",
        [{"keywords": "count vowels", "embedding": "[0.1]"}, {}],
        columns={**LATE, '"my note"': "INTEGER"},
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute('UPDATE memory SET "my note" = 7 WHERE id = 1')
    [first, second], odd = read(path)
    assert odd == []
    assert (first.metadata["protea_keywords"], first.metadata["protea_my note"]) == ("count vowels", 7)
    assert set(first.metadata) - set(second.metadata) == {"protea_keywords", "protea_my note"}
    assert "protea_embedding" not in first.metadata


def test_what_protea_noted_of_a_row_under_names_of_ours_stays(tmp_path):
    noted = {"file": "parser.py", "row": 17, "origin": "user"}
    [entry], _ = read(protea(tmp_path / "a.sqlite", [{"metadata": json.dumps(noted)}]))
    assert {name: entry.metadata[name] for name in noted} == noted


def test_a_row_that_two_logs_have_in_common_is_two_entries(memory, tmp_path):
    logs = [protea(tmp_path / f"{name}.sqlite", [{"content": name}, {"content": "both say this"}]) for name in "ab"]
    report, _ = run(memory, *logs)
    assert (report.added, report.skipped) == (4, 0)
    moved = logs[0].rename(tmp_path / "c.sqlite")
    with closing(sqlite3.connect(moved)) as connection, connection:
        put(connection, row(3))
    again, _ = run(memory, moved)
    assert (again.added, again.skipped) == (1, 2), "the same log in another place"


SOME_AND_ALL = pytest.mark.parametrize("after", [600, pytest.param(0, marks=pytest.mark.slow)], ids=["some", "all"])
"""The rows of the real files to read: those after this one."""


def rows_after(number, path, directory):
    """A real file with the rows after one, and the links between these."""
    if not number:
        return path
    copy = directory / path.name
    copy.write_bytes(path.read_bytes())
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("DELETE FROM memory WHERE id <= ?", (number,))
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory_links'").fetchone():
            connection.execute("DELETE FROM memory_links WHERE source_id <= ? OR target_id <= ?", (number, number))
    return copy


@SOME_AND_ALL
def test_every_row_of_both_real_files_comes_over_into_one_store(memory, real_data, tmp_path, after):
    paths = [rows_after(after, path, tmp_path) for path in sorted((real_data / "protea").glob("*.sqlite"))]
    n = 1_437 - 2 * after
    report, _ = run(memory, *paths)
    assert (report.read, report.added, report.rejected) == (n, n, 0)


def test_importance_tier_and_links_of_the_later_form_come_over(tmp_path):
    given = [{"importance": 0.15, "tier": "archive"}, {"importance": 0.8, "tier": "warm"}]
    path = protea(tmp_path / "a.sqlite", given, [(2, 1, "related")], LATE)
    [first, second], odd = read(path)
    assert odd == []
    assert [(entry.importance, entry.tier) for entry in (first, second)] == [(0.15, "archived"), (0.8, "warm")]
    assert second.links == (Link("related", first.id),)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"entry_type": None}, "expected a string for entry_type, got nothing"),
        ({"content": "  "}, "expected a string that is not blank for an entry's content"),
        ({"content": b"\xff"}, "content is not UTF-8"),
        ({"generation": None}, "expected a whole number for an entry's generation"),
        ({"generation": "many"}, "expected a whole number for an entry's generation"),
        ({"timestamp": "yesterday"}, "expected an ISO 8601 time such as"),
        (
            {"metadata": '{"protea_row": 9}'},
            "metadata has the key 'protea_row', which is reserved for the source of an entry",
        ),
        ({"metadata": "[1]"}, "expected an object for metadata"),
        ({"importance": 7.0}, "expected a number from 0 to 1 for an importance"),
        ({"tier": "lukewarm"}, "expected one of hot, warm"),
    ],
)
def test_an_odd_row_is_reported_and_the_others_come_in(tmp_path, changes, reason):
    path = protea(tmp_path / "a.sqlite", [changes, {}], columns=LATE)
    if changes.get("content") == b"\xff":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE memory SET content = CAST(x'ff' AS TEXT) WHERE id = 1")
    entries, [(position, message)] = read(path)
    assert (len(entries), position) == (1, 1)
    assert reason in message


@pytest.mark.parametrize("content", [7, 0.5])
def test_a_content_that_is_no_text_stops_no_other_row(tmp_path, content):
    columns = {**EARLY, "content": "ANY"}
    entries, odd = read(protea(tmp_path / "a.sqlite", [{"content": content}, {}], columns=columns))
    assert (len(entries), odd) == (1, [(1, f"expected a string for content, got {abbreviate(content)}")])


@pytest.mark.parametrize("name", ["generation", "metadata", "timestamp"])
def test_a_missing_column_is_reported_and_the_rows_come_in(memory, tmp_path, name):
    columns = {column: kind for column, kind in LATE.items() if column != name}
    path = protea(tmp_path / "a.sqlite", [{}, {}], [(1, 2, "related")], columns)
    report, _ = run(memory, path)
    assert (report.added, report.rejected) == (2, 1)
    assert f"has no column `{name}`" in report.rejections[0].reason
    assert sorted(len(entry.links) for entry in memory.journal.recent(2)) == [0, 1]
    again, _ = run(memory, path)
    assert (again.added, again.skipped) == (0, 2)


def test_a_table_without_what_makes_a_row_an_entry_is_refused(tmp_path):
    columns = {column: kind for column, kind in EARLY.items() if column != "content"}
    with pytest.raises(ImportFailed, match="without a Protea table"):
        list(all_formats()["protea"].read(protea(tmp_path / "a.sqlite", columns=columns), Limits()))


def test_an_odd_link_is_reported(tmp_path):
    path = protea(tmp_path / "a.sqlite", [{}, {}], [(1, 9, "related"), (1, 2, "knows"), (2, 1, "caused_by")], LATE)
    [first, second], odd = read(path)
    assert [position for position, _ in odd] == [0, 0]
    assert "1 → 9" in odd[0][1]
    assert (first.links, second.links) == ((), (Link("caused_by", first.id),))


def test_another_database_is_none_of_protea(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE other (id INTEGER)")
    with pytest.raises(ImportFailed, match="is in an unknown format"):
        detect(tmp_path / "a.sqlite")
    with pytest.raises(ImportFailed, match="without a Protea table"):
        list(all_formats()["protea"].read(tmp_path / "a.sqlite", Limits()))


def test_a_damaged_database_is_reported(memory, tmp_path):
    path = protea(tmp_path / "a.sqlite", [{"content": "x" * 9_000}] * 20)
    path.write_bytes(path.read_bytes()[:20_000])
    report, _ = run(memory, path)
    assert (report.added, report.rejected) == (report.read, 1)


@pytest.mark.parametrize("wal", [False, True])
def test_it_is_read_while_protea_runs_and_importing_again_adds_only_what_is_new(memory, tmp_path, wal):
    (tmp_path / "run").mkdir()
    path = protea(tmp_path / "run" / "a.sqlite", wal=wal)
    with closing(sqlite3.connect(path, isolation_level=None)) as running:
        put(running, row(2))
        if wal:
            running.execute("BEGIN IMMEDIATE")  # it writes just now; what it has not committed does not count yet
            put(running, row(3))
        first, _ = run(memory, tmp_path / "run")
        if wal:
            running.execute("COMMIT")
        put(running, row(4))
        second, _ = run(memory, tmp_path / "run")
    assert (first.added, first.rejected, first.files) == (2, 0, 1)
    assert (second.added, second.skipped) == (1 + wal, 2)


@pytest.mark.parametrize("wal", [False, True])
def test_protea_can_write_while_its_rows_are_taken_in(tmp_path, wal):
    path = protea(tmp_path / "a.sqlite", [{"content": "x" * 9_000}] * 20, wal=wal)
    rows = detect(path).read(path, Limits())
    next(rows)
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as running:
        put(running, row(21))
    assert len(list(rows)) == 19, "one state of it, whatever comes meanwhile"


def test_a_database_that_somebody_keeps_locked_is_not_read_half_written(tmp_path, monkeypatch):
    monkeypatch.setattr("atlas.importers.formats.protea.LOCK_TIMEOUT_SECONDS", 0.0)
    path = protea(tmp_path / "a.sqlite")
    lines = ["import sqlite3, sys", "c = sqlite3.connect(sys.argv[1])", "c.execute('BEGIN EXCLUSIVE')"]
    command = [sys.executable, "-c", "\n".join([*lines, "print(flush=True)", "input()"]), str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(ImportFailed, match="database is locked"):
            list(all_formats()["protea"].read(path, Limits()))
        other.communicate(b"\n")


def test_whatever_protea_writes_during_imports_has_come_in_once_it_is_done(memory, tmp_path):
    path, n_rows = protea(tmp_path / "a.sqlite", wal=True), 200

    def write():
        with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as running:
            for number in range(2, n_rows + 1):
                put(running, row(number))

    writer = threading.Thread(target=write)
    writer.start()
    reports = []
    while writer.is_alive():
        reports.append(run(memory, path)[0])
    writer.join()
    reports.append(run(memory, path)[0])
    assert sum(report.added for report in reports) == len(memory.journal) == n_rows
    assert [report.rejected for report in reports] == [0] * len(reports)


def test_a_link_from_an_entry_that_came_before_to_one_that_is_new_comes_in(memory, tmp_path):
    path = protea(tmp_path / "a.sqlite", [{}, {}], [(1, 2, "related")], LATE)
    run(memory, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        put(connection, row(3), LATE)
        connection.execute("INSERT INTO memory_links VALUES (1, 3, 'fixed_by')")
    third, second, first = memory_rows(memory, path)
    assert first.links == (Link("related", second.id), Link("fixed_by", third.id))
    memory.journal.unlink(first.id, third.id)
    assert memory_rows(memory, path)[-1].links == (Link("related", second.id),), (
        "taken back by a person, and no new one"
    )


def test_a_link_between_two_entries_that_came_before_comes_in(memory, tmp_path):
    path = protea(tmp_path / "a.sqlite", [{}, {}, {}], [(1, 2, "related")], LATE)
    _, second, first = memory_rows(memory, path)
    memory.journal.unlink(first.id, second.id)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO memory_links VALUES (1, 3, 'fixed_by')")
    third, _, first = memory_rows(memory, path)
    assert first.links == (Link("fixed_by", third.id),), "the new one, and not the one that a person took back"
    memory.journal.unlink(first.id, third.id)
    assert memory_rows(memory, path)[-1].links == ()


def memory_rows(memory, path):
    """The entries, newest row first, after an import."""
    run(memory, path)
    return sorted(memory.journal.recent(10), key=lambda entry: -entry.metadata["protea_row"])


def test_a_row_that_protea_weighs_anew_is_still_the_same(memory, tmp_path):
    path = protea(tmp_path / "a.sqlite", [{"importance": 0.5}], columns=LATE)
    run(memory, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE memory SET importance = 0.9, tier = 'cold'")
    report, _ = run(memory, path)
    assert (report.added, report.skipped) == (0, 1)


@pytest.mark.parametrize(
    "change", ["DELETE FROM memory WHERE id <= 3", "UPDATE memory SET content = 'again' WHERE id = 1"]
)
def test_a_log_whose_first_rows_are_gone_or_reworded_is_still_the_same(memory, tmp_path, change):
    path = protea(tmp_path / "a.sqlite", [{}] * 10, [(5, 6, "related")], LATE)
    run(memory, path)
    log = set(memory.journal.values("meta.protea_log"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
        put(connection, row(11), LATE)
        connection.execute("INSERT INTO memory_links VALUES (11, 6, 'fixed_by')")
    report, _ = run(memory, path.rename(tmp_path / "moved.sqlite"))
    is_reworded = change.startswith("UPDATE")
    assert (report.added, report.skipped) == (1 + is_reworded, 9 if is_reworded else 7)
    assert set(memory.journal.values("meta.protea_log")) == log
    newest, *others = sorted(memory.journal.recent(20), key=lambda entry: -entry.metadata["protea_row"])
    (sixth,) = [entry for entry in others if entry.metadata["protea_row"] == 6]
    assert newest.links == (Link("fixed_by", sixth.id),)


def test_another_log_that_has_a_row_in_common_with_one_is_another(memory, tmp_path):
    paths = [
        protea(tmp_path / f"{name}.sqlite", [{"content": f"{name}{n}" if n != 3 else "wake up"} for n in range(10)])
        for name in "ab"
    ]
    reports = [run(memory, path)[0] for path in (*paths, *paths)]
    assert [report.added for report in reports] == [10, 10, 0, 0]


def test_keys_that_the_journal_itself_writes_come_in_under_another_name(memory, tmp_path):
    path = protea(tmp_path / "a.sqlite", [{"metadata": '{"refused_links": ["related:x"], "promoted_to": 3}'}])
    (entry,) = memory_rows(memory, path)
    assert entry.metadata["protea_refused_links"] == ["related:x"]
    assert not {"refused_links", "promoted_to"} & set(entry.metadata)


def test_a_database_in_wal_mode_in_a_place_that_nobody_may_write_to_is_read(tmp_path):
    (tmp_path / "ro").mkdir()
    path = protea(tmp_path / "ro" / "a.sqlite", wal=True)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        entries, odd = read(path)
    finally:
        path.parent.chmod(0o755)
    assert (len(entries), odd) == (1, [])


@SOME_AND_ALL
@pytest.mark.parametrize(("name", "n_links"), [("protea_v1.sqlite", 0), ("protea_v2.sqlite", 3_287 + 196)])
def test_every_row_type_generation_timestamp_importance_tier_and_link_of_the_real_files_comes_over(
    memory, real_data, tmp_path, name, n_links, after
):
    path = rows_after(after, real_data / "protea" / name, tmp_path)
    is_later = name == "protea_v2.sqlite"
    columns = "id, generation, entry_type, content, timestamp" + (", importance, tier" if is_later else "")
    expected = rows_of(path, columns)
    report, _ = run(memory, path)
    assert (report.read, report.added, report.added_entries, report.rejected) == (len(expected),) * 3 + (0,)
    entries = {entry.metadata["protea_row"]: entry for entry in memory.journal.get_many(memory.journal.ids())}
    came = [
        (number, e.generation, e.entry_type, e.content, f"{e.created_at:%Y-%m-%d %H:%M:%S}")
        + ((e.importance, "archive" if e.tier == TIERS[-1] else e.tier) if is_later else ())
        for number, e in sorted(entries.items())
    ]
    assert came == expected
    if is_later:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            links = set(connection.execute("SELECT source_id, target_id, link_type FROM memory_links"))
            sources = json.loads(connection.execute("SELECT metadata FROM memory WHERE id = 744").fetchone()[0])
            keywords = dict(connection.execute("SELECT id, keywords FROM memory"))
        number_of = {entry.id: number for number, entry in entries.items()}
        came_links = {(n, number_of[link.target_id], link.type) for n, e in entries.items() for link in e.links}
        summed_up = {source for source in sources["archived_ids"] if source > after}
        assert came_links == links | {(744, source, "summarises") for source in summed_up}
        assert len(came_links) == (n_links if not after else 325 + 37)
        assert {n: e.metadata.get("protea_keywords", "") for n, e in entries.items()} == keywords
    again, _ = run(memory, path)
    assert (again.added, again.skipped) == (0, len(expected))


def test_an_import_of_a_memory_is_one_operation_that_can_be_undone(memory, tmp_path):
    _, sink = run(memory, protea(tmp_path / "a.sqlite", [{}, {}]))
    assert len(memory.journal) == 2
    memory.undo(sink.operation_id)
    assert len(memory.journal) == 0
