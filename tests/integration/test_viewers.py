"""A viewer changes nothing by any call of the library, whatever leads to it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import atlas
from atlas import Operations
from atlas.core.errors import NotAllowed
from atlas.infra.actor import Actor, Role, acting
from atlas.memory.experience.refinement.heuristic import HeuristicRefineStrategy
from atlas.primitives.swe.loader import SWEPrimitiveLoader
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.maintenance.freeze import freeze
from atlas.views.settings import keys, links, people
from tests.support.everything import Abstractor, Ids, Loader, content, make_everything, strategy
from tests.support.records import attempt, concept
from tests.support.sample import EMBEDDER, opened

VIEWER, ADMIN = Actor("vera", Role.VIEWER), Actor("root", Role.ADMIN)
MEMORIES = ("experience", "strategies", "concepts", "journal")

Call = Callable[[atlas.MemorySystem, Ids], object]


def of_each(name: str) -> dict[str, Call]:
    """Calls that each kind of memory has, on one record of it."""

    def of(memory: atlas.MemorySystem) -> Any:
        return getattr(memory, name)

    return {
        f"{name}.change_marks": lambda memory, ids: of(memory).change_marks([ids[name]], add_tags=["mine"]),
        f"{name}.mark": lambda memory, ids: of(memory).mark({ids[name]: atlas.Marks(note="mine")}),
        f"{name}.delete": lambda memory, ids: of(memory).delete([ids[name]]),
        f"{name}.restore": lambda memory, ids: of(memory).restore([ids[f"deleted {name}"]]),
        f"{name}.record_use": lambda memory, ids: of(memory).record_use(ids[name], True, task_id="t"),
        f"{name}.release": lambda memory, ids: of(memory).release([ids[f"held {name}"]]),
    }


LATEST = Operations(actor="tester")


WRITES: dict[str, Call] = {
    **{call: run for name in MEMORIES for call, run in of_each(name).items()},
    "memory.store": lambda memory, _: memory.store(attempt("new")),
    "memory.store_once": lambda memory, _: memory.store_once(attempt("new")),
    "memory.judge": lambda memory, ids: memory.judge("a query", ids["experience"], True),
    "memory.undo": lambda memory, _: memory.undo(memory.history(1)[0].id),
    "memory.apply_undo": lambda memory, _: memory.apply_undo(LATEST, memory.plan_undo(LATEST)),
    "memory.apply_promotion": lambda memory, ids: memory.apply_promotion(memory.plan_promotion(ids["crash"])),
    "memory.apply_purge": lambda memory, ids: memory.apply_purge(memory.plan_purge([ids["experience"]])),
    "experience.store": lambda memory, _: memory.experience.store(attempt("new")),
    "experience.store_many": lambda memory, _: memory.experience.store_many([attempt("new")]),
    "experience.edit": lambda memory, ids: memory.experience.edit(ids["experience"], feedback="better"),
    "experience.merge": lambda memory, ids: memory.experience.merge(ids["alike"]),
    "experience.apply_merge": lambda memory, ids: memory.experience.apply_merge(
        memory.experience.plan_merge([ids["alike"]])
    ),
    "experience.apply_outcomes": lambda memory, ids: memory.experience.apply_outcomes(
        memory.experience.plan_outcomes([ids["experience"]], None)
    ),
    "experience.prune": lambda memory, _: memory.experience.prune({"min_success_rate": 0.5}),
    "experience.apply_prune": lambda memory, _: memory.experience.apply_prune(
        memory.experience.plan_prune({"min_success_rate": 0.5})
    ),
    "experience.apply_refine": lambda memory, ids: memory.experience.apply_refine(
        memory.experience.plan_refine(ids["alike"], HeuristicRefineStrategy(EMBEDDER))
    ),
    "experience.restore_many": lambda memory, ids: memory.experience.restore_many(ids["exported experience"]),
    "strategies.add": lambda memory, _: memory.strategies.add(strategy("another page")),
    "strategies.edit": lambda memory, ids: memory.strategies.edit(ids["strategies"], suggestion="cache it twice"),
    "strategies.write": lambda memory, _: memory.strategies.with_abstractor(Abstractor()).write(attempt("new")),
    "strategies.apply_write": lambda memory, _: memory.strategies.apply_write(
        memory.strategies.with_abstractor(Abstractor()).plan_write([attempt("new")])
    ),
    "strategies.merge": lambda memory, ids: memory.strategies.merge(ids["two strategies"]),
    "strategies.apply_merge": lambda memory, ids: memory.strategies.apply_merge(
        memory.strategies.plan_merge([ids["two strategies"]])
    ),
    "strategies.update_stats": lambda memory, ids: memory.strategies.update_stats(ids["strategies"], True),
    "strategies.retire": lambda memory, ids: memory.strategies.retire([ids["strategies"]]),
    "strategies.unretire": lambda memory, ids: memory.strategies.unretire([ids["retired"]]),
    "strategies.restore_many": lambda memory, ids: memory.strategies.restore_many(ids["exported strategies"]),
    "concepts.add": lambda memory, _: memory.concepts.add(concept(7)),
    "concepts.add_many": lambda memory, _: memory.concepts.add_many([concept(8)]),
    "concepts.edit": lambda memory, ids: memory.concepts.edit(ids["concepts"], description="Does it well"),
    "concepts.update_stats": lambda memory, ids: memory.concepts.update_stats(ids["concepts"], True),
    "concepts.merge": lambda memory, ids: memory.concepts.merge(ids["two concepts"]),
    "concepts.apply_merge": lambda memory, ids: memory.concepts.apply_merge(
        memory.concepts.plan_merge([ids["two concepts"]])
    ),
    "concepts.load_primitives": lambda memory, _: memory.concepts.load_primitives(SWEPrimitiveLoader()),
    "concepts.update_primitives": lambda memory, _: memory.concepts.update_primitives(Loader(2)),
    "concepts.restore_many": lambda memory, ids: memory.concepts.restore_many(ids["exported concepts"]),
    "journal.add": lambda memory, _: memory.journal.add("reflection", "caching made pages fast", generation=1),
    "journal.add_entries": lambda memory, ids: memory.journal.add_entries([ids["entry"]]),
    "journal.edit": lambda memory, ids: memory.journal.edit(ids["journal"], content="it is another one"),
    "journal.link": lambda memory, ids: memory.journal.link(*ids["two entries"]),
    "journal.unlink": lambda memory, ids: memory.journal.unlink(*ids["linked"]),
    "journal.note_promotion": lambda memory, ids: memory.journal.note_promotion([ids["journal"]], "a concept"),
    "journal.compact": lambda memory, _: memory.journal.compact(keep_recent=0),
    "journal.apply_compact": lambda memory, _: memory.journal.apply_compact(memory.journal.plan_compact(0)),
    "journal.accept": lambda memory, ids: memory.journal.accept(ids["refused"]),
    "journal.accept_link": lambda memory, _: memory.journal.accept_link(memory.journal.suggest_links()[0]),
    "journal.refuse_link": lambda memory, _: memory.journal.refuse_link(memory.journal.suggest_links()[0]),
    "journal.register_type": lambda memory, _: memory.journal.register_type("decision", 0.5),
    "journal.switch_gate": lambda memory, _: memory.journal.switch_gate("noise", False),
    "storage.undo": lambda memory, _: memory.storage.undo(memory.history(1)[0].id),
    "storage.apply_undo": lambda memory, _: memory.storage.apply_undo(LATEST, memory.plan_undo(LATEST)),
    "profiles.save": lambda memory, _: memory.storage.profiles.save("mine", atlas.RankingWeights()),
}
"""Calls of the library that write, with an id of each kind of record, for each of which the test is shown to see it."""

WHOLE_STORE: dict[str, Call] = {
    "backup": lambda memory, _: backup(memory.storage, memory.storage.path / "mine.zip"),
    "restore": lambda memory, ids: restore(memory.storage, ids["backup"]),
    "freeze": lambda memory, _: freeze(memory.storage, "mine"),
    "make a key": lambda memory, _: keys.make_key(memory, "mine", "admin", 0),
    "revoke a key": lambda memory, ids: keys.revoke_key(memory, ids["key"]),
    "give a role": lambda memory, ids: people.set_role(memory, ids["person"], "admin"),
    "go by groups": lambda memory, ids: people.follow_groups(memory, ids["person"]),
    "remove a person": lambda memory, ids: people.remove_person(memory, ids["person"]),
    "make a link": lambda memory, _: links.make_link(memory, "mine", 1),
    "end a link": lambda memory, ids: links.end_link(memory, ids["link"]),
}
"""Acts on a store as a whole, and on who may enter it."""

READS = {
    "memory": "actors build_context changes close count_operations history judgements memory_effect operation "
    "plan_promotion plan_purge plan_undo query query_sync ranked_with revision",
    "experience": "browse calibrate check_refine column count count_trash counts_by_day export get get_many ids level "
    "marks never_retrieved passage plan_merge plan_outcomes plan_prune plan_refine purged ranked_with refine retrieve "
    "retrieve_words search search_hits search_words similar stale titles to_pandas trash usage values within",
    "strategies": "attempts attempts_of browse calibrate column count count_trash counts_by_day export get get_many "
    "ids level marks never_retrieved passage plan_merge plan_write purged ranked_with rate rates read retired retrieve "
    "retrieve_words search_hits search_words similar stale titles to_pandas trash usage values versions "
    "with_abstractor with_updater within",
    "concepts": "browse calibrate column composable compose compress count count_trash counts_by_day dependents "
    "depends_on export get get_many ids level marks never_retrieved passage plan_merge primitive_updates purged "
    "ranked_with retrieve retrieve_words search search_hits search_words similar stale titles to_pandas trash usage "
    "uses values versions within",
    "journal": "browse calibrate check_compact column context_for_evolution context_for_task "
    "context_for_task_generation count count_trash counts_by_day gates get get_by_type get_many get_recent ids level "
    "linked marks never_retrieved passage plan_compact purged ranked_with recent rejected retrieve retrieve_words "
    "search search_hits search_words similar stale suggest_links titles to_pandas trash usage values within",
    "storage": "bind catch_up changes close collection collections_of count_operations finish_purges history n_bytes "
    "one_at_a_time open operation plan_undo reading relabel vector_store",
}
"""Public methods that show the memory, or keep its files in order as opening it does."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> tuple[Path, Ids]:
    """A store with something of every kind that the calls ask for, and its ids."""
    store = tmp_path_factory.mktemp("viewers") / "store"
    return store, make_everything(store)


