"""The nouns of ATLAS: tasks, attempts at them, and what is remembered of those attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
"""Shape (n, dim), rows of unit length."""

Vector = npt.NDArray[np.float32]
"""Shape (dim,), unit length."""

T = TypeVar("T")
U = TypeVar("U")


def new_id() -> str:
    """A fresh id for a record or an operation: 32 hexadecimal digits."""
    return uuid4().hex


@dataclass(frozen=True, slots=True)
class VerificationSpec:
    """How it is decided whether an attempt succeeded."""

    method: str = ""
    """For example `tests`, `reward`, `exact_match`; empty where nobody said."""

    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """Something an agent was asked to do."""

    id: str
    """The same for every attempt at the same task."""

    domain: str
    """What the task's source calls its field; empty where it says nothing. Never embedded on its own."""

    description: str
    context: Mapping[str, Any] = field(default_factory=dict)
    """What was given with the task; values that JSON can hold."""

    verification: VerificationSpec = field(default_factory=VerificationSpec)


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of an attempt: what the agent thought, did and saw."""

    thought: str = ""
    action: str = ""
    observation: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended."""

    success: bool | None
    """None where the source does not say; unknown is never counted as a failure."""

    partial_score: float | None = None
    """In [0, 1], or None."""

    error_info: str | None = None
    verification_details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """`succeeded`, `failed` or `unknown`."""
        return {True: "succeeded", False: "failed", None: "unknown"}[self.success]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One attempt at a task, from the first step to the outcome."""

    task: Task
    steps: tuple[Step, ...]
    outcome: Outcome
    agent_id: str = ""
    timestamp: datetime | None = None
    """When it ended, with a time zone; None where the source does not say."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the source says of the attempt, such as `source`, `trial`, `model`, `solution`, `feedback`."""

    id: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """What is remembered of one attempt."""

    id: str
    task: Task
    trajectory_summary: str
    outcome: Outcome
    embedding_text: str
    """The text whose embedding finds this experience."""

    created_at: datetime
    """When the attempt ended, or, where its source does not say, when it was stored."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    solution_output: str = ""
    feedback: str = ""
    trajectory_id: str = ""
    agent_id: str = ""
    steps: tuple[Step, ...] = ()

    @property
    def task_input(self) -> str:
        """The task's description, by the name that the memory pillar's specification uses."""
        return self.task.description

    @property
    def success(self) -> bool | None:
        """`outcome.success`."""
        return self.outcome.success

    @property
    def timestamp(self) -> datetime:
        """`created_at`, by the name that the memory pillar's specification uses."""
        return self.created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeConcept:
    """Reusable code: what it does, the code itself, and where it came from."""

    id: str = field(default_factory=new_id)
    name: str
    """An identifier that people understand; of Python code, the name of the function that it defines."""

    description: str
    code: str
    signature: str = ""
    """For example `crop(grid: Grid, box: Box) -> Grid`."""

    examples: tuple[tuple[str, str], ...] = ()
    """Pairs of a call and its result, both as the language writes them."""

    usage_count: int = 0
    success_rate: float = 0.0
    """Of the uses whose outcome is known; 0 before there are any."""

    source: str = "imported"
    """`primitive`, `learned`, `composed` or `imported`."""

    language: str = "python"
    guidance: str = ""
    """When to use it."""

    calls: tuple[str, ...] = ()
    """Ids of the concepts whose functions its code calls."""

    found_in: tuple[str, ...] = ()
    """Ids of the experiences that it was found in."""

    composed_of: tuple[str, ...] = ()
    """Ids of the concepts that it was composed of."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    """When it was added; None before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A way to go about tasks of a kind: when it applies, and what to do then.

    Whether it is retired is no part of it: that follows from its outcomes, or from what a person marked.
    """

    id: str = field(default_factory=new_id)
    title: str = ""
    """A line to know it by."""

    situation: str
    """When to apply it, stated for any task of the kind, with `{name}` where tasks differ."""

    suggestion: str
    """What to do."""

    parameters: tuple[Mapping[str, str], ...] = ()
    """What differs between the tasks: `name`, `type`, and `description` or an `example`."""

    rationale: str = ""
    """Why it should work, and what says so."""

    usage_count: int = 0
    n_succeeded: int = 0
    """Of its uses."""

    success_rate: float = 0.5
    """As its bank's updater estimates it, in [0, 1]; 0.5 before it was used. May lie outside the interval that the
    counts give, as updaters weigh late outcomes more."""

    sources: tuple[str, ...] = ()
    """Ids of the trajectories that it was abstracted from."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    """`derived_by` says what abstracted it: `template`, for no model, or the name of a language model."""

    created_at: datetime | None = None
    """When it was written; None before."""


@dataclass(frozen=True, slots=True)
class Link:
    """What an entry of a journal says of its relation to another one."""

    type: str
    """`caused_by`, `fixed_by`, `related`, `summarises` or `refers_to`."""

    target_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One line of an agent's log."""

    id: str = field(default_factory=new_id)
    entry_type: str
    """`observation`, `crash_log`, `reflection`, `directive`, `task`, or one that its journal was told of."""

    content: str
    generation: int
    """Of the agent that wrote it; 0 where it does not count any."""

    created_at: datetime | None = None
    """When it was written; None before."""

    importance: float = 0.5
    """In [0, 1]; what has come of it since is not in it."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    tier: str = "hot"
    """`hot`, `warm`, `cold` or `archived`: how far it is on the way to being forgotten."""

    links: tuple[Link, ...] = ()
    """To other entries, by which it can be reached from those too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Generic[T]):
    """One retrieved memory and why it was retrieved."""

    item: T
    similarity: float
    """Cosine with the query, in [-1, 1]."""

    meaning: float
    """The same on the store's own scale: 0 for texts that have nothing to do with each other, 1 for neighbours."""

    words: float
    """Share of what the query's words tell that the memory holds, in [0, 1]; rare words tell most."""

    relevance: float
    """How likely it has to do with the query at all, in [0, 1], whatever else was found; comparable across models."""

    signals: Mapping[str, float]
    """Each signal's contribution to `rank_value`, by name; they add up to it.

    `diversity`, where that was asked for, takes away; `reranker`, where there is one, is missing where it did not look.
    """

    outcomes: Mapping[str, int]
    """How many of the attempts that it stands for `succeeded`, `failed` or are `unknown`: one, or several alike."""

    @property
    def rank_value(self) -> float:
        """What hits are ordered by, highest first."""
        return sum(self.signals.values())

    def of(self, item: U) -> Hit[U]:
        """The same hit, of what its item stands for."""
        return Hit(
            item=item,
            similarity=self.similarity,
            meaning=self.meaning,
            words=self.words,
            relevance=self.relevance,
            signals=self.signals,
            outcomes=self.outcomes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval(Generic[T]):
    """What was retrieved for a query: empty where nothing has to do with it."""

    hits: list[Hit[T]]
    """Best first."""

    n_hidden: int
    """How many would have been among the hits, but are less relevant than the threshold."""

    threshold: float
    """The relevance that a hit has at least, in [0, 1]."""

    problems: tuple[str, ...] = ()
    """What went wrong without costing the answer, each as a sentence: a reranker that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQueryResult:
    """What the memories of a system hold for a task; a memory that is missing, or failed, has no part in it."""

    experience_hits: tuple[Hit[Experience], ...] = ()
    """Best first, as in each of these."""

    concept_hits: tuple[Hit[CodeConcept], ...] = ()
    strategy_hits: tuple[Hit[Strategy], ...] = ()
    journal_hits: tuple[Hit[JournalEntry], ...] = ()
    n_hidden: Mapping[str, int] = field(default_factory=dict)
    """How many were not relevant enough to be among the hits, by memory: `experience`, `concepts`, `strategies`,
    `journal`."""

    errors: Mapping[str, str] = field(default_factory=dict)
    """What went wrong, by memory; the parts of the others are whole."""

    @property
    def experiences(self) -> list[Experience]:
        """Attempts at tasks that are like it."""
        return [hit.item for hit in self.experience_hits]

    @property
    def concepts(self) -> list[CodeConcept]:
        """Code that may serve it."""
        return [hit.item for hit in self.concept_hits]

    @property
    def strategies(self) -> list[Strategy]:
        """What to do in situations that are like it."""
        return [hit.item for hit in self.strategy_hits]

    @property
    def journal_entries(self) -> list[JournalEntry]:
        """What was noted that has to do with it."""
        return [hit.item for hit in self.journal_hits]

    @property
    def ids(self) -> dict[str, tuple[str, ...]]:
        """The ids of all hits, by memory."""
        return {
            "experience": tuple(one.id for one in self.experiences),
            "concepts": tuple(one.id for one in self.concepts),
            "strategies": tuple(one.id for one in self.strategies),
            "journal": tuple(one.id for one in self.journal_entries),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """What a vector store found, best first; the four lists have one length."""

    ids: list[str]
    distances: list[float]
    """1 − similarity for a vector query; 1 / (1 + BM25) for a text query: lower is closer."""

    metadatas: list[dict[str, Any]]
    documents: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What a query might mean, by vector and by words, in no order; the four lists have one length."""

    ids: list[str]
    similarities: list[float]
    """Cosine of the query with the record's best window, in [-1, 1]; 0 where there was no vector."""

    words: list[float]
    """BM25 of the query's words in the record: 0 where it holds none of them, or where there was no text."""

    metadatas: list[dict[str, Any]]
    """Without content."""

    word_information: float
    """The value that `words` would near in a record which holds all that was asked, often; never below any of them.

    A word that no record holds counts as the rarest would. 0 where the text has no words.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What people have said about a record since it was stored."""

    tags: tuple[str, ...] = ()
    pinned: bool = False
    """A pinned record is never pruned."""

    note: str = ""
    buried: bool = False
    """A buried record is left out of searches, unless they ask for it, but is kept, listed and counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What agents have done with a record since it was stored."""

    n_uses: int = 0
    """Tasks that it was used for and whose outcome was recorded."""

    n_successes: int = 0
    last_used_at: datetime | None = None
    n_retrieved: int = 0
    """Searches that returned it."""

    last_retrieved_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One attempt at a task that a record was used for, and how it went."""

    record_id: str
    """The one that was used; another one where that was merged since."""

    success: bool
    task_id: str
    """Empty where nobody said."""

    trajectory_id: str
    """The attempt; empty where nobody said."""

    at: datetime
    actor: str


NO_MARKS = Marks()
NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One change to a store that can be undone as a whole."""

    id: str
    kind: str
    """`store`, `import`, `edit`, `delete`, `prune`, `merge`, `mark`, `restore` or `undo`."""

    actor: str
    """Who did it."""

    created_at: datetime
    reason: str
    counts: Mapping[str, int]
    """How many records were `added`, `changed` or `removed`, and how many `marked`."""

    undoes: str | None = None
    """The operation that this one took back."""

    undone_by: str | None = None
    """The operation that took this one back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChange:
    """What an operation did to one record, or to its marks."""

    collection: str
    record_id: str
    title: str
    aspect: str
    """`record` or `marks`."""

    kind: str
    """`added`, `changed`, `removed` or `marked`."""

    fields: tuple[tuple[str, str, str], ...] = ()
    """Name, text before and text after of each field that differs; none for what was added or removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashedRecord:
    """A deleted record that can be brought back."""

    id: str
    title: str
    outcome: str
    """`succeeded`, `failed` or `unknown`."""

    deleted_at: datetime
    operation_id: str
    """The operation that deleted it."""

    kind: str
    """What that operation was, such as `delete`, `prune`, `merge` or `undo`."""

    actor: str
    reason: str
