"""Tools that add attempts, notes, strategies, uses and marks, and undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID, uuid5

from pydantic import Field

from atlas.core.errors import InvalidInput
from atlas.core.filters import scope_metadata, scope_of
from atlas.core.json_values import dump
from atlas.core.operations import Operations
from atlas.core.types import Outcome, Step, Strategy, Task, Trajectory, new_id
from atlas.core.unseen import shown_id
from atlas.infra.actor import actor_name, is_under_review
from atlas.memory.kinds.table import known_kinds
from atlas.server.mcp.ids import find_record, group_by_memory
from atlas.server.mcp.parameters import Domain, Metadata, Reason, Scope, TaskId

if TYPE_CHECKING:
    from atlas.memory.system import MemorySystem

MAX_FORGOTTEN = 50

_ATTEMPTS = UUID("8f6f3b63-6a35-4a3b-a0f4-6b9d2c1d5e77")
"""Namespace of ids derived from an agent's `attempt_id`."""


def store_attempt(
    memory: MemorySystem,
    task: Annotated[str, Field(description="what was to be done")],
    steps: Annotated[
        list[str | dict[str, Any]], Field(description="what you did: texts, or {thought, action, observation}")
    ],
    success: Annotated[bool | None, Field(description="omit it where you cannot tell")] = None,
    solution: Annotated[str, Field(description="what came out")] = "",
    error: Annotated[str, Field(description="what went wrong")] = "",
    used: Annotated[list[str] | None, Field(description="ids from `recall` that you relied on")] = None,
    task_id: TaskId = "",
    domain: Domain = "",
    attempt_id: Annotated[str, Field(description="your own id; a repeated call with it stores nothing")] = "",
    scope: Scope = None,
    metadata: Metadata = None,
) -> str:
    """Call after a task, whether it went well or not."""
    actor = actor_name(memory.storage.settings.actor)
    attempt_metadata = {**_with_scope(metadata, scope), **({"solution": solution} if solution else {})}
    id_source = "\n".join([actor, attempt_id, *([dump(scope_of(attempt_metadata))] if scope else [])])
    trajectory_id = uuid5(_ATTEMPTS, id_source).hex if attempt_id else new_id()
    if used is not None:
        attempt_metadata["used"] = group_by_memory([find_record(memory, record_id) for record_id in used])
    stored = memory.store_once(
        Trajectory(
            task=Task(task_id, domain, task),
            steps=tuple(_to_step(step) for step in steps),
            outcome=Outcome(success=success, error_info=error or None),
            agent_id=actor,
            metadata=attempt_metadata,
            id=trajectory_id,
        )
    )
    if stored.get("is_known"):
        return f"Experience {shown_id(stored['experience'])} holds this attempt already."
    [operation] = memory.history(1, where=Operations(kind="store", of=stored["experience"]))
    n_used = sum(map(len, stored.get("used", {}).values()))
    problems = "".join(f" ({name}: {message})" for name, message in stored.get("errors", {}).items())
    search = " A search for concepts is running in the background." if "compression" in stored else ""
    return (
        f"Stored experience {shown_id(stored['experience'])}, counted for {n_used} memories.{problems}{search}"
        f"{_added_note(operation.id)}"
    )


def note(
    memory: MemorySystem,
    entry_type: Annotated[str, Field(description="observation, crash_log, reflection, directive or task")],
    content: Annotated[str, Field(description="the text")],
    generation: Annotated[int, Field(description="round of a longer run")] = 0,
    links: Annotated[
        list[list[str]] | None, Field(description="[type, id] to entries: caused_by, fixed_by, related, refers_to")
    ] = None,
    scope: Scope = None,
    metadata: Metadata = None,
) -> str:
    """Call to log an event during a task."""
    parsed_links = [(kind, find_record(memory, record_id).id) for kind, record_id in links or []]
    journal = memory.journal.as_operation("store")
    entry_id = journal.add(
        entry_type,
        content,
        generation=generation,
        links=parsed_links,
        metadata=_with_scope(metadata, scope),
    )
    if entry_id is None:
        return f"Not noted: {memory.journal.rejected().why(content)}"
    return f"Noted as {shown_id(entry_id)}.{_added_note(journal.operation_id)}"


def add_strategy(
    memory: MemorySystem,
    situation: Annotated[str, Field(description="when it applies")],
    suggestion: Annotated[str, Field(description="what to do then")],
    title: Annotated[str, Field(description="a few words")] = "",
    rationale: Annotated[str, Field(description="why it works")] = "",
    sources: Annotated[list[str] | None, Field(description="ids of attempts that taught it")] = None,
    scope: Scope = None,
) -> str:
    """Call when you learned what to do in a kind of situation. Its success rate comes from later attempts."""
    attempts = [find_record(memory, record_id) for record_id in sources or []]
    ids = tuple(getattr(reference.memory.get(reference.id), "trajectory_id", reference.id) for reference in attempts)
    bank = memory.strategies.as_operation("store")
    strategy_id = bank.add(
        Strategy(
            situation=situation,
            suggestion=suggestion,
            title=title,
            rationale=rationale,
            sources=ids,
            metadata=_with_scope(None, scope),
        )
    )
    return f"Added strategy {shown_id(strategy_id)}.{_added_note(bank.operation_id)}"


def record_use(
    memory: MemorySystem,
    id: Annotated[str, Field(description="of the memory")],
    success: Annotated[bool, Field(description="whether the task succeeded")],
    task_id: TaskId = "",
) -> str:
    """Call when you used a memory and know whether the task succeeded, unless you reported it with `store_attempt`."""
    reference = find_record(memory, id)
    reference.memory.record_use(reference.id, success, task_id=task_id)
    return f"Counted a {'success' if success else 'failure'} for {reference.name} {shown_id(reference.id)}."


