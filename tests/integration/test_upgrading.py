"""A store of either of the last two schema versions, on each engine, is upgraded when it is opened, without a loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import atlas
from atlas.access.keys import ApiKeys
from atlas.infra.actor import Role
from atlas.storage.maintenance.doctor import examine
from atlas.storage.postgres.schema import VERSION as POSTGRES_VERSION
from atlas.storage.sqlite.schema import SCHEMA_VERSION
from tests.support.records import attempt
from tests.support.sample import make_sample, opened
from tests.support.storage.engines import rows_of
from tests.support.storage.old_schemas import (
    make_postgres_version_3,
    make_postgres_version_4,
    make_version_4,
    make_version_5,
    schema_version,
)

Older = Callable[[Any], None]
MEMORIES = ("experience", "strategies", "concepts", "journal")


def facts(memory: atlas.MemorySystem) -> dict[str, Any]:
    """What a user can read of a store: records, marks, usage, links, history, judgements, keys and the audit log."""
    of_records = {}
    for name in MEMORIES:
        records = getattr(memory, name)
        ids = sorted(records.ids())
        of_records[name] = (
            {record.id: record for record in records.get_many(ids)},
            records.marks(ids),
            records.usage(ids),
            records.collection.uses(ids),
        )
    api_keys = ApiKeys(memory.storage.path)
    return of_records | {
        "history": {operation.id: (operation, memory.changes(operation.id, 200)) for operation in memory.history(200)},
        "links": [memory.journal.linked(entry_id) for entry_id in sorted(memory.journal.ids())],
        "found": [hit.item.id for hit in memory.experience.retrieve_words("report", 20).hits],
        "judged": memory.judgements(),
        "keys": api_keys.keys(),
        "audit": api_keys.audit.events(),
    }


def make_old(place: Path | str, older: Older) -> tuple[dict[str, Any], str]:
    """Make a store with something of everything in an older schema: what it contained, and its latest deletion."""
    make_sample(place)
    with opened(place) as memory:
        first, *_ = memory.experience.ids()
        memory.experience.change_marks([first], add_tags=["kept"], pinned=True)
        memory.experience.record_use(first, True, task_id="another")
        memory.journal.link(*sorted(memory.journal.ids())[:2])
        memory.undo(memory.history(1)[0].id)
        ApiKeys(memory.storage.path).add("crawler", Role.WRITER, created_by="tester")
        deletion = memory.experience.as_operation("delete", "old")
        deletion.delete([memory.experience.ids()[-1]])
        before = facts(memory)
    older(place)
    return before, str(deletion.operation_id)


def check_upgrade(place: Path | str, older: Older) -> None:
    """Open a store of an older schema twice, and use it."""
    before, deletion = make_old(place, older)
    with opened(place) as memory:
        assert facts(memory) == before
    with opened(place) as memory:
        memory.undo(deletion)
        assert memory.experience.count() == len(before["experience"][0]) + 1
        stored = memory.store(attempt("rotate the logs of the crawler"))["experience"]
        assert memory.experience.retrieve("rotate the logs of the crawler", 1).hits[0].item.id == stored
        memory.storage.catch_up()
        assert [finding for finding in examine(memory.storage) if finding.problem] == []


@pytest.mark.parametrize(
    ("older", "version"), [(make_version_5, SCHEMA_VERSION - 1), (make_version_4, SCHEMA_VERSION - 2)]
)
def test_a_directory_is_upgraded(tmp_path: Path, older: Older, version: int):
    check_upgrade(tmp_path / "store", older)
    assert schema_version(tmp_path / "store" / f"atlas.schema-{version}.sqlite") == version


@pytest.mark.parametrize(
    ("older", "version"),
    [(make_postgres_version_4, POSTGRES_VERSION - 1), (make_postgres_version_3, POSTGRES_VERSION - 2)],
)
def test_a_database_is_upgraded(postgres_address: str, older: Older, version: int):
    def aged(address: str) -> None:
        older(address)
        assert rows_of(address, "SELECT value FROM meta WHERE name = 'schema_version'") == [(str(version),)]

    check_upgrade(postgres_address, aged)
