"""A writer changes only the records that it stored, through every verb and door. A curator changes all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

import atlas
from atlas.access.keys import ApiKeys
from atlas.core.errors import NotAllowed
from atlas.core.operations import Operations
from atlas.core.types import Link
from atlas.infra.actor import Actor, Role, acting
from atlas.testing import HashEmbedder
from atlas.verbs.table import ROLES
from tests.support.calls import WRITES
from tests.support.everything import Abstractor, Ids, content, make_everything
from tests.support.mcp_clients import Connection, refused, said
from tests.support.records import attempt
from tests.support.sample import opened
from tests.support.serving import serving

EDITS = {
    *(f"{name}.{verb}" for name in ("experience", "strategies", "concepts", "journal") for verb in ("mark", "edit")),
    *(f"{name}.change_marks" for name in ("experience", "strategies", "concepts", "journal")),
    *("experience.apply_outcomes", "experience.report_outcomes", "strategies.retire", "strategies.unretire"),
    *("journal.link", "journal.unlink", "journal.accept_link", "journal.refuse_link", "journal.note_promotion"),
    "memory.apply_promotion",
}
"""Verbs of writers that change a record."""

ADDITIONS = {
    *(
        "memory.store",
        "memory.store_once",
        "memory.judge",
        "memory.undo",
        "memory.apply_undo",
    ),
    *(
        f"{name}.{verb}"
        for name in ("experience", "strategies", "concepts", "journal")
        for verb in ("record_use", "forget")
    ),
    *("experience.store", "experience.store_many", "strategies.add", "strategies.write", "strategies.apply_write"),
    *("strategies.update_stats", "concepts.update_stats", "concepts.add", "concepts.add_many"),
    *("journal.add", "journal.add_entries", "journal.accept"),
}
"""Verbs of writers that add records, count uses, or take back what is their own."""

AUTHOR = "tester"
"""Who stored all records of the tests' store that are not under review."""

BAKER, CURATOR = Actor("baker", Role.WRITER), Actor("baker", Role.CURATOR)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> tuple[Path, Ids]:
    """A store with something of every kind, and its ids."""
    store = tmp_path_factory.mktemp("owners") / "store"
    return store, make_everything(store)


@pytest.fixture
def store(prepared, tmp_path) -> Path:
    """A copy of that store."""
    copy: Path = shutil.copytree(prepared[0], tmp_path / "store")
    return copy


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    """An empty memory, which embeds by hashing."""
    with atlas.open_memory(tmp_path / "hashed", embedder=HashEmbedder()) as memory:
        yield memory


def test_every_verb_of_writers_edits_or_adds():
    of_writers = {name for name in WRITES if ROLES.get(name) == Role.WRITER}
    assert of_writers == EDITS | ADDITIONS


@pytest.mark.parametrize("name", sorted(EDITS))
@pytest.mark.parametrize(
    "actor",
    [Actor(AUTHOR, Role.WRITER), CURATOR, replace(CURATOR, role=Role.ADMIN)],
    ids=["author", "curator", "admin"],
)
def test_authors_and_curators_change_records(prepared, store, name, actor):
    with opened(store) as memory:
        before = content(store)
        with acting(actor):
            WRITES[name](memory, prepared[1])
        assert content(store) != before


@pytest.mark.parametrize("name", sorted(EDITS))
def test_a_writer_changes_no_record_of_others(prepared, store, name):
    with opened(store) as memory:
        before = content(store)
        with acting(BAKER), pytest.raises(NotAllowed, match="was stored by another actor, so baker may not change it"):
            WRITES[name](memory, prepared[1])
        assert content(store) == before


@pytest.mark.parametrize("name", sorted(ADDITIONS - {"memory.undo", "memory.apply_undo"}))
def test_a_writer_adds_to_the_records_of_others(prepared, store, name):
    with opened(store) as memory:
        before = content(store)
        with acting(BAKER):
            WRITES[name](memory, prepared[1])
        assert content(store) != before


@pytest.mark.parametrize("change", [{"suggestion": "delete all"}, {"metadata": {"scope.project": "nowhere"}}])
@pytest.mark.parametrize(("actor", "is_allowed"), [(BAKER, False), (CURATOR, True)], ids=["writer", "curator"])
def test_a_plan_to_write_strategies_changes_only_the_sources_of_others(store, actor, is_allowed, change):
    with opened(store) as memory:
        bank = memory.strategies.with_abstractor(Abstractor())
        bank.write(attempt("mend the ship"))
        plan = bank.plan_write([attempt("mend the ship")])
        [joined] = plan.joined
        forged = replace(plan, joined=(replace(joined, **change),))
        with (
            acting(actor),
            nullcontext()
            if is_allowed
            else pytest.raises(NotAllowed, match="was stored by another actor, so baker may not change it"),
        ):
            bank.apply_write(forged)
        if not is_allowed:
            with acting(actor):
                bank.apply_write(bank.plan_write([attempt("mend the ship")]))
        [(field, value)] = change.items()
        assert (getattr(bank.get(joined.id), field) == value) == is_allowed


