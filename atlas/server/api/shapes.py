"""Request and response bodies of the API. Stored records are returned as the library's own types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import core_schema

from atlas.core.hits import Hit
from atlas.core.operations import Marks, Operation, RecordChange, Usage, Use
from atlas.core.types import (
    CodeConcept,
    Experience,
    JournalEntry,
    Outcome,
    Step,
    Strategy,
    Task,
    Trajectory,
    VerificationSpec,
    new_id,
)
from atlas.memory.base.versions import ItemVersion
from atlas.memory.context.block import Assignment, Omission
from atlas.memory.journal import LinkGraph
from atlas.memory.strategies.outcomes import StrategyRate

Text = Annotated[str, Field(max_length=1_000_000, pattern=r"^[^\x00]*$")]
"""A string that the ledger can store."""

Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00/]+$")]


class RequestBody(BaseModel):
    """A request body. Unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class VerificationInput(RequestBody):
    """The method by which an attempt was judged."""

    method: Text = ""
    parameters: dict[str, Any] = {}


class TaskInput(RequestBody):
    """A task."""

    description: Annotated[Text, Field(min_length=1)]
    id: Text = ""
    """Id of the task, the same for every attempt at it. By default derived from the description."""

    domain: Text = ""
    """Domain whose attempts are preferred. `where={"domain": …}` leaves all others out."""

    context: dict[str, Any] = {}
    verification: VerificationInput = VerificationInput()

    def task(self) -> Task:
        """Return the task as a `Task`."""
        verification = VerificationSpec(**self.verification.model_dump())
        return Task(self.id, self.domain, self.description, self.context, verification)


class ContextRequest(RequestBody):
    """A request for the context block of a task."""

    task: TaskInput
    budget_tokens: Annotated[int, Field(ge=0, le=1_000_000)] = 1_500
    k: Annotated[int, Field(ge=1, le=100)] = 8
    """Number of candidate hits from each memory."""

    where: dict[str, Any] | None = None
    """A filter for the records of every memory, such as `{"scope.project": "shop"}`."""

    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    """Lowest relevance of a hit. By default each memory's own level decides."""

    distinct: bool = False
    """True to return only the best of similar attempts."""

    diversity: Annotated[float, Field(ge=0, le=1)] = 0.0
    holdout: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Share of attempts that are held out at random and get an empty block. By default the server's ATLAS_HOLDOUT."""

    attempt: Text = ""
    """Name of the attempt, which seeds the random choice. By default the number of stored attempts at the task."""

    min_trust: Text = ""
    """Lowest class of trust of a shown record: `untrusted`, `imported`, `agent`, `reviewed` or `person`."""

    examples: Text = ""
    """Template of an example in the block, such as `Task: {task}\\nAnswer: {answer}`."""


class SearchRequest(RequestBody):
    """A search of one memory."""

    query: Text
    k: Annotated[int, Field(ge=1, le=100)] = 8
    where: dict[str, Any] | None = None
    """A filter such as `{"outcome": "failed"}`, with `$in`, `$gt`, `$gte`, `$lt`, `$lte`, `$and` and `$or`."""

    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    distinct: bool = False
    """True to return only the best of similar attempts."""

    diversity: Annotated[float, Field(ge=0, le=1)] = 0.0
    domain: Text = ""
    """Domain whose attempts are preferred."""

    by_words: bool = False
    """True to search by keywords only. Threshold, distinct and diversity are then ignored."""


class OutcomeInput(RequestBody):
    """Outcome of an attempt."""

    success: bool | None = None
    """Null if the outcome is unknown. An unknown outcome does not count as a failure."""

    partial_score: Annotated[float, Field(ge=0, le=1)] | None = None
    error_info: Text | None = None
    verification_details: dict[str, Any] = {}


class StepInput(RequestBody):
    """One step of an attempt."""

    thought: Text = ""
    action: Text = ""
    observation: Text = ""
    metadata: dict[str, Any] = {}


