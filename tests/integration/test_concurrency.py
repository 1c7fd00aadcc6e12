"""Several processes write, read and mark one store at once: nothing is lost, and everything is found at once."""

from __future__ import annotations

import json

import pytest

from atlas.core.operations import Marks
from atlas.storage.maintenance.doctor import examine
from tests.support.processes.conversation import hear, listen, start_together, tell
from tests.support.processes.workers import attempt, opened
from tests.support.storage.old_schemas import make_version_1, schema_version

N_WRITERS = 4


@pytest.mark.parametrize(("n_writes", "is_indexed"), [(80, ""), (60, "indexed")])
def test_every_record_that_a_process_has_acknowledged_is_found_by_another_ones_next_query(
    start, place, n_writes, is_indexed
):
    path = place
    opened(path).close()
    writers = [start("write", path, f"w{i}", n_writes, is_indexed) for i in range(N_WRITERS)]
    reader = start("ask", path, is_indexed)
    assert hear(reader) == "ready"
    start_together(writers)
    acknowledged, missed = {}, []
    for line in listen(writers):
        record_id, name = line.split()
        acknowledged[record_id] = name
        if len(acknowledged) % 3 == 0:  # asking for each one would make the reader the slowest
            tell(reader, line)
            if (answer := hear(reader)) != "found":
                missed.append(answer)
    assert [writer.wait() for writer in writers] == [0] * N_WRITERS
    assert missed == []
    assert len(acknowledged) == N_WRITERS * n_writes
    for record_id, name in acknowledged.items():
        tell(reader, f"{record_id} {name}")
    answers = [hear(reader) for _ in acknowledged]
    assert [answer for answer in answers if answer != "found"] == []
    with opened(path, is_indexed=bool(is_indexed)) as memory:
        assert len(memory.experience) == len(acknowledged)
        assert {row["id"] for row in memory.experience.browse()} == set(acknowledged)
        operations = memory.history(limit=10_000)
        assert sum(operation.counts["added"] for operation in operations) == len(acknowledged)


def test_processes_that_follow_with_the_index_at_once_leave_a_right_one(start, tmp_path):
    path = tmp_path / "store"
    opened(path, is_indexed=True).close()
    writers = [start("write", path, f"w{i}", 60, "indexed") for i in range(N_WRITERS)]
    start_together(writers)
    written = [line.split() for writer in writers for line in iter(lambda writer=writer: hear(writer), "")]
    assert [writer.wait() for writer in writers] == [0] * N_WRITERS
    assert len(written) == N_WRITERS * 60
    with opened(path, is_indexed=True) as memory:
        nearest = memory.storage.collection("atlas_experiences").parts.nearest
        checkpoint, now = nearest.updater.checkpoint(), memory.storage.ledger.position("atlas_experiences")
        n_vectors = memory.storage.ledger.vectors.count("atlas_experiences")
        assert n_vectors > len(written) == len(memory.experience)
        assert (checkpoint.ledger_id, checkpoint.revision, checkpoint.n_keys) == (
            now.ledger_id,
            now.revision,
            n_vectors,
        )
        n_first = 0
        for record_id, name in written[::4]:
            (hit,) = memory.experience.search_hits(f"task {name}", 1)
            n_first += hit.item.id == record_id
        assert n_first >= 0.99 * len(written[::4])


def test_marks_that_processes_set_at_once_are_all_kept(start, place):
    path = place
    with opened(path) as memory:
        shared, *own = memory.experience.store_many([attempt(f"t{i}") for i in range(81)])
    shares = [own[i::N_WRITERS] for i in range(N_WRITERS)]
    markers = [
        start("mark", path, f"w{i}", *[name for record_id in share for name in (record_id, shared)])
        for i, share in enumerate(shares)
    ]
    start_together(markers)
    assert [len(list(iter(lambda marker=marker: hear(marker), ""))) for marker in markers] == [40] * N_WRITERS
    assert [marker.wait() for marker in markers] == [0] * N_WRITERS
    with opened(path) as memory:
        expected = {
            record_id: Marks(tags=(f"w{i}",), note=record_id) for i, share in enumerate(shares) for record_id in share
        }
        assert memory.experience.marks(own) == expected
        changes = [operation for operation in memory.history(1_000) if operation.kind == "mark"]
        assert len(changes) == 2 * len(own)
        with memory.storage.ledger.database.read() as connection:
            sql = "SELECT before FROM changes WHERE record_id = ? AND aspect = 'marks' ORDER BY seq DESC LIMIT 1"
            assert connection.execute(sql, (shared,)).fetchone()
        assert memory.experience.marks([shared])[shared].note == shared


