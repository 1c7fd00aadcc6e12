"""Read-only tools: recall for a task, search, full records, and the history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from atlas.core.errors import InvalidInput, NotAllowed
from atlas.core.filters import scope_metadata
from atlas.core.hits import Hit, Retrieval
from atlas.core.operations import ANY_OPERATION, Operation, Operations
from atlas.core.types import Experience
from atlas.core.unseen import shown_id
from atlas.memory.context.block import omission_line, query_task
from atlas.memory.kinds.table import known_kinds
from atlas.server.mcp.ids import RecordReference, find_record
from atlas.server.names import MemoryName

if TYPE_CHECKING:
    from atlas.memory.context.block import ContextBlock
    from atlas.memory.system import MemorySystem

LINE_CHARACTERS = 160
MAX_READ = 10
MAX_OMITTED = 5
"""Maximum number of left-out records that are listed below a context block."""

EMPTY_BLOCK_TEXTS = {
    False: "Nothing is remembered that has to do with this task.",
    True: "What is remembered of this task does not fit into the budget.",
}
"""Texts for an empty context block, keyed by whether there were hits."""

HOLDOUT_ANSWER = (
    "This attempt is held out, to measure whether memory helps: work on this task without memory, and do not search."
)

TOKEN_CHARACTERS = 4
NOT_READY = "(Found by words alone: the embedding model is still being made ready. Ask again in a moment.)"


def recall(
    memory: MemorySystem,
    task: Annotated[str, Field(description="what you are about to do")],
    budget_tokens: Annotated[int, Field(ge=0, le=20_000, description="longest answer")] = 1500,
    domain: Annotated[str, Field(description="kind of task, such as billing; its attempts come first")] = "",
    tools: Annotated[Sequence[str], Field(description="names of yours; code that needs others comes last")] = (),
    scope: Annotated[dict[str, str] | None, Field(description='only these, such as {"project": "shop"}')] = None,
    min_trust: Annotated[str, Field(description="least origin: imported, agent, reviewed, person")] = "",
) -> str:
    """Call before you begin a task: what earlier attempts, strategies, code and notes say about it."""
    return _block_text(
        memory.build_context(
            query_task(task, domain=domain, tools=tools),
            budget_tokens,
            where=scope_metadata(scope or {}),
            min_trust=min_trust,
        )
    )


def recall_by_words(
    memory: MemorySystem,
    task: str,
    budget_tokens: int = 1500,
    domain: str = "",
    tools: Sequence[str] = (),
    scope: dict[str, str] | None = None,
    min_trust: str = "",
) -> str:
    """Run `recall` with keywords only."""
    described_task, where = query_task(task, domain=domain, tools=tools), scope_metadata(scope or {})
    block = memory.build_context(described_task, budget_tokens, where=where, by_words=True, min_trust=min_trust)
    return f"{_block_text(block)}\n\n{NOT_READY}"


def search(
    memory: MemorySystem,
    query: Annotated[str, Field(description="what to look for")] = "",
    where: Annotated[dict[str, Any] | None, Field(description='filter: {"outcome": "failed"}')] = None,
    among: Annotated[MemoryName, Field(description="which memory")] = "experience",
    k: Annotated[int, Field(ge=1, le=50, description="hits a page")] = 8,
    cursor: Annotated[str, Field(description="from the page before")] = "",
    like: Annotated[str, Field(description="instead of a query: the id of a record, to find similar ones")] = "",
) -> str:
    """Call to search one memory. One line per hit: `[id] outcome relevance · first words`."""
    if like:
        return _search_similar(memory, query, like, where, among, k, cursor)
    if not query:
        raise InvalidInput("`search` takes a `query`, or the id of a record as `like`, but got neither")
    n_skipped = _parse_cursor(cursor)
    retrieval = known_kinds()[among].records(memory).retrieve(query, k + n_skipped + 1, where=where)
    return _format_page(retrieval, among, n_skipped, k)


def search_by_words(
    memory: MemorySystem,
    query: str = "",
    where: dict[str, Any] | None = None,
    among: str = "experience",
    k: int = 8,
    cursor: str = "",
    like: str = "",
) -> str:
    """Run `search` with keywords only. A search for similar records needs no model."""
    if like or not query:
        return search(memory, query, where, among, k, cursor, like)
    n_skipped = _parse_cursor(cursor)
    retrieval = known_kinds()[among].records(memory).retrieve_words(query, k + n_skipped + 1, where=where)
    return f"{_format_page(retrieval, among, n_skipped, k)}\n{NOT_READY}"


def _search_similar(
    memory: MemorySystem, query: str, like: str, where: dict[str, Any] | None, among: str, k: int, cursor: str
) -> str:
    if query:
        raise InvalidInput("`search` takes a `query` or `like`, but got both; leave one out")
    n_skipped, reference = _parse_cursor(cursor), find_record(memory, like, among)
    hits = reference.memory.similar(reference.id, k + n_skipped + 1, where=where)
    return _format_page(Retrieval(hits=hits, n_hidden=0, threshold=0.0), among, n_skipped, k)


def read(
    memory: MemorySystem,
    ids: Annotated[list[str], Field(min_length=1, max_length=MAX_READ, description="from `recall` or `search`")],
    max_tokens: Annotated[int, Field(ge=100, le=50_000, description="longest answer")] = 4000,
) -> str:
    """Call to read full records."""
    references = [find_record(memory, record_id) for record_id in ids]
    max_characters = max_tokens * TOKEN_CHARACTERS // len(references)
    return "\n\n".join(record_json(reference, max_characters) for reference in references)


def record_json(reference: RecordReference, max_characters: int) -> str:
    """Return a record as JSON, cut to at most `max_characters` characters.

    Raises:
        NotAllowed: It is in quarantine.
    """
    if reference.memory.marks([reference.id])[reference.id].quarantine:
        raise NotAllowed(f"[{reference.name} {shown_id(reference.id)}] is in quarantine; ask a curator to release it")
    text = json.dumps(_drop_empty_fields(reference.memory.get(reference.id)), ensure_ascii=False, indent=1)
    n_cut = len(text) - max_characters
    cut_note = f"\n… {n_cut:,} more characters; read it alone, or with a larger max_tokens" if n_cut > 0 else ""
    return f"[{reference.name} {shown_id(reference.id)}]\n{text[:max_characters]}{cut_note}"


def history(
    memory: MemorySystem,
    limit: Annotated[int, Field(ge=1, le=100, description="operations to list")] = 20,
    of: Annotated[str, Field(description="id of a record; all of them without it")] = "",
) -> str:
    """Call to list the operations on the memory, newest first. `undo` takes their ids."""
    where = Operations(of=find_record(memory, of).id) if of else ANY_OPERATION
    return "\n".join(map(_describe_operation, memory.history(limit, where=where))) or "Nothing was done yet."


def _format_page(retrieval: Retrieval[Any], among: str, n_skipped: int, k: int) -> str:
    lines = [_format_hit(hit, among) for hit in retrieval.hits[n_skipped : n_skipped + k]]
    if retrieval.n_hidden:
        lines.append(f"{retrieval.n_hidden} hidden below {retrieval.threshold:.2f}")
    if len(retrieval.hits) > n_skipped + k:
        lines.append(f"next: cursor={n_skipped + k}")
    return "\n".join([*(lines or ["Nothing has to do with this query."]), *retrieval.notes])


def _block_text(block: ContextBlock) -> str:
    omission_lines = [omission_line(omission) for omission in block.omitted if omission.id]
    and_more = f"; {len(omission_lines) - MAX_OMITTED} more" if len(omission_lines) > MAX_OMITTED else ""
    notes = [f"\n(Left out: {'; '.join(omission_lines[:MAX_OMITTED])}{and_more})"] if omission_lines else []
    notes += [f"\n({name} could not be asked: {message})" for name, message in block.errors.items()]
    if block.assignment is not None and block.assignment.is_held_out:
        return HOLDOUT_ANSWER
    return "".join([block.text or EMPTY_BLOCK_TEXTS[bool(omission_lines)], *notes])


def _parse_cursor(cursor: str) -> int:
    if cursor and not cursor.isdecimal():
        raise InvalidInput(f"`cursor` should be a number from the last line of a search, but is {cursor!r:.80}")
    return int(cursor or 0)


def _format_hit(hit: Hit[Any], among: str) -> str:
    outcome = f"{hit.item.outcome.label} " if isinstance(hit.item, Experience) else ""
    summary = " ".join(known_kinds()[among].summary(hit.item).split())[:LINE_CHARACTERS]
    return f"[{shown_id(hit.item.id)}] {outcome}{hit.relevance:.2f} · {summary}"


def _drop_empty_fields(value: Any) -> Any:
    """Return a record as JSON values, without empty fields."""
    if is_dataclass(value) and not isinstance(value, type):
        return _drop_empty_fields(asdict(value))
    if isinstance(value, dict):
        return {key: _drop_empty_fields(part) for key, part in value.items() if part not in ("", None, (), [], {})}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_drop_empty_fields(part) for part in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _describe_operation(operation: Operation) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in operation.counts.items()) or "nothing"
    undone = " (undone)" if operation.undone_by else ""
    return (
        f"[{operation.id[:8]}] {operation.created_at:%Y-%m-%d %H:%M} {operation.kind} by {operation.actor}: {counts}"
        f"{undone} {operation.reason}".rstrip()
    )
