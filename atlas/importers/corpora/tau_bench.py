"""τ-bench: a customer's first message finds the other trials of the same task, and so does the task's instruction.

Source:
    https://github.com/sierra-research/tau-bench
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from atlas.core.errors import ImportFailed
from atlas.core.types import Trajectory
from atlas.evaluation.measures import JudgedCorpus, JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import SAME
from atlas.importers.corpora import dialogues
from atlas.importers.corpora.records import make_record


def corpora(runs: Sequence[Trajectory]) -> list[JudgedCorpus]:
    """Return a corpus whose queries are first messages, and those corpora of later messages that have any query.

    Raises:
        ImportFailed: A run does not begin with a message of its customer.
    """
    first = build_corpus(runs)
    parts_with_queries = [part for part in dialogues.corpora(first.name, runs) if part.tasks[0].queries]
    return [first, *parts_with_queries]


def build_corpus(runs: Sequence[Trajectory]) -> JudgedCorpus:
    """Return a corpus of runs. A record is described by the customer's first message, and solved by the last action.

    Raises:
        ImportFailed: A run does not begin with a message of its customer.
    """
    trials: dict[str, list[str]] = defaultdict(list)
    records = []
    for run in runs:
        run_record = make_record(run, f"{run.task.id}#{len(trials[run.task.id])}", _first_message(run))
        trials[run.task.id].append(run_record.id)
        records.append(run_record)
    instructions = {run.task.id: run.task.description for run in runs}
    name = " ".join(["τ-bench", *dict.fromkeys(run.task.domain for run in runs if run.task.domain)])
    return JudgedCorpus(
        name=name,
        trajectories=tuple(records),
        tasks=(_first_message_task(name, records, trials), _instruction_task(name, instructions, trials)),
        origin=name,
    )


def _first_message_task(name: str, records: Sequence[Trajectory], trials: Mapping[str, Sequence[str]]) -> RetrievalTask:
    return RetrievalTask(
        name=f"{name}, first message",
        about="A customer's first message → the other trials of the same task, described by their first messages; "
        "the run itself is left out.",
        queries=tuple(
            JudgedQuery(
                text=run.task.description,
                grades={trial_id: SAME for trial_id in trials[run.task.id] if trial_id != run.id},
                group=run.task.id,
                excluded=frozenset({run.id}),
            )
            for run in records
        ),
    )


def _instruction_task(name: str, instructions: Mapping[str, str], trials: Mapping[str, Sequence[str]]) -> RetrievalTask:
    return RetrievalTask(
        name=f"{name}, instruction",
        about="The instruction of the simulated customer → the trials of that task, described by their first messages.",
        queries=tuple(
            JudgedQuery(text=instruction, grades=dict.fromkeys(trials[task_id], SAME), group=task_id)
            for task_id, instruction in instructions.items()
        ),
    )


def _first_message(run: Trajectory) -> str:
    """Return the user's first message. The importer stores it as a step without an action."""
    opening = run.steps[0] if run.steps else None
    if opening is None or opening.action or not opening.observation.strip():
        raise ImportFailed(f"a run of {run.task.id} does not begin with a user message; leave it out")
    return opening.observation
