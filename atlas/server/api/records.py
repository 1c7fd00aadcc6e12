"""Routes for the records of each memory: search, list, read, mark, and record uses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Set as AbstractSet
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response

from atlas.core.errors import AtlasError, InvalidInput, NotFound, RecordChanged, UndoRefused
from atlas.core.hits import Retrieval
from atlas.core.operations import Marks
from atlas.core.types import CodeConcept, Strategy
from atlas.memory.base.memory import Memory
from atlas.memory.concepts.memory import ChromaConceptLibrary
from atlas.memory.journal import Journal, LinkGraph
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.memory.strategies.outcomes import StrategyRate
from atlas.server.api.parts import LazyMemory, LazyServedMemory, ThreadRoute, find_memory, send_secret_counts
from atlas.server.api.shapes import (
    ConceptInput,
    EditInput,
    EntryInput,
    EntryResponse,
    Id,
    MarksRequest,
    OutcomesInput,
    Page,
    RecordHit,
    RecordResponse,
    RecordVersion,
    SearchRequest,
    SearchResponse,
    StrategyInput,
    UseInput,
)
from atlas.server.names import MemoryName
from atlas.verbs.values import decode_fields

searches = APIRouter(route_class=ThreadRoute)
router = APIRouter(route_class=ThreadRoute)

PARTS = "(uses|rate|links|versions)"


@searches.post("/{memory}/search")
def search_records(memory: MemoryName, request: SearchRequest, opened: LazyServedMemory) -> SearchResponse:
    """Return the records relevant to a query, best first. Only keywords are used until the model is ready."""
    records = find_memory(opened.memory, memory)
    if request.by_words or not opened.is_model_ready:
        threshold = 0.0 if request.by_words else None  # a keyword search returns all records with any of the words
        retrieval = records.retrieve_words(
            request.query, request.k, where=request.where, threshold=threshold, domain=request.domain
        )
        return _to_response(retrieval)
    retrieval = records.retrieve(
        request.query,
        request.k,
        where=request.where,
        threshold=request.threshold,
        distinct=request.distinct,
        diversity=request.diversity,
        domain=request.domain,
    )
    return _to_response(retrieval)


def _to_response(retrieval: Retrieval[Any]) -> SearchResponse:
    return SearchResponse(
        hits=list(map(RecordHit.from_hit, retrieval.hits)),
        n_hidden=retrieval.n_hidden,
        threshold=retrieval.threshold,
        problems=retrieval.problems,
        by_words=retrieval.by_words,
        notes=retrieval.notes,
    )


@router.post("/{memory}/marks")
def mark_records(memory: MemoryName, changes: MarksRequest, served: LazyMemory, answer: Response) -> int:
    """Change the marks of records as one operation. Return how many changed."""
    with send_secret_counts(answer):
        return find_memory(served, memory).change_marks(**changes.model_dump())


@router.post("/experience/outcomes")
def report_outcomes(report: OutcomesInput, served: LazyMemory, answer: Response) -> int:
    """Set the outcomes of experiences as one operation. Return how many changed."""
    with send_secret_counts(answer):
        return served.experience.report_outcomes(report.outcomes, reason=report.reason)


@router.post("/strategies", status_code=201)
def add_strategy(strategy: StrategyInput, served: LazyMemory, answer: Response) -> str:
    """Add a strategy written by hand. Return its id."""
    fields = strategy.model_dump(exclude_none=True)
    with send_secret_counts(answer):
        return served.strategies.add(Strategy(**fields))


@router.post("/concepts", status_code=201)
def add_concept(concept: ConceptInput, served: LazyMemory, answer: Response) -> str:
    """Add reusable code. Return its id."""
    fields = concept.model_dump(exclude_none=True)
    with send_secret_counts(answer):
        return served.concepts.add(CodeConcept(**fields | {"examples": tuple(map(tuple, concept.examples))}))


@router.post(
    "/journal", status_code=201, responses={200: {"model": EntryResponse, "description": "Kept out by a gate"}}
)
def add_entry(entry: EntryInput, served: LazyMemory, response: Response) -> EntryResponse:
    """Write a journal entry. Return its id, or the reason why a gate rejected it."""
    with send_secret_counts(response) as counts:
        entry_id = served.journal.add(**entry.model_dump())
    if entry_id is not None:
        return EntryResponse(id=entry_id, scrubbed=dict(counts))
    response.status_code = 200
    return EntryResponse(id=None, refusal=served.journal.rejected().why(entry.content), scrubbed=dict(counts))


@router.get("/{memory}")
def list_records(
    memory: MemoryName,
    served: LazyMemory,
    where: Annotated[str, Query(description="A filter as JSON, as a search takes it.")] = "{}",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    order: Literal["newest", "oldest"] = "newest",
    cursor: Annotated[str, Query(pattern=r"^\d{0,9}$")] = "",
) -> Page:
    """Return records ordered by the time they were added."""
    memory_records, parsed_filter, offset = find_memory(served, memory), _parse_filter(where), int(cursor or 0)
    notes = memory_records.filter_notes(parsed_filter)
    with served.storage.reading():
        rows = memory_records.browse(parsed_filter, descending=order == "newest", limit=limit, offset=offset)
        n_records = memory_records.count(parsed_filter)
        records = memory_records.get_many([row["id"] for row in rows])
    next_offset = offset + len(rows)
    return Page(
        records=records,
        n_records=n_records,
        cursor=str(next_offset) if next_offset < n_records else None,
        notes=notes,
    )


@router.get("/{memory}/{record_id}")
def read_record(
    memory: MemoryName,
    record_id: Id,
    served: LazyMemory,
    response: Response,
    with_: Annotated[str, Query(alias="with", pattern=f"^({PARTS}(,{PARTS})*)?$")] = "",
) -> RecordResponse:
    """Return one record with its marks, its usage, and the parts that `with` names, such as `uses,rate`."""
    record = _record_response(find_memory(served, memory), record_id, set(with_.split(",")))
    response.headers["ETag"] = record.etag
    return record


@router.patch("/{memory}/{record_id}")
def edit_record(
    memory: MemoryName,
    record_id: Id,
    changes: EditInput,
    served: LazyMemory,
    answer: Response,
    if_match: Annotated[str | None, Header(max_length=200)] = None,
) -> RecordResponse:
    """Change the fields or marks of a record as one operation, and return it.

    With `If-Match`, the edit is rejected if the record has changed since it was read.
    """
    records = find_memory(served, memory)
    with records.collection.reading():
        before, moment = _record_response(records, record_id, set()), records.collection.moment()
    etags = [etag.strip() for etag in (if_match or "*").split(",")]
    if "*" not in etags and before.etag not in etags:
        raise RecordChanged(f"{memory} {record_id} has changed since it was read; read it again, and repeat the edit")
    unchanged_since = {} if "*" in etags else {record_id: moment}
    records_in_operation = records.as_operation("edit" if changes.fields else "mark", unchanged_since=unchanged_since)
    with send_secret_counts(answer):
        _write_changes(served, records_in_operation, before, changes)
    after = _record_response(records, record_id, set())
    answer.headers["ETag"] = after.etag
    return after


@router.post("/{memory}/{record_id}/uses", status_code=204)
def record_use(memory: MemoryName, record_id: Id, use: UseInput, served: LazyMemory) -> None:
    """Record the outcome of an attempt that used a record. Idempotent per attempt."""
    find_memory(served, memory).record_use(record_id, **use.model_dump())


def _record_response(records: Memory[Any], record_id: str, fields: AbstractSet[str]) -> RecordResponse:
    """Return a record with its marks, usage and the requested fields, from one snapshot of the store."""
    with records.collection.reading():
        record = records.get(record_id)
        if record is None:
            raise NotFound(f"there is no record {record_id!r} here; it may have been deleted")
        marks = records.marks([record_id])[record_id]
        return RecordResponse(
            record=record,
            marks=marks,
            usage=records.usage([record_id])[record_id],
            etag=_etag(record, marks),
            uses=records.collection.uses([record_id]).get(record_id, []) if "uses" in fields else None,
            rate=_strategy_rate(records, record_id) if "rate" in fields else None,
            links=_links(records, record_id) if "links" in fields else None,
            versions=_versions(records, record_id) if "versions" in fields else None,
        )


def _write_changes(served: LazyMemory, records: Any, before: RecordResponse, changes: EditInput) -> None:
    """Write the new fields of a record, then its marks. If the marks are rejected, the fields are rolled back."""
    if changes.fields:
        records.edit(before.record.id, **decode_fields(type(before.record), changes.fields))
    try:
        if marks := changes.model_dump(exclude={"fields"}, exclude_defaults=True):
            records.change_marks([before.record.id], **marks)
    except AtlasError as error:
        if changes.fields:
            _undo_fields(served, str(records.operation_id), error)
        raise


def _undo_fields(served: LazyMemory, operation_id: str, error: AtlasError) -> None:
    """Restore the fields of a record after its marks could not be written.

    Raises:
        UndoRefused: The fields cannot be restored.
    """
    try:
        served.undo(operation_id, reason="the rest of the edit was refused")
    except NotFound:  # the fields were equal already, so nothing was written
        return
    except AtlasError as problem:
        raise UndoRefused(
            f"the fields were written as operation {operation_id}, but the marks were not ({error}). The fields "
            f"cannot be restored ({problem}): read the record again, or undo that operation later"
        ) from error


def _etag(record: Any, marks: Marks) -> str:
    state = repr((asdict(record), asdict(marks)))
    return f'"{hashlib.sha256(state.encode(errors="surrogatepass")).hexdigest()[:32]}"'


def _links(records: Memory[Any], record_id: str) -> LinkGraph:
    if not isinstance(records, Journal):
        raise InvalidInput("`with=links` is only for journal entries; leave it out for other records")
    return records.linked(record_id)


def _strategy_rate(records: Memory[Any], record_id: str) -> StrategyRate:
    """Return the success rate of a strategy.

    Raises:
        InvalidInput: The record is not a strategy.
    """
    if not isinstance(records, ChromaStrategyBank):
        raise InvalidInput("`with=rate` is only for strategies; for other records, read `usage` in the response")
    return records.rate(record_id)


def _versions(records: Memory[Any], record_id: str) -> list[RecordVersion]:
    if not isinstance(records, ChromaStrategyBank | ChromaConceptLibrary):
        raise InvalidInput("`with=versions` is only for strategies and concepts; see `GET /operations?of=` for others")
    return [RecordVersion.from_version(version) for version in records.versions(record_id)]


def _parse_filter(text: str) -> dict[str, Any]:
    try:
        where = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"`where` should be a filter as JSON, but is {text!r:.80}") from error
    if not isinstance(where, dict):
        raise InvalidInput(f"`where` should be an object, but is {text!r:.80}")
    return where
