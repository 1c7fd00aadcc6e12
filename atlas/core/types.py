"""The basic types of ATLAS: tasks, attempts at them, and the records of those attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from atlas.core.schema import IF_MISSING, REQUIRED
from atlas.core.tables import TableRow, Tabular

Vectors = npt.NDArray[np.float32]
"""Shape (n, dim), rows of unit length."""

Vector = npt.NDArray[np.float32]
"""Shape (dim,), unit length."""


def new_id() -> str:
    """Return a fresh id for a record or an operation: 32 hexadecimal digits."""
    return uuid4().hex


class VectorRecord(Tabular):
    """Base class of records with a vector. The vector is not a field, so it is not compared, copied or encoded."""

    __slots__ = ("_embedding",)

    @property
    def embedding(self) -> Vector | None:
        """Vector of the record's text, shape (dim,), float32, unit length, read-only.

        None unless a memory has returned the record.
        """
        return getattr(self, "_embedding", None)


def attach_embedding(record: VectorRecord, embedding: npt.ArrayLike) -> None:
    """Set the vector of a record that was just read.

    Args:
        embedding: Shape (dim,), or (n, dim) for a long text, whose first row is the vector of the whole text.
    """
    vector = np.array(np.atleast_2d(np.asarray(embedding, np.float32))[0])
    vector /= np.linalg.norm(vector)
    vector.flags.writeable = False
    object.__setattr__(record, "_embedding", vector)


@dataclass(frozen=True, slots=True)
class VerificationSpec:
    """A method to verify whether an attempt succeeded."""

    method: str = ""
    """Kind of the check: `tests`, `reward` or `exact_match`, or empty if not given."""

    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """A task for an agent."""

    id: str
    """Id of the task, the same for every attempt at it."""

    domain: str = field(metadata={IF_MISSING: ""})
    """Subject area of the task in the words of the task's source, or empty. Never embedded on its own."""

    description: str
    context: Mapping[str, Any] = field(default_factory=dict)
    """Further input of the task, as JSON values."""

    verification: VerificationSpec = field(default_factory=VerificationSpec)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an attempt: the agent's thought and action, and the observation that followed."""

    thought: str = ""
    action: str = ""
    observation: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


OUTCOMES = ("succeeded", "failed", "unknown")
"""Labels of outcomes."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended."""

    success: bool | None
    """None if unknown. An unknown outcome is never counted as a failure."""

    partial_score: float | None = None
    """Share of success, in [0, 1], or None."""

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
    steps: tuple[Step, ...] = field(metadata={IF_MISSING: ()})
    outcome: Outcome
    agent_id: str = ""
    timestamp: datetime | None = None
    """Time when the attempt ended, with a time zone, or None if unknown."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Facts from the source about the attempt, such as `source`, `trial`, `model`, `solution`, `feedback`."""

    id: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience(VectorRecord):
    """The memory of one attempt."""

    id: str
    task: Task
    trajectory_summary: str = field(metadata={IF_MISSING: ""})
    outcome: Outcome
    embedding_text: str = field(metadata={IF_MISSING: ""})
    """The text whose embedding finds this experience."""

    created_at: datetime
    """Time when the attempt ended, or, if unknown, when it was stored."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    solution_output: str = ""
    feedback: str = ""
    trajectory_id: str = ""
    agent_id: str = ""
    steps: tuple[Step, ...] = ()

    @property
    def task_input(self) -> str:
        """The task's description, under the name that the specification uses."""
        return self.task.description

    @property
    def success(self) -> bool | None:
        """The same as `outcome.success`."""
        return self.outcome.success

    @property
    def timestamp(self) -> datetime:
        """The same as `created_at`, under the name that the specification uses."""
        return self.created_at

    def _caption(self) -> str:
        return self.task.description

    def _rows(self) -> Iterator[TableRow]:
        yield {"": "outcome", "experience": self.outcome.label}
        yield from (
            {"": f"step {n}", "experience": step.action or step.thought} for n, step in enumerate(self.steps, 1)
        )
        yield {"": "answer", "experience": self.solution_output}
        yield {"": "feedback", "experience": self.feedback}


