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
from atlas.importers.corpora.records import entry

CUSTOMER, AGENT = "Customer", "Agent"

MIN_WORDS = 8
"""Minimum number of words of a query message. A shorter one fits any conversation."""

MAX_ASKED = 3
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
        """Customer messages used as queries, without the first one."""
        messages = [text for speaker, text in self.turns if speaker == CUSTOMER][1:]
        return [text for text in messages if len(text.split()) >= MIN_WORDS][:MAX_ASKED]


def corpora(name: str, runs: Sequence[Trajectory]) -> list[JudgedCorpus]:
    """Return the conversations of runs as records, and their turns as records.

    Args:
        name: Name of the runs.
    """
    talks = _talks(runs)
    conversations = {talk.id: [entry(talk.id, talk.task_id, _transcript(talk.turns))] for talk in talks}
    single = {
        talk.id: [entry(f"{talk.id}:{n}", talk.task_id, _transcript([turn])) for n, turn in enumerate(talk.turns)]
        for talk in talks
    }
    return [
        _corpus(name, "dialogues", "conversations", talks, conversations),
        _corpus(name, "turns", "turns", talks, single),
    ]


def _corpus(
    origin: str, kind: str, record_kind: str, talks: Sequence[_Dialogue], records: Mapping[str, Sequence[Trajectory]]
) -> JudgedCorpus:
    of_task: dict[str, list[str]] = defaultdict(list)
    for talk in talks:
        of_task[talk.task_id] += [record.id for record in records[talk.id]]
    queries = []
    for talk in talks:
        own_ids = frozenset(record.id for record in records[talk.id])
        grades = {talk_id: SAME for talk_id in of_task[talk.task_id] if talk_id not in own_ids}
        number = talk.task_id.rpartition("/")[
            2
        ]  # the name seeds the dev/test split, so it must not change: late interaction was chosen on it
        queries += [JudgedQuery(text=text, grades=grades, group=number, excluded=own_ids) for text in talk.questions]
    task = RetrievalTask(
        name=f"{origin} {kind}, later message",
        about=f"What a customer says later on → the {record_kind} of the other trials of the same task; the "
        "conversation itself is left out.",
        queries=tuple(queries),
    )
    return JudgedCorpus(
        name=f"{origin} {kind}",
        trajectories=tuple(trajectory for talk in talks for trajectory in records[talk.id]),
        tasks=(task,),
        origin=origin,
    )


def _talks(runs: Sequence[Trajectory]) -> list[_Dialogue]:
    n_trials: dict[str, int] = defaultdict(int)
    talks = []
    for run in runs:
        talks.append(_Dialogue(f"{run.task.id}#{n_trials[run.task.id]}", run.task.id, tuple(_turns(run))))
        n_trials[run.task.id] += 1
    return talks


def _turns(run: Trajectory) -> Iterator[tuple[str, str]]:
    """Yield the messages in order. An action is a message if the customer answers it, or if it has no observation."""
    for step in run.steps:
        is_answered = step.metadata.get("observation_from") == "user"
        is_spoken = is_answered or not step.observation
        if is_spoken and step.action.strip():
            yield AGENT, step.action.strip()
        if is_answered and step.observation.strip():
            yield CUSTOMER, step.observation.strip()


def _transcript(turns: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"{speaker}: {text}" for speaker, text in turns)