DOORS = {
    "edit": ("PATCH", "/{memory}/{id}", {"fields": {"feedback": "mine"}}),
    "mark by PATCH": ("PATCH", "/{memory}/{id}", {"buried": True}),
    "mark": ("POST", "/{memory}/marks", {"ids": ["{id}"], "add_tags": ["mine"]}),
    "outcomes": ("POST", "/experience/outcomes", {"outcomes": {"{id}": False}}),
    "edit as a verb": ("POST", "/verbs/experience/edit", {"experience_id": "{id}", "changes": {"feedback": "mine"}}),
    "forget as a verb": ("POST", "/verbs/experience/forget", {"ids": ["{id}"]}),
    "delete as a verb": ("POST", "/verbs/experience/delete", {"ids": ["{id}"]}),
}
"""Requests that change a record, by what they do."""

TOOLS = {
    "edit": {"id": "{id}", "changes": {"feedback": "mine"}},
    "mark": {"ids": ["{id}"], "buried": True},
    "report_outcomes": {"outcomes": {"{id}": False}},
    "forget": {"ids": ["{id}"]},
}
"""Tools that change a record, with their arguments."""


def about(value: Any, record_id: str) -> Any:
    """A request with the id of a record in its place."""
    return json.loads(json.dumps(value).replace("{id}", record_id).replace("{memory}", "experience"))


@pytest.mark.parametrize("role", [Role.WRITER, Role.CURATOR], ids=str)
@pytest.mark.parametrize("name", DOORS)
def test_a_request_of_a_writer_changes_only_its_own_records(memory, role, name):
    others = memory.store(attempt("of others"))["experience"]
    secret = ApiKeys(memory.storage.path).add("baker", role, created_by="owner")[1]
    with acting(BAKER):
        own = memory.store(attempt("of its own"))["experience"]
    method, path, body = DOORS[name]
    with serving(memory) as address, httpx.Client(headers={"Authorization": f"Bearer {secret}"}) as client:

        def status(record_id: str) -> int:
            url = f"{address}/api/v1{about(path, record_id)}"
            return client.request(method, url, json=about(body, record_id)).status_code

        assert status(others) == (200 if role is Role.CURATOR else 403)
        assert status(own) == (403 if name == "delete as a verb" and role is Role.WRITER else 200)


@pytest.mark.parametrize("role", [Role.WRITER, Role.CURATOR], ids=str)
def test_a_tool_of_a_writer_changes_only_its_own_records(memory, role):
    others = memory.store(attempt("of others"))["experience"]
    secret = ApiKeys(memory.storage.path).add("baker", role, created_by="owner")[1]
    with acting(BAKER):
        own = memory.store(attempt("of its own"))["experience"]
    before = memory.experience.get(others)

    async def work(client: Client) -> None:
        for tool, arguments in TOOLS.items():
            if role is Role.WRITER:
                assert "was stored by another actor, so baker may not change it" in await refused(
                    client, tool, **about(arguments, others)
                )
            else:
                await said(client, tool, **about(arguments, others))
            await said(client, tool, **about(arguments, own))

    with serving(memory) as address:
        Connection("auto", address=address, key=secret).run(work)
    assert memory.experience.get(own) is None
    assert memory.experience.get(others) == (before if role is Role.WRITER else None)


def test_a_writer_takes_back_what_it_added_to_records_of_others(store):
    with opened(store) as memory:
        bank = memory.strategies.with_abstractor(Abstractor())
        bank.write(attempt("mend the ship"))
        with acting(BAKER):
            bank.write(attempt("mend the ship"))
            [operation] = memory.history(1)
            [strategy] = [each for each in bank.get_many(bank.ids()) if len(each.sources) == 2]
            memory.undo(operation.id)
        assert len(bank.get(strategy.id).sources) == 1


def test_a_former_curator_does_not_take_back_its_changes_to_records_of_others(memory):
    others = memory.store(attempt("of others"))["experience"]
    with acting(CURATOR):
        memory.experience.edit(others, feedback="mine")
    [operation] = memory.history(1)
    of_baker = Operations(actor="baker")
    with acting(BAKER):
        with pytest.raises(NotAllowed, match="was stored by another actor, so baker may not change it"):
            memory.undo(operation.id)
        plan = memory.plan_undo(of_baker)
        assert [each.id for each, _ in plan.refused] == [operation.id]
        memory.apply_undo(of_baker, plan)
    assert memory.experience.get(others).feedback == "mine"
    with acting(CURATOR):
        memory.undo(operation.id)
    assert memory.experience.get(others).feedback == ""


def test_a_writer_adds_no_links_to_entries_of_others_by_storing_them_again(memory):
    first, second = (
        memory.journal.add("observation", text, generation=1) for text in ("the oven is hot", "the dough is cold")
    )
    linked = replace(memory.journal.get(first), links=(Link("refers_to", second),))
    with acting(BAKER), pytest.raises(NotAllowed, match="was stored by another actor, so baker may not change it"):
        memory.journal.add_entries([linked])
    assert memory.journal.get(first).links == ()


def test_a_writers_entry_between_those_of_others_can_be_edited_and_forgotten(memory):
    """The indexed texts of later entries contain its beginning, and are renewed."""
    notes = ["the oven is hot", "the dough is cold", "the bread is done"]
    with acting(BAKER):
        own = memory.journal.add("observation", notes[0], generation=1)
    others = [memory.journal.add("observation", note, generation=1) for note in notes[1:]]
    with acting(BAKER):
        memory.journal.edit(own, content="the stove is hot")
        assert memory.journal.forget([own]) == 1
    assert [entry.content for entry in memory.journal.get_many(others)] == notes[1:]
