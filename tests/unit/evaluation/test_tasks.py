"""The ways to search a memory, asked judged queries and its own attempts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import atlas
from atlas.core.settings import RankingWeights, Settings
from atlas.embedding.foreign_queries import foreign_queries
from atlas.evaluation import tasks as evaluating
from atlas.evaluation.measures import JudgedCorpus, JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import SAME
from atlas.evaluation.tasks import AGENT, evaluate_corpora, evaluate_own, read_attempts, rows_of
from atlas.memory.base.calibration.measurement import LevelMeasurement
from atlas.testing import HashEmbedder
from tests.support.retrievers import query

TEXTS = {
    "cancel the flight to Oslo": "flight",
    "cancel a flight to Rome": "flight",
    "rotate the blue grid": "grid",
    "rotate the red grid": "grid",
    "draw a chart of sales": "chart",
}
SIGNALS = ("meaning", "words", "success", "recency")
ROWS = ["BM25", "dense", "RRF", "fused", AGENT, *(f"fused − {signal}" for signal in SIGNALS)]
OWN_ROWS = [*(name for name in ROWS if name != "RRF"), "fused − use", "fused − pin"]


def unwatched(what):
    return lambda done, total: None


def attempt(text, *, task_id="", success=True, id="", **metadata):
    task = atlas.Task(task_id or TEXTS.get(text, text), "", text)
    return atlas.Trajectory(task=task, steps=(), outcome=atlas.Outcome(success), metadata=metadata, id=id or text)


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        opened.experience.store_many([attempt(text, success=text != "rotate the red grid") for text in TEXTS])
        yield opened


def corpus(name="letters"):
    queries = (
        JudgedQuery(text="cancel my flight", grades={"cancel the flight to Oslo": SAME}, group="flight"),
        JudgedQuery(text="red grid", grades={"rotate the red grid": SAME}, group="grid"),
    )
    tasks = tuple(RetrievalTask(name=f"{name} {n}", about="…", queries=queries) for n in (1, 2))
    return JudgedCorpus(name=name, trajectories=tuple(attempt(text) for text in TEXTS), tasks=tasks)


def on_corpora(*corpora, embedder=None, watch=unwatched):
    embedder = embedder or HashEmbedder()
    return evaluate_corpora(corpora, embedder, settings=Settings(), half="both", seed=0, watch=watch)


def test_every_way_to_search_is_tried_on_every_task():
    report = on_corpora(corpus())
    assert [task.name for task in report.tasks] == ["letters 1", "letters 2"]
    for task in report.tasks:
        assert [row.name for row in task.rows] == ["plain BM25", *ROWS]
        assert {row.estimates["hit@5"].mean for row in task.rows} == {1.0}
    assert list(report.retrievers) == ["plain BM25", *ROWS]
    assert (report.model, report.half) == ("hash", "both")


def test_each_text_is_embedded_once_whatever_the_number_of_rows_tasks_and_corpora():
    embedder = HashEmbedder()
    on_corpora(corpus("one"), corpus("two"), embedder=embedder)
    assert sorted(embedder.texts) == sorted([*TEXTS, "cancel my flight", "red grid"])


def test_one_corpus_is_not_found_in_another_and_nothing_is_left_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other = JudgedCorpus(name="other", trajectories=(attempt("cancel my flight"),), tasks=())
    report = on_corpora(other, corpus())
    assert report.tasks[0].n_records == len(TEXTS)
    assert report.tasks[0].rows[1].estimates["hit@1"].mean == 1
    assert list(Path(tmp_path).iterdir()) == []


def test_progress_is_told_of_each_corpus_and_task():
    told = []
    on_corpora(corpus(), watch=lambda what: lambda done, total: told.append((what, done, total)))
    assert ("storing letters", 5, 5) in told
    assert ("letters 2", 20, 20) in told
    assert told[-1] == ("context blocks of letters 2", 2, 2)


def test_rows_rank_by_the_ids_that_judgements_know_and_leave_out_what_they_should(memory):
    for row in rows_of(memory, "trajectory_id"):
        ids = row.rank("cancel the flight to Oslo", {"cancel the flight to Oslo"}, 1).ids
        assert ids == ("cancel a flight to Rome",)


def test_other_weights_rank_the_same_experiences(memory):
    """A red grid is nearest, but failed."""
    bare, eager = (memory.experience.ranked_with(RankingWeights(success=weight, use=0, recency=0)) for weight in (0, 1))
    assert bare.search_hits("rotate the red grid", 1)[0].item.task.description == "rotate the red grid"
    assert eager.search_hits("rotate the red grid", 1)[0].item.task.description == "rotate the blue grid"


def test_other_rows_can_be_compared(memory):
    def eager(memory, id_field):
        weighted = memory.experience.ranked_with(RankingWeights(success=1))
        return [evaluating.SearchRow("eager", "…", evaluating.best_match_search(weighted), id_field)]

    report = evaluate_own(memory, half="both", seed=0, watch=unwatched, rows_of=eager)
    assert report.retrievers == {"eager": "…"}
    assert [row.name for row in report.tasks[0].rows] == ["eager"]


def test_a_store_is_evaluated_on_its_own_attempts(memory):
    report = evaluate_own(memory, half="both", seed=0, watch=unwatched)
    [task] = report.tasks
    assert (task.n_queries, task.n_groups, task.n_records) == (4, 2, 5)
    assert [row.name for row in task.rows] == OWN_ROWS
    assert task.rows[1].estimates["hit@1"].mean == 1
    assert (report.outcomes.n_attempts, report.outcomes.base_rate) == (5, 0.8)


def test_a_store_is_asked_at_each_strictness_as_its_agent_is_at_the_present_one(memory):
    report = evaluate_own(memory, half="both", seed=0, watch=unwatched)
    [agent] = [row for row in report.tasks[0].rows if row.name == AGENT]
    steps = {step.strictness: step for step in report.strictness}
    assert list(steps) == [step / 10 for step in range(31)]
    assert steps[1.0].first_right == agent.estimates["hit@1"]
    assert steps[1.0].found_nothing == agent.estimates["found nothing"]
    assert steps[1.0].foreign_answered.mean == report.foreign[0].told_something[AGENT].mean
    shares = [step.foreign_answered.mean for step in report.strictness]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("strictness", [0.4, 1.8])
def test_at_another_strictness_a_store_answers_as_it_was_foretold(memory, strictness):
    """Otherwise the advice to change it would promise what does not happen."""
    foretold = evaluate_own(memory, half="both", seed=0, watch=unwatched).strictness
    memory.apply_strictness(memory.plan_strictness(strictness))
    report = evaluate_own(memory, half="both", seed=0, watch=unwatched)
    [agent] = [row for row in report.tasks[0].rows if row.name == AGENT]
    [step] = [step for step in foretold if step.strictness == strictness]
    assert step.first_right == agent.estimates["hit@1"]
    assert step.found_nothing == agent.estimates["found nothing"]
    assert step.foreign_answered.mean == report.foreign[0].told_something[AGENT].mean
    assert step.foreign_answered.mean != foretold[10].foreign_answered.mean
    assert report.strictness == foretold


def test_the_level_is_computed_once_for_each_strictness(memory, monkeypatch):
    """It takes milliseconds, and hundreds of queries are asked."""
    computed = []

    def computed_cut(measured, weights, language, cut=LevelMeasurement.thresholds):
        computed.append(weights.strictness)
        return cut(measured, weights, language)

    monkeypatch.setattr(LevelMeasurement, "thresholds", computed_cut)
    [row] = [row for row in rows_of(memory, "id") if row.name == AGENT]
    attempts = read_attempts(memory)
    tasks = evaluating.own_tasks(memory, attempts, half="both", seed=0)
    texts, options = {each.id: each.text for each in attempts}, {"half": "both", "seed": 0}
    asked = []
    steps = evaluating.measure_strictness(
        row, tasks, texts, ["bake a loaf", "the tides"], on_progress=lambda *done: asked.append(done), **options
    )
    assert computed == [each.strictness for each in steps]
    assert asked[-1] == (6, 6)


def test_each_strictness_is_measured_on_judged_queries_too(memory):
    """At a strictness that hides everything, no first hit is right."""
    [row] = [row for row in rows_of(memory, "id") if row.name == AGENT]
    attempts = read_attempts(memory)
    memory.judge(attempts[0].text, attempts[0].id, True)
    tasks = evaluating.own_tasks(memory, attempts, half="both", seed=0)
    steps = evaluating.measure_strictness(
        row, tasks, {each.id: each.text for each in attempts}, ["the tides"], half="both", seed=0,
        on_progress=lambda *done: None,
    )  # fmt: skip
    assert {step.n_judged for step in steps} == {1}
    assert (steps[0].strictness, steps[0].judged_right.mean) == (0.0, 1.0)


def test_a_stores_own_rows_are_what_it_uses_now_and_what_it_could_use(memory):
    profiles = memory.storage.profiles
    profiles.save("meaning only", replace(RankingWeights(), words=0.0, success=0.0))
    profiles.save("eager", RankingWeights(success=1))
    profiles.use("meaning only")
    report = evaluate_own(memory, half="both", seed=0, watch=unwatched)
    left = [name for name in OWN_ROWS if name not in ("fused − words", "fused − success")]  # they have no weight
    assert list(report.retrievers) == [*left, "profile default", "profile eager"]
    assert report.retrievers["fused"] == "what `search` of this store does now: profile 'meaning only'"
    assert set(report.tasks[0].rows[-1].differences) == set(report.outcomes.rows[-1].differences) == {"fused"}


def test_a_profile_is_measured_as_it_ranks_and_beside_what_is_used(memory):
    """Every other attempt is found first by meaning; a weight that lifts all successes finds none of the grids'."""
    memory.storage.profiles.save("eager", RankingWeights(success=100))
    report = evaluate_own(memory, half="both", seed=0, watch=unwatched)
    eager = report.tasks[0].rows[-1]
    now = next(row for row in report.tasks[0].rows if row.name == "fused")
    assert (now.estimates["hit@1"].mean, eager.estimates["hit@1"].mean) == (1, 0.75)
    assert eager.differences["fused"]["hit@1"].mean == -0.25


