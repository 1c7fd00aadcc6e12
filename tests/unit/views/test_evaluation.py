"""What was measured comes from a file, and a file may say anything: it is shown, or told to be unreadable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import atlas
from atlas.core.statistics import Estimate, Interval
from atlas.evaluation.job import EvaluationFile, evaluate_now
from atlas.evaluation.judged import JUDGED_TASK
from atlas.evaluation.leave_one_out import OWN_ATTEMPTS
from atlas.evaluation.report import OwnEvaluation, as_json
from atlas.jobs.artefact import save_artefact
from atlas.testing import HashEmbedder
from atlas.views.charts.palette import FAILURE_COLOUR, GREY
from atlas.views.evaluation.charts import measured_chart
from atlas.views.evaluation.own import (
    MEASURES,
    MeasuredRow,
    MeasureRow,
    measure_row,
    measured_caption,
    table_rows,
    why_outdated,
)
from atlas.views.evaluation.strictness import COLOURS, JUDGED_RIGHT, OWN_RIGHT
from atlas.views.shared.results import JobStatus, time_left
from tests.support.records import attempt

OTHERS = (None, "text", "\ud800", -1, 10**400, float("nan"), True, [], {}, [[]], {"mean": 0.5})


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        texts = [f"Mend report {task} of customer {task * 37}" for task in range(3)]
        opened.experience.store_many([attempt(text, task_id=text, success=n == 0) for text in texts for n in range(2)])
        yield opened


def places(held: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value of JSON, with every name or number in it."""
    for name in list(held) if isinstance(held, dict) else range(min(len(held), 2)) if isinstance(held, list) else ():
        yield held, name
        yield from places(held[name])


def show(memory: atlas.MemorySystem, found: OwnEvaluation) -> None:
    """What the page does with it."""
    assert measured_caption(memory, found).encode()
    why_outdated(memory, found)
    for of in filter(None, (measure_row(found, measure) for measure in MEASURES)):
        assert json.dumps(measured_chart(of))
        assert of.caption
    assert json.dumps(table_rows(found))


@pytest.mark.parametrize(("task_name", "name"), [(OWN_ATTEMPTS, OWN_RIGHT), (JUDGED_TASK, JUDGED_RIGHT)])
def test_a_measure_of_all_searches_has_the_colour_of_the_queries_and_what_is_worse_is_red(task_name, name):
    def differing(low: float, high: float) -> MeasuredRow:
        mean = Estimate(mean=(low + high) / 2, interval=Interval(low, high))
        return MeasuredRow(setting=f"{low}", value=mean, difference=mean)

    rows = (differing(0.1, 0.3), differing(-0.3, -0.1), differing(-0.1, 0.1))
    values, differences = measured_chart(
        MeasureRow(rows=rows, chance=0.0, chance_name="a random order", n=20, n_tasks=9), task_name
    )["data"]
    assert set(values["marker"]["color"]) == {COLOURS[name]}
    assert differences["marker"]["color"] == [COLOURS[name], FAILURE_COLOUR, GREY]


def test_whatever_a_file_says_is_shown_or_unreadable(memory, tmp_path):
    found = evaluate_now(memory, seed=0, on_progress=lambda done, total, what: None)
    file = EvaluationFile(tmp_path, "things")
    file.save(found)
    assert file.load() == found
    n_unreadable = 0
    report = json.loads(as_json(found.report))
    header = {"measured_at": found.measured_at, "revision": found.revision, "ledger_id": found.ledger_id,
              "profiles": json.loads(json.dumps(found.profiles)), "in_use": found.in_use, "report": report}  # fmt: skip
    every = list(places(header))
    for number, (container, name) in enumerate(every):
        held, other = container[name], OTHERS[number % len(OTHERS)]
        container[name] = other
        save_artefact(file.path, {**header, "report": json.dumps(header["report"])})
        read = file.load()
        n_unreadable += read is None
        if read is not None:
            show(memory, read)
        container[name] = held
    assert n_unreadable > len(every) // 2


def test_progress_is_that_of_the_whole_measurement(memory):
    [first, *_] = memory.experience.ids()
    memory.judge("a report to mend", first, True)
    progress: list[tuple[int, int]] = []
    evaluate_now(memory, seed=0, on_progress=lambda done, total, what: progress.append((done, total)))
    shares = [done for done, _ in progress]
    assert {total for _, total in progress} == {100}
    assert shares == sorted(shares)
    assert (shares[0] < 20, shares[-1]) == (True, 100)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (JobStatus(state="running", done=40, total=100, started_seconds=100.0), "40% done, about 3 minutes left."),
        (JobStatus(state="running", done=80, total=100, started_seconds=100.0), "80% done, about 30 s left."),
        (JobStatus(state="running", done=5, total=100, started_seconds=100.0), "Begun 120 s ago."),
        (JobStatus(state="queued"), ""),
    ],
)
def test_the_time_left_is_estimated_from_the_progress(status, text):
    assert time_left(status, 220.0) == text


@pytest.mark.parametrize("measured_at", ["yesterday", "2026-01-01", "2026-01-01T00:00:00"])
def test_a_measurement_of_no_known_time_is_unreadable(memory, tmp_path, measured_at):
    found = evaluate_now(memory, seed=0, on_progress=lambda done, total, what: None)
    file = EvaluationFile(tmp_path, "things")
    fields = {name: getattr(found, name) for name in OwnEvaluation.__dataclass_fields__}
    file.save(OwnEvaluation(**{**fields, "measured_at": measured_at}))
    assert file.load() is None