def report_outcomes(
    memory: MemorySystem,
    outcomes: Annotated[
        dict[str, bool | None], Field(description="by id of an attempt: true succeeded, false failed, null unknown")
    ],
    reason: Reason = "",
) -> str:
    """Call when you learn later how attempts ended, such as from tests or from the user."""
    ids = {find_record(memory, record_id, "experience").id: success for record_id, success in outcomes.items()}
    experience = memory.experience.as_operation("outcome", reason)
    n_changed = experience.report_outcomes(ids)
    return f"Set {n_changed} of {len(outcomes)} outcomes.{_undo_hint(experience.operation_id) if n_changed else ''}"


def mark(
    memory: MemorySystem,
    ids: Annotated[list[str], Field(description="of records")],
    add_tags: Annotated[list[str] | None, Field(description="words to add")] = None,
    remove_tags: Annotated[list[str] | None, Field(description="words to remove")] = None,
    pinned: Annotated[bool | None, Field(description="never pruned")] = None,
    buried: Annotated[bool | None, Field(description="kept, but no longer found")] = None,
    note: Annotated[str | None, Field(description="a remark")] = None,
) -> str:
    """Call to tag, pin, bury or annotate records."""
    changes: dict[str, Any] = {
        "add_tags": add_tags or (),
        "remove_tags": remove_tags or (),
        "pinned": pinned,
        "buried": buried,
        "note": note,
    }
    references = [find_record(memory, record_id) for record_id in ids]
    n_changed, operation_id = 0, None
    for name, record_ids in group_by_memory(references).items():
        memory_in_operation = known_kinds()[name].records(memory).as_operation("mark", operation_id=operation_id)
        n_changed += memory_in_operation.change_marks(record_ids, **changes)
        operation_id = memory_in_operation.operation_id
    return f"Marked {n_changed} of {len(references)} records.{_undo_hint(operation_id) if n_changed else ''}"


def edit(
    memory: MemorySystem,
    id: Annotated[str, Field(description="of a record that you stored")],
    changes: Annotated[dict[str, Any], Field(description='new values by field, as `read` shows them: {"content": …}')],
    reason: Reason = "",
) -> str:
    """Call to correct a record of yours that is no longer true."""
    from atlas.verbs.values import decode_fields  # imported late, because clients wait for the list of tools

    reference = find_record(memory, id)
    memory_in_operation: Any = reference.memory.as_operation("edit", reason)
    memory_in_operation.collection.check_may_change([reference.id])
    before = memory_in_operation.get(reference.id)
    if memory_in_operation.edit(reference.id, **decode_fields(type(before), changes)) == before:
        return f"The {reference.name} {shown_id(reference.id)} has these values already."
    return f"Changed {reference.name} {shown_id(reference.id)}.{_undo_hint(memory_in_operation.operation_id)}"


def forget(
    memory: MemorySystem,
    ids: Annotated[list[str], Field(min_length=1, max_length=MAX_FORGOTTEN, description="of records that you stored")],
    reason: Reason = "",
) -> str:
    """Call to delete records of yours that are wrong or no longer needed."""
    references = group_by_memory([find_record(memory, record_id) for record_id in ids])
    memories, operation_id = {}, None
    for name, record_ids in references.items():
        memories[name] = known_kinds()[name].records(memory).as_operation("forget", reason, operation_id=operation_id)
        memories[name].collection.check_may_change(record_ids)  # of all memories, before anything is deleted
        operation_id = memories[name].operation_id
    n_deleted = sum(memories[name].forget(record_ids) for name, record_ids in references.items())
    return f"Forgot {n_deleted} {'record' if n_deleted == 1 else 'records'}.{_undo_hint(operation_id)}"


def undo(
    memory: MemorySystem,
    operation_id: Annotated[str, Field(description="from an answer or `history`")],
    reason: Reason = "",
) -> str:
    """Call to undo an operation of yours exactly. Undoing the undo redoes it."""
    undone = memory.undo(operation_id, reason=reason)
    return f"Undone. To do it again: undo {undone.id[:8]}."


def _with_scope(metadata: Mapping[str, Any] | None, scope: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the metadata of a new record, with the scope added.

    Raises:
        InvalidInput: The scope is malformed, or `metadata` contains a part of it, which would change it unseen.
    """
    if parts := scope_of(metadata or {}):
        raise InvalidInput(
            f"expected no part of the scope in `metadata`, got {next(iter(parts))!r}; "
            "move it to `scope`, such as {'project': 'shop'}"
        )
    return {**(metadata or {}), **scope_metadata(scope or {})}


def _to_step(step: str | dict[str, Any]) -> Step:
    if isinstance(step, str):
        return Step(action=step)
    texts = {name: str(step[name]) for name in ("thought", "action", "observation") if step.get(name) is not None}
    return Step(**texts, metadata={name: value for name, value in step.items() if name not in texts})


def _added_note(operation_id: str | None) -> str:
    """Return a sentence on who can find an added record, and how to undo the addition."""
    review = " It waits for review: until a curator accepts it, only you find it." if is_under_review() else ""
    return f"{review}{_undo_hint(operation_id)}"


def _undo_hint(operation_id: str | None) -> str:
    """Return a sentence on how to undo an operation."""
    return f" To take it back: undo {operation_id[:8]}." if operation_id else ""