def test_each_text_is_embedded_once_whatever_the_number_of_rows(tmp_path):
    embedder = HashEmbedder()
    with atlas.open_memory(tmp_path / "store", embedder=embedder) as opened:
        opened.experience.store_many([attempt(text) for text in TEXTS])
        embedder.texts.clear()
        evaluate_own(opened, half="both", seed=0, watch=unwatched)
    assert len(embedder.texts) == len(set(embedder.texts))
    assert set(embedder.texts) - set(foreign_queries()) == set(TEXTS)


def test_evaluating_a_store_changes_nothing_and_counts_no_retrieval(memory):
    revision = memory.revision()
    evaluate_own(memory, half="both", seed=0, watch=unwatched)
    memory.storage.close()
    assert memory.revision() == revision
    assert {used.n_retrieved for used in memory.experience.usage(memory.experience.ids()).values()} == {0}


def test_what_searches_do_not_find_is_not_asked_for(memory):
    [red] = memory.experience.ids({"title": "rotate the red grid"})
    memory.experience.change_marks([red], buried=True)
    assert [found.text for found in read_attempts(memory)] == [text for text in TEXTS if "red" not in text]


def test_an_agents_row_is_what_retrieve_gives_and_none_counts_as_a_retrieval(memory):
    row = next(row for row in rows_of(memory, "id") if row.name == AGENT)
    for text in (*TEXTS, "cancel my flight", "quite another matter"):
        given = memory.experience.retrieve(text, 3, count_retrieval=False)
        assert row.rank(text, (), 3).ids == tuple(hit.item.id for hit in given.hits)
    assert row.rank("quite another matter", (), 3).ids == ()
    assert {used.n_retrieved for used in memory.experience.usage(memory.experience.ids()).values()} == {0}


