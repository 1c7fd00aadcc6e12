"""The reach of records: past searches, and the tasks whose context would contain them now."""

from __future__ import annotations

import pytest

import atlas
from atlas.cli import main
from atlas.core.filters import scope_metadata
from atlas.infra.actor import Actor, Role, acting
from atlas.memory.effects import reach as module
from atlas.memory.effects.reach import NO_REACH, ReachedTask
from atlas.memory.effects.withdrawal import Withdrawal
from atlas.storage import retrievals
from atlas.verbs.encoding import encode_as
from atlas.verbs.values import READERS
from tests.support.records import attempt
from tests.support.sample import EMBEDDER

SHOP = scope_metadata({"project": "shop"})


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=EMBEDDER) as memory:
        memory.experience.store_many([attempt("water the dry plant"), attempt("water the dry lawn")])
        memory.experience.store_many([attempt(f"sort the crates of hall {n}", task_id=f"hall {n}") for n in range(5)])
        yield memory


@pytest.fixture
def advice(memory) -> str:
    return memory.strategies.add(atlas.Strategy(situation="water the dry plant", suggestion="use a can of water"))


def test_past_searches_are_counted_and_tasks_are_replayed(memory, advice, monkeypatch):
    monkeypatch.setattr(retrievals, "FLUSH_SECONDS", -1.0)
    before = memory.plan_withdrawal([advice]).reach
    assert before.n_retrieved == 0, "a replay counts no retrieval"
    assert before.n_tasks == 7
    assert ReachedTask(title="water the dry plant", ids=(advice,)) in before.tasks
    memory.query_sync(atlas.Task("", "", "water the dry plant"))
    memory.query_sync(atlas.Task("", "", "water the dry lawn"))
    assert memory.plan_withdrawal([advice]).reach.n_retrieved == 2


def test_a_record_in_quarantine_reaches_no_task(memory, advice):
    memory.quarantine([advice], reason="planted")
    reach = memory.plan_withdrawal([advice]).reach
    assert (reach.tasks, reach.n_tasks) == ((), 7)


def test_the_tasks_of_attempts_in_quarantine_are_not_replayed(memory, advice):
    [attempted] = [i for i, title in memory.experience.titles(memory.experience.ids()).items() if "plant" in title]
    memory.quarantine([attempted], reason="planted")
    reach = memory.plan_withdrawal([advice]).reach
    assert reach.n_tasks == 6
    assert "water the dry plant" not in {task.title for task in reach.tasks}


def test_only_tasks_in_the_actors_scope_are_replayed(memory):
    memory.experience.store(attempt("water the dry plant of the shop", task_id="shop", **SHOP))
    own = memory.strategies.add(
        atlas.Strategy(situation="water the dry plant", suggestion="ask the shop", metadata=SHOP)
    )
    with acting(Actor("clerk", Role.CURATOR, scope=tuple(SHOP.items()))):
        reach = memory.plan_withdrawal([own]).reach
    assert (reach.n_tasks, [task.title for task in reach.tasks]) == (1, ["water the dry plant of the shop"])


def test_the_nearest_tasks_are_replayed_before_others(memory, advice, monkeypatch):
    monkeypatch.setattr(module, "N_NEAREST", 2)
    monkeypatch.setattr(module, "N_TASKS", 2)
    reach = memory.plan_withdrawal([advice]).reach
    assert reach.n_tasks == 2
    assert {task.title for task in reach.tasks} <= {"water the dry plant", "water the dry lawn"}
    assert reach.tasks


def test_the_same_task_is_replayed_once(memory, advice):
    memory.experience.store(attempt("water the dry plant", solution="again"))
    assert memory.plan_withdrawal([advice]).reach.n_tasks == 7


def test_a_search_since_the_plan_does_not_outdate_it(memory, advice, monkeypatch):
    monkeypatch.setattr(retrievals, "FLUSH_SECONDS", -1.0)
    plan = memory.plan_withdrawal([advice])
    memory.query_sync(atlas.Task("", "", "water the dry plant"))
    assert plan.reach != NO_REACH
    assert memory.apply_withdrawal(plan)


def test_a_plan_comes_back_from_json_with_its_reach(memory, advice):
    plan = memory.plan_withdrawal([advice])
    again = READERS.read(Withdrawal, encode_as(Withdrawal, plan, "it"), "it")
    assert (again, again.reach) == (plan, plan.reach)


def test_the_command_prints_counts_and_some_titles(memory, advice, capsys):
    assert main(["--store", str(memory.storage.path), "withdraw", advice, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "Searches returned these 0 times." in out
    assert "of 7 replayed tasks would contain them now." in out
    assert "  > water the dry plant\n" in out