def test_every_public_method_is_known_to_write_or_to_read(prepared):
    store, _ = prepared
    with opened(store) as memory:
        for name, reads in READS.items():
            part = memory if name == "memory" else getattr(memory, name)
            public = {one for one in dir(part) if not one.startswith("_") and callable(getattr(part, one))}
            own = {one for one in public if not (one.startswith("a") and one[1:] in public)}
            writes = {call.partition(".")[2] for call in WRITES if call.startswith(f"{name}.")}
            assert own - writes - set(reads.split()) == set(), f"say of these of {name} whether they write"


@pytest.mark.parametrize("name", [*WRITES, *WHOLE_STORE])
def test_no_call_writes_for_a_viewer(prepared, tmp_path, name):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    call = {**WRITES, **WHOLE_STORE}[name]
    with opened(own) as memory:
        before = content(own)
        with acting(VIEWER), pytest.raises(NotAllowed, match="vera is a viewer and may not"):
            call(memory, ids)
        assert content(own) == before
        with acting(ADMIN):
            call(memory, ids)
        assert content(own) != before, "the call does not show that a viewer is refused, as it changes nothing at all"


def test_looking_is_no_retrieval_and_leaves_no_trace(prepared, tmp_path):
    store, ids = prepared
    own = tmp_path / "store"
    shutil.copytree(store, own)
    with opened(own) as memory, acting(VIEWER):
        before = content(own)
        task = atlas.Task("t", "", "mend the report of a customer")
        memory.build_context(task)
        memory.query_sync(task)
        memory.experience.retrieve(task.description, 3)
        memory.plan_purge([ids["experience"]])
        memory.close()
        assert content(own) == before
