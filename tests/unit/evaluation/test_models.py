"""Embedding models side by side on a store's own records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import atlas
from atlas import EmbeddingUnavailable, NotFound, Settings
from atlas.cli import main
from atlas.embedding.choice import BUNDLED
from atlas.evaluation.models import compare_models, models_as_json, models_as_markdown, models_as_text
from atlas.testing import HashEmbedder
from tests.support.records import attempt

TASKS = ("sort the numbers", "mend the door", "pay the bill", "water the plants", "paint the fence", "sing a song")


class BlindEmbedder(HashEmbedder):
    """An embedder to which all texts are the same, in a direction of their length."""

    def _embed(self, text: str):
        return super()._embed(str(len(text) % 2))


def embedder_of(name: str) -> HashEmbedder:
    if name == "absent":
        raise EmbeddingUnavailable("its files are not on this machine")
    return BlindEmbedder(model_name=name) if name == "blind" else HashEmbedder(model_name=name)


@pytest.fixture
def store(tmp_path) -> Path:
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        for place, task in enumerate(TASKS):
            memory.experience.store_many(
                [attempt(task, task_id=str(place)), attempt(f"please {task} now", task_id=str(place))]
            )
    return tmp_path / "store"


def compared(store: Path, *models: str):
    with atlas.open_memory(store, embedder=HashEmbedder(), read_only=True) as memory:
        return compare_models(
            memory,
            models,
            embedder_of,
            settings=Settings(),
            half="both",
            seed=0,
            watch=lambda what: lambda done, n: None,
        )


def test_each_model_is_measured_on_the_same_queries_beside_the_stores_own(store):
    before = (store / "atlas.sqlite").read_bytes()
    report = compared(store, "blind", "hash")
    [task] = report.tasks
    assert [row.name for row in task.rows] == ["hash", "blind"]
    own, blind = task.rows
    assert own.differences == {}
    assert blind.differences["hash"]["MRR@10"].mean == pytest.approx(
        blind.estimates["MRR@10"].mean - own.estimates["MRR@10"].mean
    )
    assert (report.own, report.n_records) == ("hash", 12)
    assert all(cost.query_ms > 0 and cost.search_ms > 0 and cost.embedding_seconds > 0 for cost in report.costs)
    assert (store / "atlas.sqlite").read_bytes() == before


def test_a_model_that_cannot_be_had_costs_no_other_its_figures(store):
    report = compared(store, "absent", "blind")
    assert [row.name for row in report.tasks[0].rows] == ["hash", "blind"]
    for text in (models_as_text(report), models_as_markdown(report)):
        assert "absent was not measured: its files are not on this machine" in text
    assert [cost["problem"] for cost in json.loads(models_as_json(report))["costs"]][1:2] != [""]


def test_the_tables_name_models_measures_and_times(store):
    report = compared(store, "blind")
    assert "MRR@10 − that of the store's own" in models_as_text(report)
    heading = "| model | embedding a query | searching with it | embedding the store | its files |"
    assert heading in models_as_markdown(report)


def test_a_store_without_a_task_that_was_tried_twice_says_what_to_do(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.experience.store(attempt("alone"))
    with pytest.raises(NotFound, match="atlas evaluate PATH --model NAME"):
        compared(tmp_path / "store", "blind")


def test_the_command_compares_models_of_the_store(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("ATLAS_EMBEDDING_MODEL", BUNDLED)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with atlas.open_memory(tmp_path / "store") as memory:
        for place, task in enumerate(TASKS[:3]):
            memory.experience.store_many(
                [attempt(task, task_id=str(place)), attempt(f"{task} today", task_id=str(place))]
            )
    monkeypatch.delenv("ATLAS_EMBEDDING_MODEL")
    assert main(["evaluate", "--models", f"{BUNDLED},nobody/has-this-one"]) == 1
    said = capsys.readouterr().out
    assert f"The store has {BUNDLED}" in said
    assert "nobody/has-this-one was not measured" in said
    assert main(["evaluate", "somewhere", "--models", BUNDLED]) == 1
    assert "--models cannot be combined with PATH or --model" in capsys.readouterr().err