def test_marks_that_processes_set_while_their_file_is_spoilt_again_and_again_are_all_in_it_in_the_end(start, tmp_path):
    path = tmp_path / "store"
    with opened(path) as memory:
        ids = memory.experience.store_many([attempt(f"t{i}") for i in range(20)])
    taggers = [start("tag", path, f"w{i}", 10, *ids) for i in range(N_WRITERS)]
    start_together(taggers)
    file = path / "experiences_meta.json"
    for _ in range(10):
        for tagger in taggers:
            hear(tagger)
            file.write_text('{"marks": {')
    assert [tagger.wait() for tagger in taggers] == [0] * N_WRITERS
    expected = {f"w{i}-{j}" for i in range(N_WRITERS) for j in range(10)}
    with opened(path) as memory:
        assert [set(marks.tags) for marks in memory.experience.marks(ids).values()] == [expected] * 20
        memory.storage.marks_files.finish()
        rows = json.loads(file.read_text(encoding="utf-8"))["marks"].values()
        assert {row["id"]: set(row["tags"]) for row in rows} == dict.fromkeys(ids, expected)
        assert {operation.actor for operation in memory.history(1_000)} == {memory.storage.settings.actor}


def test_tags_that_processes_add_to_the_same_records_at_once_are_all_kept(start, tmp_path):
    path = tmp_path / "store"
    with opened(path) as memory:
        ids = memory.experience.store_many([attempt(f"t{i}") for i in range(3)])
    taggers = [start("tag", path, f"w{i}", 10, *ids) for i in range(N_WRITERS)]
    start_together(taggers)
    assert [len(list(iter(lambda tagger=tagger: hear(tagger), ""))) for tagger in taggers] == [10] * N_WRITERS
    assert [tagger.wait() for tagger in taggers] == [0] * N_WRITERS
    expected = {f"w{i}-{j}" for i in range(N_WRITERS) for j in range(10)}
    with opened(path) as memory:
        assert {record_id: set(marks.tags) for record_id, marks in memory.experience.marks(ids).items()} == (
            dict.fromkeys(ids, expected)
        )


def test_processes_that_create_the_same_store_at_once_all_write_into_it(start, tmp_path):
    for attempt_number in range(2):
        path = tmp_path / f"store{attempt_number}"
        creators = [start("create", path) for _ in range(N_WRITERS)]
        start_together(creators)
        written = {hear(creator) for creator in creators}
        assert [creator.wait() for creator in creators] == [0] * N_WRITERS
        with opened(path) as memory:
            assert {row["id"] for row in memory.experience.browse()} == written
            assert len(written) == N_WRITERS
            assert memory.storage.model.name == "hash"
        assert (path / "store.json").exists()


def test_words_are_found_by_another_process_as_soon_as_they_are_acknowledged(start, tmp_path):
    path = tmp_path / "store"
    opened(path).close()
    writers = [start("write", path, f"w{i}", 40) for i in range(N_WRITERS)]
    with opened(path) as memory:
        start_together(writers)
        missed = []
        for line in listen(writers):
            record_id, name = line.split()
            if record_id not in [experience.id for experience in memory.experience.search_words(name, N_WRITERS)]:
                missed.append(name)
        assert missed == []
        assert memory.experience.count() == 40 * N_WRITERS
    assert [writer.wait() for writer in writers] == [0] * N_WRITERS


def test_processes_that_open_a_store_of_an_older_version_at_once_bring_it_up_to_date_once(start, tmp_path):
    path = tmp_path / "store"
    with opened(path) as memory:
        memory.experience.store(attempt("getUserById"))
    make_version_1(path)
    writers = [start("write", path, f"w{i}", 5) for i in range(N_WRITERS)]
    start_together(writers)
    written = [line.split() for writer in writers for line in iter(lambda writer=writer: hear(writer), "")]
    assert [writer.wait() for writer in writers] == [0] * N_WRITERS
    assert len(written) == 5 * N_WRITERS
    with opened(path) as memory:
        assert memory.experience.count() == 1 + len(written)
        assert len(memory.experience.search_words("get_user_by_id")) == 1
        assert [finding.problem for finding in examine(memory.storage) if finding.check == "keyword search"] == [""]
    assert schema_version(path / "atlas.schema-1.sqlite") == 1
