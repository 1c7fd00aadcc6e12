"""Scopes: two projects in one store do not see each other, and what is derived has the scope of its sources."""

from __future__ import annotations

from datetime import timedelta

import pytest

import atlas
from atlas.core.errors import InvalidInput
from atlas.core.filters import scope_metadata
from atlas.core.types import CodeConcept, Strategy
from atlas.infra.bridge import run
from atlas.learning.strategies import StitchCompressionStrategy
from atlas.memory.open import open_memory
from atlas.memory.system import MemorySystemImpl
from atlas.server.mcp.reading import recall, recall_by_words, search
from atlas.server.mcp.writing import add_strategy, note, store_attempt
from atlas.testing import FixedClock, HashEmbedder
from tests.support.records import attempt

SHOP, BANK = scope_metadata({"project": "shop"}), scope_metadata({"project": "bank"})
TASK = "Refund the payment of a customer"
CODE = "def refund(payment):\n    return -payment\n"
PROGRAM = """
def solve(rows):
    total = 0
    for row in rows:
        if row is not None and row > {least}:
            total += row * 100 // 7
    return total{tail}
"""


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=FixedClock()) as opened:
        yield opened


def fill(memory: atlas.MemorySystem, scope: dict[str, str]) -> set[str]:
    """Store a record in each memory in a scope, and return their ids."""
    return {
        memory.experience.store(attempt(TASK, task_id=scope["scope.project"], **scope)),
        memory.strategies.add(Strategy(situation=TASK, suggestion="Ask for the number.", metadata=scope)),
        *memory.concepts.add_many(
            [CodeConcept(name="refund", description=TASK, code=CODE, metadata=scope)], reason="by hand"
        ),
        memory.journal.add("observation", f"{TASK}: it took a day", generation=1, metadata=scope) or "",
    }


def found(result: atlas.MemoryQueryResult) -> set[str]:
    """Return the ids of all hits."""
    return {record_id for ids in result.ids.values() for record_id in ids}


@pytest.mark.parametrize("by_words", [False, True])
def test_two_projects_of_one_store_do_not_see_each_other(memory, by_words):
    of_shop, of_bank = fill(memory, SHOP), fill(memory, BANK)
    asked = atlas.Task("", "", TASK)
    assert len(of_shop) == len(of_bank) == 4
    assert not of_shop & of_bank
    for scope, ids in ((SHOP, of_shop), (BANK, of_bank)):
        assert found(memory.query_sync(asked, where=scope, threshold=0.0)) == ids
        block = memory.build_context(asked, 4_000, where=scope, threshold=0.0, by_words=by_words)
        assert {record_id for ids_of in block.shown.values() for record_id in ids_of} <= ids
        assert block.text
    assert found(memory.query_sync(asked, threshold=0.0)) == of_shop | of_bank
    assert not found(memory.query_sync(asked, where=scope_metadata({"project": "farm"}), threshold=0.0))


def test_agents_of_two_projects_do_not_see_each_other_over_mcp(memory):
    for project, advice in (("shop", "Ask for the receipt."), ("bank", "Ask for the account.")):
        scope = {"project": project}
        store_attempt(memory, TASK, [f"refund({project!r})"], True, solution=advice, task_id=project, scope=scope)
        note(memory, "observation", f"{TASK}: {advice}", scope=scope)
        add_strategy(memory, TASK, advice, scope=scope)
    for read in (recall, recall_by_words):
        text = read(memory, TASK, 4_000, scope={"project": "shop"})
        assert "receipt" in text
        assert "account" not in text
    assert "account" not in search(memory, TASK, {"scope.project": "shop"}, "journal")


class Describing:
    """An abstractor whose situation is the task's description."""

    async def abstract(self, trajectory):
        return Strategy(situation=trajectory.task.description, suggestion="Look it up.")


def test_the_strategy_of_an_attempt_has_its_scope_and_joins_no_other(memory):
    memory.strategies.abstractor = Describing()
    for number, scope in enumerate([SHOP, BANK, SHOP, {}]):
        memory.store(attempt(TASK, task_id=f"{number}", solution="refund()", **scope))
    written = memory.strategies.get_many(memory.strategies.ids())
    assert sorted(str(s.metadata.get("scope.project")) for s in written) == ["None", "bank", "shop"]
    assert sorted(len(strategy.sources) for strategy in written) == [1, 1, 2]


def test_a_model_sees_the_strategies_of_an_attempt_s_own_scope(memory):
    ann = SHOP | scope_metadata({"user": "ann"})
    for scope in (ann, BANK, {}):
        memory.strategies.add(Strategy(situation=TASK, suggestion="Ask first.", title=str(scope), metadata=scope))
    shown: list[list[str]] = []

    class Informed(Describing):
        def abstract_beside(self, trajectory, known):
            shown.append([strategy.title for strategy in known])
            return Strategy(situation=trajectory.task.description, suggestion="Look it up.")

    memory.strategies.abstractor = Informed()
    for scope in (SHOP, BANK, {}):
        memory.strategies.write(attempt(TASK, task_id=str(scope), solution="refund()", **scope))
    assert shown == [[], [str(BANK)], [str({})]]


def test_each_project_learns_a_concept_of_its_own(memory):
    def learned(scope: dict[str, str]) -> list[str]:
        solved = [
            attempt(f"Sum the rows above {n}", solution=PROGRAM.format(least=n, tail=f" + {n}"), **scope)
            for n in range(4)
        ]
        library = memory.concepts.get_many(memory.concepts.ids())
        proposal = run(StitchCompressionStrategy().propose(solved, library))
        return memory.concepts.add_many(proposal.concepts)

    assert learned(SHOP)
    assert learned(BANK)
    assert not learned(SHOP)