class AttemptInput(RequestBody):
    """An attempt at a task."""

    task: TaskInput
    steps: list[StepInput] = []
    outcome: OutcomeInput = OutcomeInput()
    agent_id: Text = ""
    timestamp: datetime | None = None
    """Time when the attempt ended, with a time zone."""

    metadata: dict[str, Any] = {}
    """Facts such as `model`, `solution` and `feedback`, and `used`: ids of the records that the attempt used."""

    id: Id | None = None

    def trajectory(self, attempt_id: str = "") -> Trajectory:
        """Return the attempt as a `Trajectory`.

        Args:
            attempt_id: The id to use if the request contains none, or empty for a new one.
        """
        return Trajectory(
            task=self.task.task(),
            steps=tuple(Step(**step.model_dump()) for step in self.steps),
            outcome=Outcome(**self.outcome.model_dump()),
            agent_id=self.agent_id,
            timestamp=self.timestamp,
            metadata=self.metadata,
            id=self.id or attempt_id or new_id(),
        )


class UseInput(RequestBody):
    """An attempt that used a record, and its outcome."""

    success: bool
    task_id: Text = ""
    trajectory_id: Text = ""


class MarksInput(RequestBody):
    """Changes of marks. Omitted fields are not changed."""

    add_tags: list[Text] = []
    remove_tags: list[Text] = []
    pinned: bool | None = None
    buried: bool | None = None
    note: Text | None = None


class MarksRequest(MarksInput):
    """Changes of marks of several records, as one operation."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=1_000)]


class OutcomesInput(RequestBody):
    """Outcomes of experiences, set as one operation."""

    outcomes: Annotated[dict[Id, bool | None], Field(min_length=1, max_length=1_000)]
    """True for a success, false for a failure, null for unknown, keyed by id of the experience."""

    reason: Text = ""
    """Shown in the history."""


class EditInput(MarksInput):
    """Changes of the fields and marks of a record. Omitted fields are not changed."""

    fields: dict[str, Any] = {}
    """New values by field name, as in the response of `GET`, such as `{"suggestion": "…"}`."""


class StrategyInput(RequestBody):
    """Advice for a kind of situation."""

    situation: Annotated[Text, Field(min_length=1)]
    suggestion: Annotated[Text, Field(min_length=1)]
    title: Text = ""
    rationale: Text = ""
    parameters: list[dict[Text, Text]] = []
    sources: list[Id] = []
    """Ids of the attempts that the strategy was learned from."""

    metadata: dict[str, Any] = {}
    id: Id | None = None


class ConceptInput(RequestBody):
    """Reusable code. It is only executed when its examples are run on request."""

    name: Annotated[Text, Field(min_length=1)]
    """For Python code, the name of its function."""

    description: Text = ""
    code: Annotated[Text, Field(min_length=1)]
    signature: Text = ""
    examples: list[tuple[Text, Text]] = []
    """Pairs of a call and its result, as code."""

    language: Text = "python"
    guidance: Text = ""
    metadata: dict[str, Any] = {}
    id: Id | None = None


class EntryInput(RequestBody):
    """A line of an agent's log."""

    entry_type: Annotated[Text, Field(min_length=1)]
    content: Annotated[Text, Field(min_length=1)]
    generation: Annotated[int, Field(ge=0, le=2**31)] = 0
    importance: Annotated[float, Field(ge=0, le=1)] | None = None
    metadata: dict[str, Any] = {}
    links: list[tuple[Text, Id]] = []
    """Pairs of a type, such as `caused_by`, and the id of another entry."""


class UndoRequest(RequestBody):
    """Reason for undoing an operation."""

    reason: Text = ""


class _OrPluginRecord:
    """Annotation of a record in a response, which allows records of plug-ins.

    The OpenAPI document describes only the annotated type. Values of other types are accepted and serialised as well.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        described_schema = handler(source)
        serialization = core_schema.wrap_serializer_function_ser_schema(lambda value, _: value, schema=described_schema)
        metadata: Any = {"pydantic_js_annotation_functions": [lambda _, to_json: to_json(described_schema)]}
        return core_schema.any_schema(metadata=metadata, serialization=serialization)


Record = Annotated[Experience | Strategy | CodeConcept | JournalEntry, _OrPluginRecord()]
"""A record of any memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHit(Hit[Any]):
    """A retrieved record and why it was retrieved."""

    item: Record

    @classmethod
    def from_hit(cls, hit: Hit[Any]) -> Self:
        """Return a hit of the library as a hit of the API."""
        return cls(**{field.name: getattr(hit, field.name) for field in fields(hit)})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordVersion(ItemVersion[Any]):
    """An earlier version of a record."""

    item: Record

    @classmethod
    def from_version(cls, version: ItemVersion[Any]) -> Self:
        """Return a version of the library as a version of the API."""
        return cls(**{field.name: getattr(version, field.name) for field in fields(version)})


