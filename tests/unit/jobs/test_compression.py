"""Compressing a store: what is found, kept in a file, chosen and added; and that it changes nothing by itself."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import atlas
from atlas.core.errors import Cancelled, InvalidInput, LLMUnavailable
from atlas.jobs.artefact import CACHE, save_artefact
from atlas.jobs.compression import CompressionJob, add_concepts, choose_strategy, compress_now
from atlas.jobs.compression.automatic import select_additions
from atlas.jobs.compression_file import CompressionFile, CompressionResult
from atlas.jobs.worker import Worker
from atlas.learning.composition import PipelineCompositionStrategy
from atlas.learning.model_composition import LLMCompositionStrategy
from atlas.learning.strategies import LearnedConcept, StitchCompressionStrategy
from atlas.memory.concepts.memory import COLLECTION
from atlas.testing import HashEmbedder, ScriptedLLM
from atlas.views.concepts.compression import found_rows
from atlas.views.strategies.strategy import strategy_detail
from tests.support.learning.tool_calls import refund
from tests.support.programs import compress, compress_store, make_programs
from tests.support.stores import opened_store
from tests.support.waiting import GIVE_UP_SECONDS


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, CompressionResult]:
    """A store of four programs, and what they have in common."""
    store = tmp_path_factory.mktemp("programs")
    make_programs(store)
    return store, compress_store(store)


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    make_programs(tmp_path)
    with opened_store(tmp_path) as opened:
        yield opened


def learned(name: str, *calls: LearnedConcept, known: bool = False) -> LearnedConcept:
    concept = atlas.CodeConcept(
        id=f"id_{name}", name=name, description=f"Does {name}.", code=f"def {name}():\n    return '{name}'\n",
        source="learned", calls=tuple(one.concept.id for one in calls),
    )  # fmt: skip
    return LearnedConcept(concept=concept, saving=1, arity=0, n_tasks=3, n_verified=3, n_checked=3, is_known=known)


def test_functions_that_save_in_both_halves_of_the_tasks_come_first(memory):
    once, often = replace(learned("once"), saving=90), replace(learned("often"), saving=9, saving_elsewhere=4)
    assert [row.name for row in found_rows(memory, holding(once, often))] == ["often", "once"]


def holding(*found: LearnedConcept) -> CompressionResult:
    return CompressionResult(
        learned=found, rewritings=(), n_attempts=3, n_programs=3, tokens_before=9, tokens_after=5, tokens_library=2
    )


def test_compressing_a_store_finds_proves_and_changes_nothing(memory):
    revision = memory.revision()
    found = compress(memory)
    assert memory.revision() == revision
    assert len(memory.concepts) == 0
    (one,) = found.learned
    assert (one.n_tasks, one.n_verified, one.n_checked) == (4, 4, 4)
    assert found.tokens_after + found.tokens_library < found.tokens_before
    assert {rewriting.program.id for rewriting in found.rewritings} == set(memory.experience.ids())
    assert (found.n_attempts, found.n_programs, found.revision) == (4, 4, revision)


def test_what_was_found_is_kept_and_read_back_equal(made, tmp_path):
    file = CompressionFile(tmp_path, COLLECTION)
    assert file.load() is None
    file.save(made[1])
    assert file.load() == made[1]


FIELDS = ("learned", "rewritings", "notes", "where", "dropped", "n_programs", "made_at", "revision")
OTHERS = (None, 3.5, "text", [["text"]], {"a": []}, [{"concept": 3}])
FINE = (("made_at", "text"), ("where", {"a": []}))


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field in FIELDS for value in OTHERS if (field, value) not in FINE]
)
def test_a_file_of_something_else_counts_as_absent(made, tmp_path, field, value):
    file = CompressionFile(tmp_path, COLLECTION)
    file.save(made[1])
    with np.load(file.path) as held:
        header = json.loads(held["header"].tobytes())
    header.pop("version")
    save_artefact(file.path, {**header, field: value})
    assert file.load() is None


def test_a_damaged_file_counts_as_absent(made, tmp_path):
    file = CompressionFile(tmp_path, COLLECTION)
    file.save(made[1])
    whole = file.path.read_bytes()
    for damaged in (b"", b"{}", whole[: len(whole) // 2], whole.replace(b"learned", b"learnt_")):
        file.path.write_bytes(damaged)
        assert file.load() is None


def test_a_file_cannot_pass_off_a_concept_as_a_primitive(made, tmp_path):
    (one,) = made[1].learned
    hostile = replace(made[1], learned=(replace(one, concept=replace(one.concept, source="primitive")),))
    file = CompressionFile(tmp_path, COLLECTION)
    file.save(hostile)
    assert file.load() is None


def test_what_is_chosen_is_added_as_one_operation_and_undone_exactly(memory):
    found = compress(memory)
    before = memory.concepts.ids()
    operation_id = add_concepts(memory, found, [found.learned[0].concept.id])
    assert operation_id is not None
    operation = memory.operation(operation_id)
    assert (operation.kind, operation.reason) == ("compress", "found in 4 programs")
    (concept,) = memory.concepts.get_many(memory.concepts.ids())
    assert concept.source == "learned"
    assert set(concept.found_in) == set(memory.experience.ids())
    assert add_concepts(memory, found, [concept.id]) is None
    memory.undo(operation_id)
    assert memory.concepts.ids() == before


@pytest.fixture
def shop(tmp_path) -> Iterator[atlas.MemorySystem]:
    """Six attempts that share a workflow of three tools."""
    with opened_store(tmp_path / "shop") as opened:
        for number in range(6):
            opened.experience.store(refund(number))
        yield opened


def test_workflows_become_strategies_where_that_is_asked_for_and_are_undone_with_them(shop):
    found = compress(shop)
    (workflow,) = found.learned
    shop.undo(add_concepts(shop, found, [workflow.concept.id]))
    assert len(shop.strategies) == 0
    operation_id = add_concepts(shop, found, [workflow.concept.id], with_strategies=True)
    assert shop.operation(operation_id).reason == "found in 6 attempts"
    (strategy,) = shop.strategies.get_many(shop.strategies.ids())
    assert strategy.title == "find_user → get_order → refund"
    attempts = shop.experience.get_many(shop.experience.ids())
    assert sorted(strategy.sources) == sorted(attempt.trajectory_id for attempt in attempts)
    shop.undo(operation_id)
    assert (len(shop.strategies), len(shop.concepts)) == (0, 0)


def test_the_page_of_a_workflow_as_a_strategy_lists_the_attempts_that_it_was_learned_from(shop):
    found = compress(shop)
    add_concepts(shop, found, [found.learned[0].concept.id], with_strategies=True)
    detail = strategy_detail(shop, shop.strategies.ids()[0])
    assert [source.outcome for source in detail.sources] == ["✓ succeeded"] * 6
    assert {source.experience_id for source in detail.sources} == set(shop.experience.ids())
    assert {fact.name: fact.value for fact in detail.facts}["Written by"] == "workflow"


def test_a_workflow_that_is_added_again_does_not_repeat_its_strategy(shop):
    found = compress(shop)
    (workflow,) = found.learned
    for _ in range(2):
        add_concepts(shop, found, [workflow.concept.id], with_strategies=True)
        shop.concepts.delete([workflow.concept.id])
    assert len(shop.strategies) == 1


def test_what_a_chosen_concept_calls_comes_along_and_what_calls_it_does_not(memory):
    first = learned("first")
    second = learned("second", first)
    third = learned("third", second)
    found = holding(first, second, third, learned("other"))
    assert [concept.name for concept in found.with_callees(["id_second"])] == ["first", "second"]
    add_concepts(memory, found, ["id_second"])
    assert set(memory.concepts.ids()) == {"id_first", "id_second"}


def test_what_was_added_before_comes_back_neither_alone_nor_with_what_calls_it():
    callee, other = learned("callee"), learned("other")
    caller = learned("caller", callee)
    found = holding(callee, other, caller)
    everything = select_additions(found, [])
    assert list(everything) == ["id_callee", "id_other", "id_caller"]
    undone = everything["id_callee"]
    assert list(select_additions(found, [undone])) == ["id_other"]
    in_library = holding(replace(callee, is_known=True), other, caller)
    assert list(select_additions(in_library, [undone])) == ["id_other", "id_caller"]


def test_a_callee_that_is_not_proven_counts_as_added_with_its_caller():
    callee = replace(learned("callee"), n_verified=0)
    assert list(select_additions(holding(callee, learned("caller", callee)), [])) == ["id_callee", "id_caller"]
    assert select_additions(holding(callee), []) == {}


def test_what_calls_a_concept_that_was_deleted_since_is_refused(memory):
    known = learned("first", known=True)
    found = holding(known, learned("second", known))
    with pytest.raises(InvalidInput, match="calls a concept that has been deleted since the search; compress again"):
        add_concepts(memory, found, ["id_second"])
    assert len(memory.concepts) == 0


def test_a_name_that_was_taken_since_is_refused(memory):
    memory.concepts.add(replace(learned("first").concept, id="another", code="def first():\n    return 2\n"))
    with pytest.raises(InvalidInput, match="another concept is now named 'first'"):
        add_concepts(memory, holding(learned("first")), ["id_first"])
    assert memory.concepts.ids() == ["another"]


def test_only_the_successful_attempts_that_pass_the_filter_are_read(tmp_path):
    make_programs(tmp_path, source="north")
    make_programs(tmp_path, source="south", success=False)
    with opened_store(tmp_path) as memory:
        assert compress(memory, source="south").n_attempts == 0
        assert compress(memory, source="north").n_attempts == 4


def test_a_compression_that_is_cancelled_leaves_the_library_as_it_was(memory):
    revision = memory.revision()
    with pytest.raises(Cancelled):
        compress_now(memory, cancelled=lambda: True)
    assert memory.revision() == revision
    assert len(memory.concepts) == 0


def test_a_compression_that_is_killed_leaves_store_and_file_as_they_were(made):
    store, found = made
    worker = Worker()
    job = CompressionJob(store=str(store), output=str(store / CACHE))
    with opened_store(store) as memory:
        revision = memory.revision()
    worker.submit(job)
    wait_until_under_way(worker, job)
    worker.cancel(job.key)
    worker.close()
    with opened_store(store) as memory:
        assert memory.revision() == revision
        assert len(memory.concepts) == 0
    assert CompressionFile(store / CACHE, COLLECTION).load() == found


def wait_until_under_way(worker: Worker, job: CompressionJob) -> None:
    """Until the child has begun to read the store, or later."""
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < deadline:
        status = worker.status(job.key)
        assert status is not None
        assert status.state in ("queued", "running"), status.message
        if status.total:
            return
        time.sleep(0.05)
    pytest.fail("the worker does not begin")


def test_a_library_compresses_and_composes_by_default(memory):
    assert isinstance(memory.concepts.compression_strategy, StitchCompressionStrategy)
    assert isinstance(memory.concepts.composition_strategy, PipelineCompositionStrategy)
    inner = "def half(number: int) -> int:\n    return number // 2\n"
    outer = "def half_of_all(numbers: list[int]) -> list[int]:\n    return [half(number) for number in numbers]\n"
    last = "def total(numbers: list[int]) -> int:\n    return sum(numbers)\n"
    memory.concepts.add(atlas.CodeConcept(name="half", description="Halve.", code=inner))
    examples = (("half_of_all([4, 6])", "[2, 3]"),)
    ids = [
        memory.concepts.add(
            atlas.CodeConcept(name="half_of_all", description="Halve all.", code=outer, examples=examples)
        ),
        memory.concepts.add(atlas.CodeConcept(name="total", description="Add up.", code=last)),
    ]
    composed = memory.concepts.compose(ids)
    assert composed is not None
    assert composed.examples == (("half_of_all_then_total([4, 6])", "5"),)


def test_a_language_model_can_propose_what_is_proven_and_kept(memory, tmp_path):
    code = (
        "def tidied(text):\n    return ' '.join(text.strip().lower().replace('-', ' ').split())\n",
        "def three(x):\n    return x + 3\n",
    )
    answer = {"functions": [{"code": each, "programs": ["p1", "p2"]} for each in code]}
    unnamed = {"name": None, "description": "", "parameters": [], "returns": "", "guidance": ""}
    llm = ScriptedLLM([answer, unnamed])
    found = compress_now(memory, strategy=choose_strategy(llm))
    (one,) = found.learned
    assert (one.n_verified, one.n_checked) == (4, 4)
    assert found.engine == "scripted"
    assert "1 of 2 proposed functions do not occur verbatim in programs of two tasks" in found.notes[0]
    file = CompressionFile(tmp_path, COLLECTION)
    file.save(found)
    assert file.load() == found


def test_without_a_model_stitch_searches():
    assert isinstance(choose_strategy(), StitchCompressionStrategy)


def test_a_job_for_a_model_says_that_there_is_none(memory, tmp_path, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    job = CompressionJob(store=str(tmp_path), output=str(tmp_path / CACHE), with_model=True)
    with pytest.raises(LLMUnavailable, match="no API key"):
        job.run(lambda done, total, message: None)


def test_with_a_language_model_it_composes_and_names(tmp_path):
    llm = ScriptedLLM([])
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), llm=llm, settings=atlas.Settings()) as memory:
        assert isinstance(memory.concepts.composition_strategy, LLMCompositionStrategy)
        assert isinstance(memory.concepts.compression_strategy, StitchCompressionStrategy)
