"""The bodies that the API takes and gives. What is stored is given as the library's own types."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from atlas.core.hits import Hit
from atlas.core.operations import Marks, Operation, RecordChange, Usage, Use
from atlas.core.types import (
    Outcome,
    Step,
    Task,
    Trajectory,
    VerificationSpec,
    new_id,
)
from atlas.memory.base.versions import ItemVersion
from atlas.memory.context import Coin, Omission
from atlas.memory.journal import LinkGraph

Text = Annotated[str, Field(max_length=1_000_000, pattern=r"^[^\x00]*$")]
"""A text that the ledger can hold."""

Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00/]+$")]


class RequestBody(BaseModel):
    """A body that a client sends: what it does not know of is refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class VerificationInput(RequestBody):
    """How an attempt was judged."""

    method: Text = ""
    parameters: dict[str, Any] = {}


class TaskInput(RequestBody):
    """A task."""

    description: Annotated[Text, Field(min_length=1)]
    id: Text = ""
    """The same for every attempt at the same task. By default made of the description."""

    domain: Text = ""
    context: dict[str, Any] = {}
    verification: VerificationInput = VerificationInput()

    def task(self) -> Task:
        """Return the task as the library has it."""
        judged = VerificationSpec(**self.verification.model_dump())
        return Task(self.id, self.domain, self.description, self.context, judged)


class ContextRequest(RequestBody):
    """A question for what is remembered for a task."""

    task: TaskInput
    budget_tokens: Annotated[int, Field(ge=0, le=1_000_000)] = 1_500
    k: Annotated[int, Field(ge=1, le=100)] = 8
    """Hits of each memory among which the block chooses."""

    where: dict[str, Any] | None = None
    """A filter for the records of every memory, such as `{"scope.project": "shop"}`."""

    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    """Lowest relevance of a hit. By default each memory's own level decides."""

    distinct: bool = False
    """True to let one attempt stand for all that are alike."""

    diversity: Annotated[float, Field(ge=0, le=1)] = 0.0
    holdout: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Share of attempts that a coin gives an empty block. By default the server's ATLAS_HOLDOUT."""

    attempt: Text = ""
    """Name of the attempt that the coin is tossed for. By default the number of stored attempts at the task."""


class SearchRequest(RequestBody):
    """A search of one memory."""

    query: Text
    k: Annotated[int, Field(ge=1, le=100)] = 8
    where: dict[str, Any] | None = None
    """A filter such as `{"outcome": "failed"}`, with `$in`, `$gt`, `$gte`, `$lt`, `$lte`, `$and` and `$or`."""

    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    distinct: bool = False
    """True to let one attempt stand for all that are alike."""

    diversity: Annotated[float, Field(ge=0, le=1)] = 0.0
    by_words: bool = False
    """True to search by words alone. Threshold, distinct and diversity are ignored then."""


class OutcomeInput(RequestBody):
    """How an attempt ended."""

    success: bool | None = None
    """Null where that is not known. An unknown outcome is never counted as a failure."""

    partial_score: Annotated[float, Field(ge=0, le=1)] | None = None
    error_info: Text | None = None
    verification_details: dict[str, Any] = {}


