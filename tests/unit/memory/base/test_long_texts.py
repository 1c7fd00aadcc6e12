"""A memory of texts that are longer than what its embedder reads at once: nothing of them is lost, nothing is mixed."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import atlas
from atlas.embedding.chunking import encode_documents
from atlas.maps.snapshot import read_embedded, reread
from atlas.memory.experience.memory import COLLECTION
from atlas.memory.experience.refinement.heuristic import HeuristicRefineStrategy
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.maintenance.doctor import examine
from atlas.storage.maintenance.reembed import reembed
from atlas.testing import HashEmbedder
from tests.support.memories import attempt, memory_over, task

LONG = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"
OTHER = "nu xi omicron pi rho sigma tau upsilon phi chi psi omega"
N_VECTORS = 5
"""Of either: four windows of four words, and the whole."""

SEARCHED = {"few": {}, "by index": {"exact_max_rows": 3, "index_lag_rows": 2}}


def embedder(model="hash", *, window_words=4):
    return HashEmbedder(256, model, window_words=window_words)


@contextmanager
def opened(path, **options):
    given = options.pop("embedder", None) or embedder()
    with atlas.open_memory(path, embedder=given, settings=atlas.Settings(actor="t", **options)) as memory:
        yield memory


@pytest.fixture(params=SEARCHED)
def memory(request, tmp_path):
    with opened(tmp_path / "store", **SEARCHED[request.param]) as made:
        yield made


def vectors_of(memory):
    return memory.storage.collection(COLLECTION).vectors()


def assert_sound(memory):
    """Each record has the vectors of its text and no others, and so has the index."""
    texts = {row["id"]: row["document"] for row in memory.experience.browse()}
    held = vectors_of(memory)
    assert set(held) == set(texts)
    for record_id, expected in zip(texts, encode_documents(memory.experience.embedder, [*texts.values()]), strict=True):
        assert np.allclose(held[record_id], expected, atol=1e-6)
    memory.storage.catch_up()
    assert [finding for finding in examine(memory.storage) if finding.problem] == []


def found(memory, query, k=1):
    return [hit.item.task.description for hit in memory.experience.search_hits(query, k)]


def test_every_part_of_a_long_text_finds_it(memory):
    memory.experience.store_many([attempt(LONG), attempt(OTHER), attempt("short")])
    for text in (LONG, OTHER):
        for word in text.split():
            assert found(memory, word) == [text], word
    assert_sound(memory)


def test_a_long_task_finds_the_attempts_at_it(memory):
    memory.experience.store_many([attempt(OTHER), attempt("alpha beta gamma delta"), attempt(LONG)])
    assert memory.experience.search(task(LONG), 1)[0].task.description == LONG
    assert memory.experience.search_hits(LONG, 1)[0].similarity == pytest.approx(1, abs=1e-6)


def test_a_long_record_takes_one_place_among_the_hits(memory):
    memory.experience.store_many(
        [attempt(" ".join(["alpha beta gamma"] * 30)), *(attempt(f"alpha {i}") for i in "abc")]
    )
    texts = found(memory, "alpha beta gamma", 4)
    assert len(texts) == len(set(texts)) == 4


def test_similar_ones_are_those_alike_as_a_whole(memory):
    beginning, most = "alpha beta gamma delta", " ".join(LONG.split()[3:])
    first, *_ = memory.experience.store_many([attempt(LONG), attempt(beginning), attempt(most), attempt(OTHER)])
    assert [hit.item.task.description for hit in memory.experience.similar(first, 2)] == [most, beginning]


def test_a_long_text_edited_into_a_short_one_and_back_leaves_nothing_behind(memory):
    edited, _ = memory.experience.store_many([attempt(LONG), attempt(OTHER)])
    memory.storage.catch_up()
    memory.experience.edit(edited, task=task("brief"))
    assert vectors_of(memory)[edited].shape == (1, 256)
    assert found(memory, "kappa lambda mu", 9) != [LONG]
    assert memory.experience.search_hits("kappa lambda mu", 2)[0].similarity < 0.4
    assert_sound(memory)
    memory.experience.edit(edited, task=task(LONG))
    assert vectors_of(memory)[edited].shape == (N_VECTORS, 256)
    assert found(memory, "kappa lambda mu") == [LONG]
    assert_sound(memory)


def test_undo_brings_all_windows_back(memory):
    first, second = memory.experience.store_many([attempt(LONG), attempt(OTHER)])
    before = {record_id: own.tobytes() for record_id, own in vectors_of(memory).items()}
    editing = memory.experience.as_operation("edit")
    editing.edit(first, task=task("brief"))
    deleting = memory.experience.as_operation("delete")
    deleting.delete([second])
    assert_sound(memory)
    for operation_id in (deleting.operation_id, editing.operation_id):
        memory.storage.undo(operation_id)
    assert {record_id: own.tobytes() for record_id, own in vectors_of(memory).items()} == before
    assert found(memory, "omega") == [OTHER]
    assert_sound(memory)


def test_merging_keeps_the_windows_of_the_one_that_stays(memory):
    failed, kept = memory.experience.store_many([attempt(LONG, False), attempt(LONG, True)])
    assert memory.experience.merge([failed, kept]).id == kept
    assert vectors_of(memory).keys() == {kept}
    assert_sound(memory)
    memory.storage.undo(memory.history(1)[0].id)
    assert_sound(memory)


def test_windows_outlive_the_process(tmp_path):
    with opened(tmp_path / "store") as memory:
        memory.experience.store_many([attempt(LONG), attempt("short")])
    with opened(tmp_path / "store", exact_max_rows=2) as memory:
        assert not memory.storage.collection(COLLECTION).parts.nearest.is_exact()
        assert found(memory, "lambda mu") == [LONG]
        assert_sound(memory)


def test_a_store_is_large_by_its_vectors_not_by_its_records(tmp_path):
    with opened(tmp_path / "store", exact_max_rows=N_VECTORS, index_lag_rows=1) as memory:
        nearest = memory.storage.collection(COLLECTION).parts.nearest
        memory.experience.store(attempt(LONG))
        assert nearest.is_exact()
        assert nearest.updater.checkpoint().n_keys == 0
        memory.experience.store_many([attempt("short"), attempt("brief")])
        assert not nearest.is_exact()
        assert nearest.updater.checkpoint().n_keys == N_VECTORS + 2


@pytest.mark.parametrize("window_words", [2, 6, None])
def test_another_model_makes_its_own_windows_of_every_text_and_of_the_history(tmp_path, window_words):
    with opened(tmp_path / "store", exact_max_rows=3) as memory:
        first, _ = memory.experience.store_many([attempt(LONG), attempt("short")])
        editing = memory.experience.as_operation("edit")
        editing.edit(first, task=task(OTHER))
        reembed(memory.storage.ledger, embedder("new", window_words=window_words))
    with opened(tmp_path / "store", embedder=embedder("new", window_words=window_words)) as memory:
        assert_sound(memory)
        memory.storage.undo(editing.operation_id)
        assert_sound(memory)
        assert found(memory, LONG) == [LONG]


def test_a_restored_backup_has_all_windows(memory, tmp_path):
    (kept,) = memory.experience.store_many([attempt(LONG)])
    before = vectors_of(memory)[kept].tobytes()
    backup(memory.storage, tmp_path / "copy.zip")
    memory.experience.edit(kept, task=task("brief"))
    memory.experience.store(attempt(OTHER))
    restore(memory.storage, tmp_path / "copy.zip")
    assert vectors_of(memory)[kept].tobytes() == before
    assert found(memory, "lambda mu") == [LONG]
    assert_sound(memory)


def test_exported_windows_come_back_without_being_embedded_again(memory, tmp_path):
    ids = memory.experience.store_many([attempt(LONG), attempt("short")])
    exported = memory.experience.export(ids, with_vectors=True)
    with opened(tmp_path / "other") as other:
        other.experience.restore_many(exported)
        assert other.experience.embedder.texts == []
        assert [own.shape[0] for own in vectors_of(other).values()] == [N_VECTORS, 1]
        assert_sound(other)


def test_a_text_that_the_store_holds_gives_its_windows_to_the_next_record(memory):
    memory.experience.store(attempt(LONG))
    n_embedded = len(memory.experience.embedder.texts)
    memory.experience.store(attempt(LONG, False))
    assert len(memory.experience.embedder.texts) == n_embedded
    assert_sound(memory)


def test_the_map_shows_a_long_record_where_it_is_as_a_whole(memory):
    first, second = memory.experience.store_many([attempt(LONG), attempt("short")])
    earlier = read_embedded(memory.storage, COLLECTION)
    assert np.allclose(earlier.vectors, [vectors_of(memory)[record_id][0] for record_id in (first, second)], atol=1e-6)
    memory.experience.edit(second, task=task(OTHER))
    now = reread(memory.storage, COLLECTION, earlier)
    assert now.ids == (first, second)
    assert np.allclose(now.vectors, [vectors_of(memory)[record_id][0] for record_id in (first, second)], atol=1e-6)


def test_pruning_asks_what_is_alike_as_a_whole(memory):
    same_beginning = "alpha beta gamma delta " + OTHER
    memory.experience.store_many([attempt(LONG, False), attempt(same_beginning, False), attempt(f"{LONG} now", False)])
    plan = memory.experience.plan_prune({"min_success_rate": 0.5, "keep_diverse": True})
    assert len(plan.saved) == 2
    assert {decision.title for decision in plan.saved} >= {same_beginning}


def test_long_solutions_that_differ_at_their_end_are_no_duplicates():
    strategy = HeuristicRefineStrategy(embedder())
    with memory_over("memory", None, embedder=embedder(), refine_strategy=strategy) as memory:
        memory.store_many([attempt("sort", solution=f"{LONG} {end}") for end in ("one", "one", OTHER)])
        refined = memory.refine(memory.search(task("sort"), 4))
    assert sorted(len(experience.solution_output.split()) for experience in refined) == [13, 24]


@pytest.mark.parametrize("kind", ["memory", "dict", "ledger"])
def test_every_kind_of_store_holds_long_texts(kind, tmp_path):
    with memory_over(kind, tmp_path, embedder=embedder()) as memory:
        memory.store_many([attempt(OTHER), attempt(LONG)])
        assert memory.search(task("gamma delta"), 1)[0].task.description == LONG
        assert memory.search(task(OTHER), 1)[0].task.description == OTHER
        assert len(memory) == 2
