"""τ-bench's conversations: a later message of the customer should find the other trials of the same task.

One corpus retrieves whole conversations, the other single turns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from atlas.core.types import Trajectory
from atlas.evaluation.measures import JudgedCorpus, JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import SAME
from atlas.importers.corpora.records import make_entry

CUSTOMER, AGENT = "Customer", "Agent"

MIN_WORDS = 8
"""Minimum number of words of a query message. A shorter one fits any conversation."""

MAX_QUERIES = 3
"""Maximum number of query messages per conversation."""


@dataclass(frozen=True, slots=True)
class _Dialogue:
    """The spoken turns of one run, without tool calls and results."""

    id: str
    task_id: str
    turns: tuple[tuple[str, str], ...]
    """Speakers and their messages."""

    @property
    def questions(self) -> list[str]:
        """The customer's messages after the first that are long enough to serve as queries."""
        messages = [text for speaker, text in self.turns if speaker == CUSTOMER][1:]
        return [text for text in messages if len(text.split()) >= MIN_WORDS][:MAX_QUERIES]


def corpora(name: str, runs: Sequence[Trajectory]) -> list[JudgedCorpus]:
    """Return two corpora of the same runs. Records are whole conversations in one, and single turns in the other.

    Args:
        name: Name of the runs, with which the names of the corpora begin.
    """
    dialogues = _dialogues(runs)
    conversations = {
        dialogue.id: [make_entry(dialogue.id, dialogue.task_id, _transcript(dialogue.turns))] for dialogue in dialogues
    }
    turns = {
        dialogue.id: [
            make_entry(f"{dialogue.id}:{n}", dialogue.task_id, _transcript([turn]))
            for n, turn in enumerate(dialogue.turns)
        ]
        for dialogue in dialogues
    }
    return [
        _corpus(name, "dialogues", "conversations", dialogues, conversations),
        _corpus(name, "turns", "turns", dialogues, turns),
    ]


def _corpus(
    origin: str,
    kind: str,
    record_kind: str,
    dialogues: Sequence[_Dialogue],
    records: Mapping[str, Sequence[Trajectory]],
) -> JudgedCorpus:
    ids_by_task: dict[str, list[str]] = defaultdict(list)
    for dialogue in dialogues:
        ids_by_task[dialogue.task_id] += [record.id for record in records[dialogue.id]]
    queries = []
    for dialogue in dialogues:
        own_ids = frozenset(record.id for record in records[dialogue.id])
        grades = {record_id: SAME for record_id in ids_by_task[dialogue.task_id] if record_id not in own_ids}
        # The number seeds the dev/test split, on which late interaction was chosen, so it must not change.
        _, _, number = dialogue.task_id.rpartition("/")
        queries += [
            JudgedQuery(text=text, grades=grades, group=number, excluded=own_ids) for text in dialogue.questions
        ]
    task = RetrievalTask(
        name=f"{origin} {kind}, later message",
        about=f"What a customer says later on → the {record_kind} of the other trials of the same task; the "
        "conversation itself is left out.",
        queries=tuple(queries),
    )
    return JudgedCorpus(
        name=f"{origin} {kind}",
        trajectories=tuple(trajectory for dialogue in dialogues for trajectory in records[dialogue.id]),
        tasks=(task,),
        origin=origin,
    )


def _dialogues(runs: Sequence[Trajectory]) -> list[_Dialogue]:
    n_trials: dict[str, int] = defaultdict(int)
    dialogues = []
    for run in runs:
        dialogues.append(_Dialogue(f"{run.task.id}#{n_trials[run.task.id]}", run.task.id, tuple(_turns(run))))
        n_trials[run.task.id] += 1
    return dialogues


def _turns(run: Trajectory) -> Iterator[tuple[str, str]]:
    """Yield the speaker and the text of each message, in order.

    An action counts as a message if the customer answers it, or if it has no observation.
    """
    for step in run.steps:
        is_answered = step.metadata.get("observation_from") == "user"
        is_spoken = is_answered or not step.observation
        if is_spoken and step.action.strip():
            yield AGENT, step.action.strip()
        if is_answered and step.observation.strip():
            yield CUSTOMER, step.observation.strip()


def _transcript(turns: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"{speaker}: {text}" for speaker, text in turns)
