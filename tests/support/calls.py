"""A call of every public method of the library, on a store with something of every kind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import atlas
from atlas import Operations
from atlas.memory.base.success_rates import SimpleAverageUpdater
from atlas.memory.experience.refinement.heuristic import HeuristicRefineStrategy
from atlas.primitives.swe.loader import SWEPrimitiveLoader
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.maintenance.freeze import freeze
from atlas.storage.store import EmbeddingModel, Store
from atlas.verbs.table import ROLES
from atlas.views.settings import keys, links, people
from tests.support.everything import Abstractor, Ids, Loader, strategy
from tests.support.records import attempt, concept
from tests.support.sample import EMBEDDER

MEMORIES = ("experience", "strategies", "concepts", "journal")

Call = Callable[[atlas.MemorySystem, Ids], object]


NEW: dict[str, Callable[[atlas.MemorySystem], str | None]] = {
    "experience": lambda memory: memory.experience.store(attempt("forgotten")),
    "strategies": lambda memory: memory.strategies.add(strategy("a forgotten page")),
    "concepts": lambda memory: memory.concepts.add(concept(9)),
    "journal": lambda memory: memory.journal.add("observation", "the forgotten gate is open", generation=1),
}
"""Adds a record of the actor's own to each memory."""


def of_each(name: str) -> dict[str, Call]:
    """Calls that each kind of memory has, on one record of it."""

    def of(memory: atlas.MemorySystem) -> Any:
        return getattr(memory, name)

    return {
        f"{name}.change_marks": lambda memory, ids: of(memory).change_marks([ids[name]], add_tags=["mine"]),
        f"{name}.mark": lambda memory, ids: of(memory).mark({ids[name]: atlas.Marks(note="mine")}),
        f"{name}.delete": lambda memory, ids: of(memory).delete([ids[name]]),
        f"{name}.forget": lambda memory, ids: of(memory).forget([NEW[name](memory)]),
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
    "memory.apply_strictness": lambda memory, _: memory.apply_strictness(memory.plan_strictness(2.0)),
    "memory.undo": lambda memory, _: memory.undo(memory.history(1)[0].id),
    "memory.apply_undo": lambda memory, _: memory.apply_undo(LATEST, memory.plan_undo(LATEST)),
    "memory.apply_promotion": lambda memory, ids: memory.apply_promotion(memory.plan_promotion(ids["crash"])),
    "memory.freeze": lambda memory, _: memory.freeze("mine"),
    "memory.quarantine": lambda memory, ids: memory.quarantine([ids["experience"]], reason="planted"),
    "memory.unquarantine": lambda memory, ids: memory.unquarantine([ids["quarantined"]]),
    "memory.apply_withdrawal": lambda memory, ids: memory.apply_withdrawal(memory.plan_withdrawal([ids["experience"]])),
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
    "experience.report_outcomes": lambda memory, ids: memory.experience.report_outcomes({ids["experience"]: None}),
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
    "storage.relabel": lambda memory, _: memory.storage.relabel(EmbeddingModel("another", 3), "0" * 64),
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

QUERY = "mend the report of a customer"
TASK = atlas.Task("t", "", QUERY)


def reads_of_each(name: str) -> dict[str, Call]:
    """Calls that each kind of memory has and that show it."""

    def reading(call: Callable[[Any, str], object]) -> Call:
        return lambda memory, ids: call(getattr(memory, name), ids[name])

    calls: dict[str, Callable[[Any, str], object]] = {
        "exclude": lambda of, one: of.exclude([one]).count(),
        "without": lambda of, one: of.without([one]).count(),
        "browse": lambda of, _: of.browse(),
        "calibrate": lambda of, _: of.calibrate(),
        "column": lambda of, _: of.column("created_at"),
        "count": lambda of, _: of.count(),
        "count_trash": lambda of, _: of.count_trash(),
        "counts_by_day": lambda of, _: of.counts_by_day(),
        "get": lambda of, one: of.get(one),
        "get_many": lambda of, one: of.get_many([one]),
        "ids": lambda of, _: of.ids(),
        "level": lambda of, _: of.level(),
        "level_costs": lambda of, _: of.level_costs(),
        "shown_hits": lambda of, _: of.shown_hits(QUERY, [hit.with_item("any") for hit in of.search_hits(QUERY)], 2.0),
        "marks": lambda of, one: of.marks([one]),
        "met_words": lambda of, one: of.met_words(one, QUERY),
        "never_retrieved": lambda of, _: of.never_retrieved(0),
        "passage": lambda of, one: of.passage(one, QUERY),
        "purged": lambda of, one: of.purged([one]),
        "ranked_with": lambda of, _: of.ranked_with(atlas.RankingWeights()),
        "embedding": lambda of, one: of.embedding(one),
        "filter_notes": lambda of, _: of.filter_notes({"created_at": "2026"}),
        "retrieve": lambda of, _: of.retrieve(QUERY),
        "retrieve_words": lambda of, _: of.retrieve_words(QUERY),
        "search_hits": lambda of, _: of.search_hits(QUERY),
        "search_words": lambda of, _: of.search_words("report"),
        "similar": lambda of, one: of.similar(one),
        "stale": lambda of, _: of.stale(0),
        "titles": lambda of, one: of.titles([one]),
        "to_pandas": lambda of, _: of.to_pandas(),
        "trash": lambda of, _: of.trash(),
        "usage": lambda of, one: of.usage([one]),
        "values": lambda of, _: of.values("created_at"),
    }
    return {f"{name}.{call}": reading(run) for call, run in calls.items()}


def _held(block: AbstractContextManager[object]) -> None:
    with block:
        pass


READS: dict[str, Call] = {
    **{call: run for name in MEMORIES for call, run in reads_of_each(name).items()},
    "memory.actors": lambda memory, _: memory.actors(),
    "memory.build_context": lambda memory, _: memory.build_context(TASK),
    "memory.changes": lambda memory, _: memory.changes(memory.history(1)[0].id),
    "memory.with_loss": lambda memory, ids: memory.with_loss(memory.experience.plan_prune({"max_count": 1})),
    "memory.curation_loss": lambda memory, ids: memory.curation_loss("experience", {ids["experience"]: ""}),
    "memory.compression_status": lambda memory, _: memory.compression_status(),
    "memory.count_operations": lambda memory, _: memory.count_operations(),
    "memory.history": lambda memory, _: memory.history(),
    "memory.judgements": lambda memory, _: memory.judgements(),
    "memory.memory_effect": lambda memory, _: memory.memory_effect(),
    "memory.operation": lambda memory, _: memory.operation(memory.history(1)[0].id),
    "memory.plan_promotion": lambda memory, ids: memory.plan_promotion(ids["crash"]),
    "memory.plan_purge": lambda memory, ids: memory.plan_purge([ids["experience"]]),
    "memory.plan_withdrawal": lambda memory, ids: memory.plan_withdrawal([ids["experience"]]),
    "memory.plan_strictness": lambda memory, _: memory.plan_strictness(2.0),
    "memory.quarantined": lambda memory, _: memory.quarantined(),
    "memory.scan": lambda memory, ids: memory.scan([ids["experience"]]),
    "memory.trust": lambda memory, ids: memory.trust([ids["experience"]]),
    "memory.strictness": lambda memory, _: memory.strictness(),
    "memory.query": lambda memory, _: asyncio.run(memory.query(TASK)),
    "memory.query_sync": lambda memory, _: memory.query_sync(TASK),
    "memory.ranked_with": lambda memory, _: memory.ranked_with(atlas.RankingWeights()),
    "memory.revision": lambda memory, _: memory.revision(),
    "experience.check_refine": lambda memory, ids: memory.experience.check_refine(
        memory.experience.plan_refine(ids["alike"], HeuristicRefineStrategy(EMBEDDER))
    ),
    "experience.export": lambda memory, ids: memory.experience.export([ids["experience"]], with_vectors=True),
    "experience.plan_merge": lambda memory, ids: memory.experience.plan_merge([ids["alike"]]),
    "experience.plan_outcomes": lambda memory, ids: memory.experience.plan_outcomes([ids["experience"]], None),
    "experience.plan_prune": lambda memory, _: memory.experience.plan_prune({"min_success_rate": 0.5}),
    "experience.plan_refine": lambda memory, ids: memory.experience.plan_refine(
        ids["alike"], HeuristicRefineStrategy(EMBEDDER)
    ),
    "experience.refine": lambda memory, ids: memory.experience.refine(memory.experience.get_many(ids["alike"])),
    "experience.search": lambda memory, _: memory.experience.search(TASK),
    "strategies.attempts": lambda memory, ids: memory.strategies.attempts(ids["strategies"]),
    "strategies.attempts_of": lambda memory, ids: memory.strategies.attempts_of([ids["strategies"]]),
    "strategies.export": lambda memory, ids: memory.strategies.export([ids["strategies"]]),
    "strategies.plan_merge": lambda memory, ids: memory.strategies.plan_merge([ids["two strategies"]]),
    "strategies.plan_write": lambda memory, _: memory.strategies.plan_write([attempt("new")]),
    "strategies.rate": lambda memory, ids: memory.strategies.rate(ids["strategies"]),
    "strategies.rates": lambda memory, ids: memory.strategies.rates([ids["strategies"]]),
    "strategies.read": lambda memory, _: memory.strategies.read(TASK),
    "strategies.retired": lambda memory, _: memory.strategies.retired(),
    "strategies.versions": lambda memory, ids: memory.strategies.versions(ids["strategies"]),
    "strategies.with_abstractor": lambda memory, _: memory.strategies.with_abstractor(Abstractor()),
    "strategies.with_updater": lambda memory, _: memory.strategies.with_updater(SimpleAverageUpdater()),
    "concepts.composable": lambda memory, ids: memory.concepts.composable(ids["two concepts"]),
    "concepts.explain_composition": lambda memory, ids: memory.concepts.explain_composition(ids["two concepts"]),
    "concepts.compose": lambda memory, ids: memory.concepts.compose(ids["two concepts"]),
    "concepts.compress": lambda memory, _: memory.concepts.compress([attempt("new")]),
    "concepts.dependents": lambda memory, ids: memory.concepts.dependents([ids["concepts"]]),
    "concepts.depends_on": lambda memory, ids: memory.concepts.depends_on(ids["concepts"]),
    "concepts.export": lambda memory, ids: memory.concepts.export([ids["concepts"]]),
    "concepts.plan_merge": lambda memory, ids: memory.concepts.plan_merge([ids["two concepts"]]),
    "concepts.primitive_updates": lambda memory, _: memory.concepts.primitive_updates(Loader(2)),
    "concepts.search": lambda memory, _: memory.concepts.search(QUERY),
    "concepts.uses": lambda memory, ids: memory.concepts.uses(ids["concepts"]),
    "concepts.versions": lambda memory, ids: memory.concepts.versions(ids["concepts"]),
    "journal.check_compact": lambda memory, _: memory.journal.check_compact(memory.journal.plan_compact(0)),
    "journal.context_for_evolution": lambda memory, _: memory.journal.context_for_evolution(),
    "journal.context_for_task": lambda memory, _: memory.journal.context_for_task(QUERY),
    "journal.context_for_task_generation": lambda memory, _: memory.journal.context_for_task_generation(),
    "journal.gates": lambda memory, _: memory.journal.gates(),
    "journal.get_by_type": lambda memory, _: memory.journal.get_by_type("reflection"),
    "journal.get_recent": lambda memory, _: memory.journal.get_recent(),
    "journal.linked": lambda memory, ids: memory.journal.linked(ids["journal"]),
    "journal.plan_compact": lambda memory, _: memory.journal.plan_compact(0),
    "journal.recent": lambda memory, _: memory.journal.recent(),
    "journal.rejected": lambda memory, _: memory.journal.rejected(),
    "journal.search": lambda memory, _: memory.journal.search(QUERY),
    "journal.suggest_links": lambda memory, _: memory.journal.suggest_links(),
    "storage.bind": lambda memory, _: memory.storage.bind(memory.storage.model),
    "storage.catch_up": lambda memory, _: memory.storage.catch_up(),
    "storage.changes": lambda memory, _: memory.storage.changes(memory.history(1)[0].id),
    "storage.collection": lambda memory, _: memory.storage.collection(memory.experience.collection_name),
    "storage.collections_of": lambda memory, _: memory.storage.collections_of(memory.history(1)[0].id),
    "storage.count_operations": lambda memory, _: memory.storage.count_operations(),
    "storage.finish_purges": lambda memory, _: memory.storage.finish_purges(),
    "storage.history": lambda memory, _: memory.storage.history(),
    "storage.n_bytes": lambda memory, _: memory.storage.n_bytes(),
    "storage.locked": lambda memory, _: _held(memory.storage.locked()),
    "storage.open": lambda memory, _: Store.open(memory.storage.path).close(),
    "storage.operation": lambda memory, _: memory.storage.operation(memory.history(1)[0].id),
    "storage.reading": lambda memory, _: _held(memory.storage.reading()),
    "storage.vector_store": lambda memory, _: memory.storage.vector_store(memory.experience.collection_name),
    "memory.close": lambda memory, _: memory.close(),
    "storage.close": lambda memory, _: memory.storage.close(),
}
"""Calls that show the memory, or keep its files in order as opening it does."""

BEGUN: dict[str, Call] = {
    **{
        f"{name}.{method}": lambda memory, _, name=name, method=method: getattr(getattr(memory, name), method)("edit")
        for name in MEMORIES
        for method in ("as_operation", "within")
    },
    "memory.plan_undo": lambda memory, _: memory.plan_undo(Operations(actor="vera")),
    "storage.plan_undo": lambda memory, _: memory.storage.plan_undo(Operations(actor="vera")),
}
"""Calls that change nothing yet, but open an operation, or try what they would do. So they are not for viewers."""

PARTS = ("memory", *MEMORIES, "storage")

IN_VALUES: dict[str, Call] = {
    "strategies.write": lambda memory, _: memory.strategies.write(attempt("new")),
    "strategies.apply_write": lambda memory, _: memory.strategies.apply_write(
        memory.strategies.plan_write([attempt("new")])
    ),
    "experience.apply_refine": lambda memory, ids: memory.experience.apply_refine(ids["refine plan"]),
    "experience.check_refine": lambda memory, ids: memory.experience.check_refine(ids["refine plan"]),
}
"""Calls that take values alone, in place of those that take objects of the program."""

VERB_CALLS = {name: call for name, call in {**READS, **WRITES, **BEGUN, **IN_VALUES}.items() if name in ROLES}
"""A call of each verb, for a server."""
