"""What a plan costs agents: equal to what searching a copy of the store shows after the plan was applied there."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace

import pytest

import atlas
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.learning.strategies import PROVEN
from atlas.memory.context.block import DEFAULT_K
from atlas.memory.effects import curation
from atlas.testing import FixedClock, HashEmbedder
from tests.support import records
from tests.support.memories import attempt

WORDS = [
    "pump",
    "valve",
    "motor",
    "filter",
    "sensor",
    "cable",
    "relay",
    "switch",
    "tank",
    "gauge",
    "belt",
    "rotor",
    "seal",
    "fan",
    "coil",
    "lamp",
    "fuse",
    "hose",
]


def opened(path):
    return atlas.open_memory(path, embedder=HashEmbedder(), settings=replace(Settings(), index=""), clock=FixedClock())


@pytest.fixture
def memory(tmp_path):
    with opened(tmp_path / "store") as memory:
        yield memory


def filled(memory, seed, n_tasks=30, n=70):
    """Attempts at tasks of random words, of which some share most of them."""
    rng = random.Random(seed)
    tasks = [f"repair the {' and the '.join(rng.sample(WORDS, 3))}" for _ in range(n_tasks)]
    steps = [" ".join(rng.choices(WORDS, k=12)) for _ in range(n)]
    attempts = [attempt(rng.choice(tasks), rng.choice([True, False, None]), solution=step) for step in steps]
    return rng, memory.experience.store_many(attempts)


def answers(memory, tasks):
    """The right records in the hits and in the block of each task, as a person would look them up."""
    found = {}
    for task in tasks:
        hits = memory.experience.retrieve(task.description, DEFAULT_K, count_retrieval=False).hits
        right = {hit.item.id: hit.item.outcome.success for hit in hits if hit.item.task.id == task.id}
        shown = memory.build_context(task).shown["experience"]
        found[task.description] = right, [record_id for record_id in shown if record_id in right]
    return found


def brute_force(memory, directory, ids, change):
    """Lost tasks and right records lost from hits and blocks, by applying a change to a copy of the store."""
    tasks = {record.task.description: record.task for record in memory.experience.get_many(ids)}.values()
    before = answers(memory, tasks)
    shutil.copytree(memory.storage.path, directory)
    with opened(directory) as copy:
        change(copy)
        after = answers(copy, tasks)
    rank = {True: 2, None: 1, False: 0}
    lost = set()
    for task, (right, _) in before.items():
        best = max(right, key=lambda record_id: rank[right[record_id]], default=None)
        left = after[task][0].values()
        if best in ids and not any(rank[outcome] >= rank[right[best]] for outcome in left):
            lost.add(task)
    from_hits = sum(len(right.keys() - after[task][0].keys()) for task, (right, _) in before.items())
    from_blocks = sum(len(set(shown) - set(after[task][1])) for task, (_, shown) in before.items())
    return lost, from_hits, from_blocks


@pytest.mark.parametrize("seed", range(4))
def test_a_pruning_costs_what_it_costs_in_a_copy_of_the_store(memory, tmp_path, seed):
    rng, ids = filled(memory, seed)
    plan = memory.with_loss(memory.experience.plan_prune({}, rng.sample(ids, 12)))
    going = [decision.id for decision in plan.removals]
    lost, from_hits, from_blocks = brute_force(
        memory, tmp_path / "copy", going, lambda copy: copy.experience.delete(going)
    )
    assert lost
    assert {task for record in plan.loss.lost for task in record.tasks} == lost
    assert (plan.loss.n_losing, plan.loss.n_lost_from_hits, plan.loss.n_lost_from_blocks) == (
        len(lost), from_hits, from_blocks,
    )  # fmt: skip


def test_of_equally_good_records_one_is_kept_for_all_their_tasks(memory):
    runs = (records.attempt(f"nightly run {n}: rebuild the index", False, task_id="index") for n in range(3))
    ids = memory.experience.store_many(runs)
    loss = memory.with_loss(memory.experience.plan_prune({}, ids)).loss
    assert loss.n_losing == 3
    assert [len(record.tasks) for record in loss.lost] == [3]
    kept = memory.with_loss(memory.experience.plan_prune({}, ids, loss.ids_to_keep)).loss
    assert (kept.n_removed, kept.n_losing) == (2, 0)


def test_merging_loses_nothing_that_the_kept_record_stands_for(memory, tmp_path):
    ids = memory.experience.store_many([
        attempt("repair the pump", solution="tighten the bolt"),
        attempt("repair the pump", False, solution="kick it"),
        attempt("paint the tank", solution="use blue"),
    ])  # fmt: skip
    plan = memory.with_loss(memory.experience.plan_merge([ids[:2]]))
    assert plan.loss.sentence == "0 of 1 task loses its best record"
    assert plan.loss.lost == ()


def test_a_worse_attempt_at_the_task_does_not_replace_its_best_one(memory):
    best, other = memory.experience.store_many([
        attempt("repair the pump", solution="If it leaks, tighten bolt seven."),
        attempt("repair the pump", False, solution="kick it"),
    ])  # fmt: skip
    loss = memory.curation_loss("experience", {best: ""})
    assert [(record.id, record.title, record.tasks) for record in loss.lost] == [
        (best, "repair the pump", ("repair the pump",))
    ]
    assert loss.sentence == "1 of 1 task loses its best record"
    assert {"bolt", "seven"} <= set(loss.words)
    assert [sentence for sentence in loss.conditions if "tighten bolt seven" in sentence]
    assert memory.curation_loss("experience", {other: ""}).lost == ()


def test_an_equal_attempt_replaces_the_best_one(memory):
    first, _ = memory.experience.store_many([attempt("repair the pump", solution=each) for each in ("this", "that")])
    loss = memory.curation_loss("experience", {first: ""})
    assert (loss.n_losing, loss.n_in_hits, loss.n_lost_from_hits) == (0, 2, 1)


def test_a_judged_query_is_a_task_of_the_record(memory):
    [record_id] = memory.experience.store_many([attempt("repair the pump")])
    memory.judge("the pump leaks", record_id, True)
    loss = memory.curation_loss("experience", {record_id: ""})
    assert loss.lost[0].tasks == ("repair the pump", "the pump leaks")


def test_a_strategy_is_lost_for_the_tasks_that_it_was_drawn_from_and_used_at(memory):
    source, other = attempt("repair the pump"), attempt("paint the tank")
    memory.experience.store_many([source, other])
    strategy = memory.strategies.add(
        atlas.Strategy(title="pump repair", situation="repair the pump", suggestion="bolt first", sources=(source.id,))
    )
    loss = memory.curation_loss("strategies", {strategy: ""})
    assert loss.lost[0].tasks == ("repair the pump",)


def test_a_concept_is_not_proven_without_the_attempts_that_it_was_found_in(memory):
    ids = memory.experience.store_many([attempt("repair the pump"), attempt("repair the valve")])
    memory.concepts.add_many([records.concept(1, found_in=tuple(ids), metadata={PROVEN: True})])
    [name] = [concept.name for concept in memory.concepts.get_many(memory.concepts.ids())]
    assert memory.curation_loss("experience", {ids[0]: ""}).unproven == ()
    assert memory.curation_loss("experience", dict.fromkeys(ids, "")).unproven == (name,)
    assert memory.curation_loss("experience", dict.fromkeys(ids, "elsewhere")).unproven == ()
    [concept_id] = memory.concepts.ids()
    assert memory.curation_loss("concepts", {concept_id: ""}).unproven == (name,)


def test_a_large_plan_is_sampled_and_says_so(memory, monkeypatch):
    monkeypatch.setattr(curation, "N_SAMPLED", 10)
    monkeypatch.setattr(curation, "N_TASKS", 5)
    ids = memory.experience.store_many([attempt(f"repair the {word}") for word in WORDS])
    loss = memory.curation_loss("experience", dict.fromkeys(ids, ""))
    assert loss.sentence == "5 of 5 sampled tasks lose their best record"
    assert loss.details[0] == "Sampled: 5 of 10 tasks of 10 of 18 records."


def test_measuring_changes_nothing_and_the_history_keeps_the_figure(memory):
    ids = memory.experience.store_many([attempt(f"repair the {word}") for word in WORDS])
    state = memory.storage.ledger.marks.change_token()
    plan = memory.with_loss(memory.experience.plan_prune({}, ids[:2]))
    assert memory.storage.ledger.marks.change_token() == state
    assert memory.experience.usage(ids[:1])[ids[0]].n_retrieved == 0
    memory.experience.apply_prune(plan)
    assert memory.history(1)[0].reason == "chosen, among 2; 2 of 2 tasks lose their best record"


def test_kept_records_stay_and_are_named_as_kept(memory):
    ids = memory.experience.store_many([attempt(f"repair the {word}") for word in WORDS])
    plan = memory.experience.plan_prune({}, ids[:2], keep=[ids[0]])
    assert [decision.id for decision in plan.removals] == [ids[1]]
    assert [(decision.id, decision.saved_because) for decision in plan.saved] == [(ids[0], "you keep it")]


def test_an_unknown_memory_is_refused(memory):
    with pytest.raises(InvalidInput, match=r"expected one of .*experience.* for the memory, got 'dreams'"):
        memory.curation_loss("dreams", {"a": ""})


def test_a_long_title_of_a_lost_record_ends_at_a_word(memory):
    record_id = memory.experience.store(attempt("repair the pump of the harbour " * 9, success=True))
    [lost] = memory.curation_loss("experience", {record_id: ""}).lost
    assert lost.title.endswith("repair the pump of the…")
    assert len(lost.title) <= 120