class ContextResponse(BaseModel):
    """A context block for a prompt."""

    text: str
    n_tokens: int
    budget_tokens: int
    counted_with: str
    shown: Mapping[str, tuple[str, ...]]
    n_left_out: int
    shortened: Mapping[str, tuple[str, ...]]
    warnings: Mapping[str, tuple[str, ...]]
    omitted: tuple[Omission, ...]
    """Records that are not in the block, with reasons, in the order in which they were left out."""

    errors: Mapping[str, str]
    by_words: bool
    """True while the embedding model is loading: the records were found by keywords only."""

    assignment: Assignment | None
    """The random assignment of the attempt. Null if no attempts are held out."""


class SearchResponse(BaseModel):
    """Hits of a search, best first."""

    hits: list[RecordHit]
    n_hidden: int
    threshold: float
    problems: tuple[str, ...]
    by_words: bool
    """True while the embedding model is loading. Keywords found these hits, and their relevance is unknown."""

    notes: tuple[str, ...]
    """Warnings about the query, such as a key in its filter that no record has."""


class Page(BaseModel):
    """A page of records, with the cursor of the next one."""

    records: list[Record]
    n_records: int
    """Total number of records that match the filter."""

    cursor: str | None
    """Cursor of the next page, or null after the last."""

    notes: tuple[str, ...]
    """Warnings about keys of the filter that no record has."""


class RecordResponse(BaseModel):
    """One record with the requested parts."""

    record: Record
    marks: Marks
    usage: Usage
    etag: str
    """Value for `If-Match`, which changes whenever the record changes."""

    uses: list[Use] | None = None
    rate: StrategyRate | None = None
    """Success rate of a strategy."""

    links: LinkGraph | None = None
    """Entries linked from or to a journal entry."""

    versions: list[RecordVersion] | None = None
    """Previous versions of the record, newest first."""


class EntryResponse(BaseModel):
    """The id of a new journal entry, or the reason why it was rejected."""

    id: str | None
    """Id of the entry, or null if a gate rejected it."""

    refusal: str = ""
    """The gate's reason, or empty for an entry that was written."""

    scrubbed: dict[str, int] = {}
    """Number of secrets that were replaced in the entry, keyed by kind."""


class StoreResponse(BaseModel):
    """The ids of a stored attempt."""

    experience: str | None = None
    strategies: str | None = None
    concepts: list[str] = []
    """Ids of concepts that were extracted from the attempt immediately."""

    compression: str = ""
    """`started` if the attempt triggered a search for concepts in the background. Otherwise empty."""

    used: dict[str, list[str]] = {}
    """Ids of the memories for which the outcome was counted."""

    errors: dict[str, str] = {}
    operation: str | None = None
    """Id of the operation, for undo."""

    scrubbed: dict[str, int] = {}
    """Number of secrets that were replaced in the attempt, keyed by kind."""

    is_known: bool = False
    """True if the attempt was stored before, with the same idempotency key."""

    is_waiting: bool = False
    """True if the attempt is pending: only the key that stored it finds it, until a curator accepts it."""


class OperationsResponse(BaseModel):
    """A page of the history, newest first."""

    operations: list[Operation]
    n_operations: int


class OperationResponse(BaseModel):
    """One operation with its changes of records."""

    operation: Operation
    changes: list[RecordChange]


class PartialSuccess(BaseModel):
    """The spans of a request that were rejected."""

    rejectedSpans: str  # noqa: N815 - OTLP's name, and as a string, as in its JSON
    errorMessage: str  # noqa: N815


class TracesResponse(BaseModel):
    """Response of OTLP. Empty if all spans were accepted."""

    partialSuccess: PartialSuccess | None = None  # noqa: N815


class Health(BaseModel):
    """State of the server for all clients."""

    status: Literal["ready", "unavailable"]


class HealthDetails(Health):
    """State of the server for clients with a key."""

    version: str
    schema_version: int
    store: str
    """Name of the served directory."""

    is_model_ready: bool
    """False while the embedding model is loading, so that searches use keywords only."""

    n_behind: int
    """Number of changes not indexed yet. Searches include them, but are slower."""

    is_index_reachable: bool
    """False while the index service is unreachable. Searches are complete, but slower."""

    n_traces_waiting: int
    """Number of pending traces."""

    n_traces_refused: int
    """Number of traces that could not be converted to attempts. The reasons are in the server's log."""