class StepInput(RequestBody):
    """One turn of an attempt."""

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
    """Time when it ended. One without a time zone is refused."""

    metadata: dict[str, Any] = {}
    """Facts such as `model`, `solution` and `feedback`, and `used`: ids of the memories that it used."""

    id: Id | None = None

    def trajectory(self, attempt_id: str = "") -> Trajectory:
        """Return the attempt as the library has it.

        Args:
            attempt_id: The id of an attempt that has none of its own.
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
    """An attempt that used a record, and how it went."""

    success: bool
    task_id: Text = ""
    trajectory_id: Text = ""


class MarksInput(RequestBody):
    """Changes of marks. What is left out stays."""

    add_tags: list[Text] = []
    remove_tags: list[Text] = []
    pinned: bool | None = None
    buried: bool | None = None
    note: Text | None = None


class MarksRequest(MarksInput):
    """Changes of marks of several records, as one operation."""

    ids: Annotated[list[Id], Field(min_length=1, max_length=1_000)]


class EditInput(MarksInput):
    """Changes of the fields of a record, and of its marks. What is left out stays."""

    fields: dict[str, Any] = {}
    """New values by the names of fields, as `GET` gives them, such as `{"suggestion": "…"}`."""


class StrategyInput(RequestBody):
    """Advice for a kind of situation."""

    situation: Annotated[Text, Field(min_length=1)]
    suggestion: Annotated[Text, Field(min_length=1)]
    title: Text = ""
    rationale: Text = ""
    parameters: list[dict[Text, Text]] = []
    sources: list[Id] = []
    """Ids of the attempts that it was learned from."""

    metadata: dict[str, Any] = {}
    id: Id | None = None


class ConceptInput(RequestBody):
    """Reusable code. It is stored and shown, but run only where its examples are run on request."""

    name: Annotated[Text, Field(min_length=1)]
    """For Python code, the name of the function that it defines."""

    description: Text = ""
    code: Annotated[Text, Field(min_length=1)]
    signature: Text = ""
    examples: list[tuple[Text, Text]] = []
    """Pairs of a call and its result, both as the language writes them."""

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
    """Why an operation is taken back."""

    reason: Text = ""


class ContextResponse(BaseModel):
    """A part of a prompt."""

    text: str
    n_tokens: int
    budget_tokens: int
    counted_with: str
    shown: Mapping[str, tuple[str, ...]]
    n_left_out: int
    shortened: Mapping[str, tuple[str, ...]]
    warnings: Mapping[str, tuple[str, ...]]
    omitted: tuple[Omission, ...]
    """Records that are not in the block, and why, in the order in which they were left out."""

    errors: Mapping[str, str]
    by_words: bool
    """True while the embedding model is being made ready: what is shown was found by words alone."""

    coin: Coin | None
    """The coin that decided whether the attempt is shown anything. Null if no attempts are held out."""


class SearchResponse(BaseModel):
    """Hits of a search, best first."""

    hits: list[Hit[Any]]
    n_hidden: int
    threshold: float
    problems: tuple[str, ...]
    by_words: bool
    """True while the embedding model is being made ready: words alone found these, so their relevance is not known."""

    notes: tuple[str, ...]
    """Sentences on the question itself, such as a name in its filter that no record has yet."""


class Page(BaseModel):
    """Some records, and where to go on."""

    records: list[Any]
    n_records: int
    """Number of all that pass the filter."""

    cursor: str | None
    """The cursor of the next page, or null after the last."""

    notes: tuple[str, ...]
    """Sentences on names of the filter that no record has yet."""


class RecordResponse(BaseModel):
    """One record with what else was asked for."""

    record: Any
    marks: Marks
    usage: Usage
    etag: str
    """For `If-Match`: another one as soon as anything of it has changed."""

    uses: list[Use] | None = None
    rate: dict[str, Any] | None = None
    links: LinkGraph | None = None
    """The entries that are linked with a journal entry, either way."""

    versions: list[ItemVersion[Any]] | None = None
    """Its states before each edit, the last first."""


class EntryResponse(BaseModel):
    """Where an entry of the journal is held now, or why it is not."""

    id: str | None
    """Null where a gate kept it out."""

    refusal: str = ""
    """The gate's reason. Empty for an entry that was written."""

    scrubbed: dict[str, int] = {}
    """Number of secrets that were replaced in it, by kind."""


class StoreResponse(BaseModel):
    """Where an attempt is held now."""

    experience: str | None = None
    strategies: str | None = None
    concepts: list[str] = []
    """Ids of the concepts that were found in it at once."""

    compression: str = ""
    """`started` where concepts are looked for in the background because of it. Else empty."""

    used: dict[str, list[str]] = {}
    """Ids of the memories that the outcome was counted for."""

    errors: dict[str, str] = {}
    operation: str | None = None
    """The operation to undo it by."""

    scrubbed: dict[str, int] = {}
    """Number of secrets that were replaced in it, by kind."""

    is_known: bool = False
    """True if it was stored before, under the same key for repetition."""

    is_waiting: bool = False
    """True where only the key that stored it finds it until a curator accepts it."""


class OperationsResponse(BaseModel):
    """Some of the history, newest first."""

    operations: list[Operation]
    n_operations: int


class OperationResponse(BaseModel):
    """One operation, and what it did to each record."""

    operation: Operation
    changes: list[RecordChange]


class Health(BaseModel):
    """State of the server, as it is given to all clients."""

    status: Literal["ready", "unavailable"]


class HealthDetails(Health):
    """State of the server, as it is given to clients with a key."""

    version: str
    schema_version: int
    store: str
    """Name of the directory that is served."""

    is_model_ready: bool
    """False while the embedding model is being made ready, so that searches go by words."""

    n_behind: int
    """Number of changes that the vector index has not indexed yet. Searches include them, but take longer."""

    is_index_reachable: bool
    """False while the service that keeps the index does not answer. Searches are complete, but take longer."""

    n_traces_waiting: int
    """Number of traces that are still coming in."""

    n_traces_refused: int
    """Number of traces that no attempt could be made of. The server's log has the reasons."""