RULES_AUTHOR = "heuristic"
"""Value of `documented_by` in the metadata of concepts that rules have described."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeConcept(VectorRecord):
    """Reusable code, with its description and origin."""

    id: str = field(default_factory=new_id, metadata={REQUIRED: True})
    name: str
    """An identifier that people understand. For Python code, the name of the function that it defines."""

    description: str
    code: str
    signature: str = ""
    """Signature, such as `crop(grid: Grid, box: Box) -> Grid`."""

    examples: tuple[tuple[str, str], ...] = ()
    """Pairs of a call and its result, both in the syntax of the language."""

    usage_count: int = 0
    success_rate: float = 0.0
    """Share of successes among the uses with a known outcome, or 0 before there are any."""

    source: str = "imported"
    """`primitive`, `learned`, `composed` or `imported`."""

    language: str = "python"
    guidance: str = ""
    """Advice on when to use the concept."""

    calls: tuple[str, ...] = ()
    """Ids of the concepts whose functions its code calls."""

    found_in: tuple[str, ...] = ()
    """Ids of the experiences in whose programs the concept was found."""

    composed_of: tuple[str, ...] = ()
    """Ids of the concepts from which this one was composed."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    """Time when the concept was added, or None if it is not stored yet."""

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the agent's tools that the code calls, from `tools` in the metadata."""
        names = self.metadata.get("tools")
        if isinstance(names, list | tuple):
            return tuple(name for name in names if isinstance(name, str))
        return ()

    def _caption(self) -> str:
        return self.name

    def _rows(self) -> Iterator[TableRow]:
        yield {"": "description", "concept": self.description}
        yield {"": "code", "concept": self.code}
        yield {"": "uses", "concept": self.usage_count}


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy(VectorRecord):
    """Advice for one kind of task: a situation, and a suggestion for it.

    Retirement is no field: it follows from the strategy's outcomes, or from a person's mark.
    """

    id: str = field(default_factory=new_id, metadata={REQUIRED: True})
    title: str = ""
    """A one-line title."""

    situation: str
    """Situation for which the strategy is meant, stated for any task of the kind, with `{name}` where tasks differ."""

    suggestion: str
    """Advice for the situation."""

    parameters: tuple[Mapping[str, str], ...] = ()
    """Values that differ between the tasks, each with `name`, `type`, and `description` or `example`."""

    rationale: str = ""
    """Reason why the strategy should work, and the evidence for that."""

    usage_count: int = 0
    n_succeeded: int = 0
    """Number of uses that succeeded."""

    success_rate: float = 0.5
    """Success rate that the bank's updater estimates, in [0, 1], or 0.5 before the first use.

    The rate may lie outside the interval that the counts give, because updaters weigh late outcomes more.
    """

    sources: tuple[str, ...] = ()
    """Ids of the trajectories from which the strategy was abstracted."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Further facts. `derived_by` is `template`, `workflow`, or the name of a language model."""

    created_at: datetime | None = None
    """Time when the strategy was written, or None if it is not stored yet."""

    def _caption(self) -> str:
        return self.title or self.situation

    def _rows(self) -> Iterator[TableRow]:
        yield {"": "situation", "strategy": self.situation}
        yield {"": "suggestion", "strategy": self.suggestion}
        yield {"": "worked", "strategy": f"{self.n_succeeded} of {self.usage_count}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Tabular):
    """A person's message, and the agent's answer."""

    id: str = field(default_factory=new_id, metadata={REQUIRED: True})
    conversation: str
    user_text: str
    response: str
    created_at: datetime
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def _caption(self) -> str:
        return self.user_text

    def _rows(self) -> Iterator[TableRow]:
        yield {"": "response", "turn": self.response}
        yield {"": "conversation", "turn": self.conversation}


@dataclass(frozen=True, slots=True)
class Link:
    """Link from a journal entry to another entry."""

    type: str
    """`caused_by`, `fixed_by`, `related`, `summarises` or `refers_to`."""

    target_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry(Tabular):
    """One entry of an agent's log."""

    id: str = field(default_factory=new_id, metadata={REQUIRED: True})
    entry_type: str
    """`observation`, `crash_log`, `reflection`, `directive`, `task`, or a type of the journal's own."""

    content: str
    generation: int = field(metadata={IF_MISSING: 0})
    """Generation of the agent that wrote the entry, or 0 if the agent does not count generations."""

    created_at: datetime | None = None
    """Time when the entry was written, or None if it is not stored yet."""

    importance: float = 0.5
    """Importance in [0, 1] at the time of writing. Later uses are not part of it."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    tier: str = "hot"
    """Stage of forgetting: `hot`, `warm`, `cold` or `archived`."""

    links: tuple[Link, ...] = ()
    """Links to other entries, which can be followed in both directions."""

    def _caption(self) -> str:
        return self.content

    def _rows(self) -> Iterator[TableRow]:
        yield {"": "type", "journal": self.entry_type}
        yield {"": "generation", "journal": self.generation}
        yield {"": "importance", "journal": self.importance}