def test_an_attempt_of_one_name_in_two_projects_is_two_over_mcp(memory):
    for project in ("shop", "bank", "shop"):
        store_attempt(memory, TASK, ["refund()"], True, attempt_id="run-1", scope={"project": project})
    assert memory.experience.count(SHOP) == memory.experience.count(BANK) == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a", "b"], "a string that is not blank"),
        ({"$ne": "shop"}, "a string that is not blank"),
        (None, "a string that is not blank"),
        (7, "a string that is not blank"),
        ("x" * 300, "at most 200 characters"),
    ],
)
def test_no_memory_stores_a_malformed_scope(memory, value, expected):
    scope = {"scope.project": value}
    for store in (
        lambda: memory.store(attempt(TASK, **scope)),
        lambda: memory.strategies.add(Strategy(situation=TASK, suggestion="Ask.", metadata=scope)),
        lambda: memory.concepts.add_many([CodeConcept(name="refund", description=TASK, code=CODE, metadata=scope)]),
        lambda: memory.journal.add("observation", TASK, generation=1, metadata=scope),
    ):
        with pytest.raises(InvalidInput, match=f"expected {expected} for the scope 'project'"):
            store()


def test_a_merged_record_has_the_scope_that_all_its_sources_share(memory):
    ada, bob = SHOP | scope_metadata({"user": "ada"}), SHOP | scope_metadata({"user": "bob"})
    attempts = [
        memory.experience.store(attempt(TASK, task_id="refund", agent=s["scope.user"], **s)) for s in (ada, bob)
    ]
    strategies = [
        memory.strategies.add(Strategy(situation=TASK, suggestion=f"Ask {s['scope.user']}.", metadata=s))
        for s in (ada, bob)
    ]
    concepts = [
        memory.concepts.add_many([CodeConcept(name="refund", description=TASK, code=CODE, metadata=s)])[0]
        for s in (ada, bob)
    ]
    merged = [memory.experience.merge(attempts), memory.strategies.merge(strategies), memory.concepts.merge(concepts)]
    assert [record.metadata.get("scope.project") for record in merged] == ["shop"] * 3
    assert [record.metadata.get("scope.user") for record in merged] == [None] * 3


def test_a_note_that_another_project_has_already_is_written(memory):
    first = memory.journal.add("observation", "The build took four minutes today", generation=1, metadata=SHOP)
    again = memory.journal.add("observation", "The build took four minutes today", generation=1, metadata=SHOP)
    other = memory.journal.add("observation", "The build took four minutes today", generation=1, metadata=BANK)
    assert (first is None, again is None, other is None) == (False, True, False)


def test_a_summary_is_of_one_scope(tmp_path):
    clock = FixedClock()
    with open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=clock) as memory:
        for number in range(16):
            text = f"Observed the {['plum', 'fig', 'pear', 'quince'][number % 4]} basket number {number} at noon"
            scope = SHOP if number % 2 else BANK
            assert memory.journal.add("observation", text, generation=number + 1, metadata=scope)
        clock.advance(timedelta(days=400))
        memory.journal.compact(keep_recent=0)
        summaries = memory.journal.recent(10, ["summary"])
    assert sorted(summary.metadata["scope.project"] for summary in summaries) == ["bank", "shop"]


def test_a_learned_concept_has_the_scope_that_its_attempts_share(memory):
    ada, bob = SHOP | scope_metadata({"user": "ada"}), SHOP | scope_metadata({"user": "bob"})
    programs = [PROGRAM.format(least=n, tail=f" + {n}") for n in range(4)]
    solved = [
        attempt(f"Sum the rows above {n}", solution=program, **(ada if n % 2 else bob))
        for n, program in enumerate(programs)
    ]
    memory.concepts.compression_strategy = StitchCompressionStrategy()
    learned = memory.concepts.compress(solved)
    assert learned
    assert {concept.metadata.get("scope.project") for concept in learned} == {"shop"}
    assert not any("scope.user" in concept.metadata for concept in learned)


def test_a_memory_that_cannot_filter_is_left_out_with_an_error(memory):
    class Elsewhere:
        def search(self, asked, k=4):
            return [attempt(TASK)]

        def store(self, trajectory): ...

    system = MemorySystemImpl(experience=Elsewhere(), strategies=memory.strategies)
    for result in (
        system.query_sync(atlas.Task("", "", TASK), where=SHOP),
        system.build_context(atlas.Task("", "", TASK), where=SHOP, by_words=True),
    ):
        assert "Elsewhere cannot filter its records by" in result.errors["experience"]


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        ({"Project": "shop"}, "for a scope's name, such as"),
        ({"": "shop"}, "for a scope's name, such as"),
        ({"project": ""}, "expected a string that is not blank"),
        ({"project": "x" * 201}, "expected at most 200 characters"),
        ({"project": 7}, "expected a string that is not blank"),
    ],
)
def test_a_malformed_scope_is_refused(scope, message):
    with pytest.raises(InvalidInput, match=message):
        scope_metadata(scope)


def test_a_malformed_filter_is_refused_before_any_memory_is_asked(memory):
    for by_words in (False, True):
        with pytest.raises(InvalidInput, match="unknown filter operator"):
            memory.build_context(atlas.Task("", "", TASK), where={"scope.project": {"$like": "s"}}, by_words=by_words)
