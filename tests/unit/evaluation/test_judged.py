"""What was judged on a store is a task of its evaluation."""

from __future__ import annotations

import pytest

import atlas
from atlas.evaluation.judged import JUDGED_TASK, ONLY_WRONG
from atlas.evaluation.metrics import EMPTY_SHARE
from atlas.evaluation.report import as_text
from atlas.evaluation.tasks import AGENT, evaluate_own
from atlas.testing import HashEmbedder
from tests.support.records import attempt

NONSENSE = "lamb tagine with apricots"


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        yield opened


@pytest.fixture
def ids(memory):
    texts = ["mend the web report", "rotate the red grid", "draw a chart of sales"]
    return memory.experience.store_many([attempt(text, task_id=text, success=None) for text in texts])


def judged(memory):
    """The judged task of the store's report, if it has one."""
    return next((task for task in report_on(memory).tasks if task.name == JUDGED_TASK), None)


def report_on(memory):
    return evaluate_own(memory, half="both", seed=0, watch=lambda what: lambda done, total: None)


def only_wrong(memory):
    """How many queries have only wrong hits, and the share of them that an agent gets something for."""
    found = next((one for one in report_on(memory).foreign if one.source == ONLY_WRONG), None)
    return (found.n_queries, found.told_something[AGENT].mean) if found else None


def current(task):
    return next(row for row in task.rows if row.name == "fused")


def test_a_query_with_a_right_experience_is_to_find_it(memory, ids):
    memory.judge("the web report is broken", ids[0], True)
    memory.judge("the web report is broken", ids[1], False)
    memory.judge("mend the web report", ids[2], True)
    task = judged(memory)
    assert (task.n_queries, task.n_groups, task.n_records) == (2, 2, 3)
    assert current(task).estimates["hit@1"].mean == 0.5
    assert only_wrong(memory) is None


def test_a_query_with_only_wrong_experiences_is_to_find_nothing(memory, ids):
    memory.judge("rotate the red grid", ids[1], True)
    memory.judge(NONSENSE, ids[1], False)
    task = judged(memory)
    assert (task.n_queries, current(task).estimates[EMPTY_SHARE].mean) == (1, 0)
    assert only_wrong(memory) == (1, 0)


def test_what_is_gone_is_left_out_and_a_query_whose_right_hits_are_gone_is_no_nonsense(memory, ids):
    memory.judge("rotate the red grid", ids[1], True)
    memory.judge("rotate the red grid", ids[0], False)
    memory.judge("mend the web report", ids[0], True)
    memory.judge(NONSENSE, ids[1], False)
    memory.experience.delete([ids[1]])
    assert judged(memory).n_queries == 1
    assert only_wrong(memory) is None


def test_only_experiences_are_measured(memory, ids):
    entry = memory.journal.add("observation", "the web report broke", generation=1)
    memory.judge("the web report is broken", entry, True)
    with pytest.raises(atlas.NotFound, match="or a hit judged right, but the"):
        judged(memory)


def test_a_store_without_judgements_has_no_such_task(memory, ids):
    memory.experience.store(attempt("mend the web report", task_id="mend the web report"))
    assert judged(memory) is None


def test_the_report_names_the_task(memory, ids):
    memory.judge("the web report is broken", ids[0], True)
    report = evaluate_own(memory, half="both", seed=0, watch=lambda what: lambda done, total: None)
    assert "your judged queries: 1 query about 1 task" in as_text(report)