@pytest.mark.parametrize("n_left_out", [1, 2, 4, 5])
def test_an_agents_row_never_sees_what_is_left_out(memory, n_left_out):
    row = next(row for row in rows_of(memory, "trajectory_id") if row.name == AGENT)
    weights = replace(memory.experience.weights, strictness=0.0)
    row = replace(row, experience=memory.experience.ranked_with(weights))
    left_out = set(sorted(TEXTS)[:n_left_out])
    assert {*row.rank("cancel the flight to Oslo", left_out, 10).ids} == set(TEXTS) - left_out


def test_how_many_foreign_queries_are_told_something_is_measured_for_agents_alone(memory):
    report = evaluate_own(memory, half="both", seed=0, watch=unwatched)
    [result] = report.foreign
    assert (result.asked_in, result.source, result.n_queries) == ("this store", "many subjects", 200)
    assert list(result.told_something) == [AGENT]
    assert 0 <= result.told_something[AGENT].mean < 1


def test_each_corpus_is_asked_what_is_foreign_to_it():
    other = JudgedCorpus(
        name="kitchen",
        trajectories=(attempt("bake a loaf of bread"),),
        tasks=(RetrievalTask(name="k", about="…", queries=(query("bread", "bake a loaf of bread"),)),),
        nonsense=("rotate the red grid",),
    )
    report = on_corpora(corpus(), other)
    told = {(each.asked_in, each.source): (each.n_queries, each.told_something[AGENT].mean) for each in report.foreign}
    assert told == {
        ("letters", "kitchen"): (1, 0),
        ("kitchen", "nonsense"): (1, 0),
        ("kitchen", "letters"): (2, 0),
        ("kitchen", "all of these"): (3, 0),
    }


def test_a_store_with_nothing_to_compare_says_so(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        opened.experience.store(attempt("draw a chart", success=None))
        with pytest.raises(atlas.NotFound, match=r"needs a task .* the 1 experiences have none"):
            evaluate_own(opened, half="both", seed=0, watch=unwatched)


def test_attempts_at_one_task_are_not_collapsed(memory):
    """The answer is all of them; a search that shows one for all would be measured wrongly."""
    memory.experience.store_many([attempt("draw a chart of sales", id=f"again {n}") for n in range(6)])
    for row in evaluating.rows_of(memory, "trajectory_id"):
        assert len(row.rank("draw a chart of sales", (), 7).ids) == 7
