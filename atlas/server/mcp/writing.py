"""Tools that add attempts, notes, strategies, uses and marks, and undo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from atlas.core.filters import scope_metadata
from atlas.core.json_values import dump
from atlas.core.operations import Operations
from atlas.core.types import Outcome, Step, Strategy, Task, Trajectory, new_id
from atlas.core.unseen import shown_id
from atlas.infra.actor import actor_name, is_under_review
from atlas.memory.kinds.table import known_kinds
from atlas.server.mcp.ids import by_memory, place_of

if TYPE_CHECKING:
    from atlas.memory.system import MemorySystem

_ATTEMPTS = UUID("8f6f3b63-6a35-4a3b-a0f4-6b9d2c1d5e77")
"""Namespace of ids derived from an agent's `attempt_id`."""


def store_attempt(
    memory: MemorySystem,
    task: str,
    steps: list[str | dict[str, Any]],
    success: bool | None = None,
    solution: str = "",
    error: str = "",
    used: list[str] | None = None,
    task_id: str = "",
    domain: str = "",
    attempt_id: str = "",
    scope: dict[str, str] | None = None,
) -> str:
    """Call after a task, whether it went well or not. `success` is null where you cannot tell.

    `used` names the ids from `recall` that you relied on; an `attempt_id` keeps a repeated call from storing it twice.
    `scope`, such as {"project": "shop"}, says what it belongs to.
    """
    actor = actor_name(memory.storage.settings.actor)
    scoped = scope_metadata(scope or {})
    named = "\n".join([actor, attempt_id, *([dump(scoped)] if scoped else [])])
    trajectory_id = uuid5(_ATTEMPTS, named).hex if attempt_id else new_id()
    metadata: dict[str, Any] = {**scoped, **({"solution": solution} if solution else {})}
    if used is not None:
        metadata["used"] = by_memory([place_of(memory, record_id) for record_id in used])
    stored = memory.store_once(
        Trajectory(
            task=Task(task_id, domain, task),
            steps=tuple(_step(step) for step in steps),
            outcome=Outcome(success=success, error_info=error or None),
            agent_id=actor,
            metadata=metadata,
            id=trajectory_id,
        )
    )
    if stored.get("is_known"):
        return f"Experience {shown_id(stored['experience'])} holds this attempt already."
    [operation] = memory.history(1, wanted=Operations(kind="store", of=stored["experience"]))
    n_used = sum(map(len, stored.get("used", {}).values()))
    problems = "".join(f" ({name}: {message})" for name, message in stored.get("errors", {}).items())
    search = " Concepts are being looked for in the background." if "compression" in stored else ""
    return (
        f"Stored experience {shown_id(stored['experience'])}, counted for {n_used} memories.{problems}{search}"
        f"{_after(operation.id)}"
    )


def note(
    memory: MemorySystem,
    entry_type: str,
    content: str,
    generation: int = 0,
    links: list[list[str]] | None = None,
    scope: dict[str, str] | None = None,
) -> str:
    """Call to log an observation, a crash_log, a reflection, a directive or a task on the way.

    `links` are pairs of a type, such as `caused_by` or `fixed_by`, and the id of another entry.
    """
    linked = [(kind, place_of(memory, record_id).id) for kind, record_id in links or []]
    journal = memory.journal.within("store")
    entry_id = journal.add(
        entry_type, content, generation=generation, links=linked, metadata=scope_metadata(scope or {})
    )
    if entry_id is None:
        return f"Not noted: {memory.journal.rejected().why(content)}"
    return f"Noted as {shown_id(entry_id)}.{_after(journal.operation_id)}"


def add_strategy(
    memory: MemorySystem,
    situation: str,
    suggestion: str,
    title: str = "",
    rationale: str = "",
    sources: list[str] | None = None,
    scope: dict[str, str] | None = None,
) -> str:
    """Call when you learned what to do in a kind of situation. Its success rate comes from later attempts."""
    attempts = [place_of(memory, record_id) for record_id in sources or []]
    ids = tuple(getattr(place.memory.get(place.id), "trajectory_id", place.id) for place in attempts)
    bank = memory.strategies.within("store")
    added = bank.add(
        Strategy(
            situation=situation,
            suggestion=suggestion,
            title=title,
            rationale=rationale,
            sources=ids,
            metadata=scope_metadata(scope or {}),
        )
    )
    return f"Added strategy {shown_id(added)}.{_after(bank.operation_id)}"


def record_use(memory: MemorySystem, id: str, success: bool, task_id: str = "") -> str:
    """Call when you relied on a memory and know how that went, where `store_attempt` does not say it."""
    place = place_of(memory, id)
    place.memory.record_use(place.id, success, task_id=task_id)
    return f"Counted a {'success' if success else 'failure'} for {place.name} {shown_id(place.id)}."


def mark(
    memory: MemorySystem,
    ids: list[str],
    add_tags: list[str] | None = None,
    remove_tags: list[str] | None = None,
    pinned: bool | None = None,
    buried: bool | None = None,
    note: str | None = None,
) -> str:
    """Call to tag, pin, bury or annotate records. A buried one is kept, but no longer found."""
    changes: dict[str, Any] = {
        "add_tags": add_tags or (),
        "remove_tags": remove_tags or (),
        "pinned": pinned,
        "buried": buried,
        "note": note,
    }
    places = [place_of(memory, record_id) for record_id in ids]
    n_changed, operation_id = 0, None
    for name, record_ids in by_memory(places).items():
        scoped = known_kinds()[name].records(memory).within("mark", operation_id=operation_id)
        n_changed, operation_id = n_changed + scoped.change_marks(record_ids, **changes), scoped.operation_id
    return f"Marked {n_changed} of {len(places)} records.{_undo(operation_id) if n_changed else ''}"


def undo(memory: MemorySystem, operation_id: str, reason: str = "") -> str:
    """Call to take back an operation of yours, exactly. Undoing the undoing does it again."""
    undone = memory.undo(operation_id, reason=reason)
    return f"Undone. To do it again: undo {undone.id[:8]}."


def _step(step: str | dict[str, Any]) -> Step:
    if isinstance(step, str):
        return Step(action=step)
    texts = {name: str(step[name]) for name in ("thought", "action", "observation") if step.get(name) is not None}
    return Step(**texts, metadata={name: value for name, value in step.items() if name not in texts})


def _after(operation_id: str | None) -> str:
    """Return a note on an added record: its visibility, and how to undo it."""
    review = " It waits for review: until a curator accepts it, only you find it." if is_under_review() else ""
    return f"{review}{_undo(operation_id)}"


def _undo(operation_id: str | None) -> str:
    """Return how to undo an operation."""
    return f" To take it back: undo {operation_id[:8]}." if operation_id else ""
