"""SWE-agent: an issue should find the runs on it, among challenges that were run once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from atlas.core.types import Trajectory
from atlas.evaluation.measures import JudgedCorpus, JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import SAME
from atlas.importers.corpora.records import make_record


def build_corpus(runs: Sequence[Trajectory]) -> JudgedCorpus:
    """Return a corpus of runs. A record is described by the issue, and solved by the submitted patch."""
    ids_by_issue: dict[str, list[str]] = defaultdict(list)
    records = []
    for run in runs:
        run_record = make_record(run, f"{run.task.id}#{len(ids_by_issue[run.task.id])}", run.task.description)
        ids_by_issue[run.task.id].append(run_record.id)
        records.append(run_record)
    task = RetrievalTask(
        name="SWE-agent, issue",
        about="An issue → the other runs on that repository, the run itself left out. All runs on a repository are on "
        "one issue and carry its text word for word, so anything that works finds them.",
        queries=tuple(
            JudgedQuery(
                text=run.task.description,
                grades={run_id: SAME for run_id in ids_by_issue[run.task.id] if run_id != run.id},
                group=run.task.id,
                excluded=frozenset({run.id}),
            )
            for run in records
            if len(ids_by_issue[run.task.id]) > 1
        ),
    )
    return JudgedCorpus(name="SWE-agent runs", trajectories=tuple(records), tasks=(task,))
