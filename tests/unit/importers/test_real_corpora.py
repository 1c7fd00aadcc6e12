"""Retrieval tasks on runs that nobody here wrote."""

from __future__ import annotations

import pytest

from atlas.core.settings import Settings
from atlas.evaluation.baselines import PlainBM25
from atlas.evaluation.measures import evaluate
from atlas.importers.corpora import find_corpora


@pytest.fixture(scope="module")
def corpora(real_data):
    return {corpus.name: corpus for corpus in find_corpora([real_data], Settings())}


def test_every_source_gives_its_tasks(corpora):
    found = {
        task.name: (len(corpus.trajectories), len(task.queries), len({query.group for query in task.queries}))
        for corpus in corpora.values()
        for task in corpus.tasks
    }
    assert found == {
        "τ-bench airline, first message": (200, 200, 50),
        "τ-bench airline, instruction": (200, 50, 50),
        "τ-bench airline dialogues, later message": (200, 586, 50),
        "τ-bench airline turns, later message": (2_872, 586, 50),
        "Reflexion, reflection": (998, 216, 216),
        "Reflexion, sentence": (998, 601, 601),
        "Protea, crashes": (53, 65, 37),
        "Protea, whole log": (693, 65, 37),
        "SWE-agent, issue": (22, 11, 2),
    }


def test_each_query_has_as_many_right_answers_as_its_source_says(corpora):
    def n_right(corpus, task):
        return {len(query.grades) for query in corpora[corpus].tasks[task].queries}

    assert n_right("τ-bench airline", 0) == {3}
    assert n_right("τ-bench airline", 1) == {4}
    assert n_right("Reflexion attempts", 0) == n_right("Reflexion attempts", 1) == {1, 2}
    assert n_right("Protea, crashes", 0) == n_right("Protea, whole log", 0) == {1}
    assert n_right("SWE-agent runs", 0) == {7, 2}


def test_what_is_right_is_stored_under_an_id_of_its_own_and_never_left_out(corpora):
    for corpus in corpora.values():
        ids = [trajectory.id for trajectory in corpus.trajectories]
        assert len(set(ids)) == len(ids)
        for query in (query for task in corpus.tasks for query in task.queries):
            assert query.grades.keys() <= set(ids)
            assert not query.grades.keys() & query.excluded


def test_no_record_of_reflexion_holds_a_reflection(corpora):
    runs = corpora["Reflexion attempts"].trajectories
    assert {key for run in runs for key in run.metadata} == {"solution"}
    held = "\n".join(f"{run.task.description}\n{run.metadata.get('solution')}" for run in runs)
    assert not any(query.text in held for query in corpora["Reflexion attempts"].tasks[0].queries)


def test_plain_bm25_finds_other_trials_about_as_often_as_was_published(corpora):
    """Published for another plain BM25, with its own way to part words: .700, .875, .925, MRR .775."""
    corpus = corpora["τ-bench airline"]
    [row] = evaluate(corpus.tasks[0], corpus.texts, [PlainBM25(corpus.texts)], half="both", seed=0).rows
    found = {name: row.estimates[name].mean for name in ("hit@1", "hit@5", "hit@10", "MRR@10")}
    assert found == pytest.approx({"hit@1": 0.70, "hit@5": 0.86, "hit@10": 0.895, "MRR@10": 0.767}, abs=0.0006)
