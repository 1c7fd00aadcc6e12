"""Extraction of a record from an attempt: the text to embed, the summary, the solution and the feedback."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from atlas.core.codec import encode_experience
from atlas.core.filters import parse_scope
from atlas.core.json_values import Json, dump, to_text
from atlas.core.types import Experience, Task, Trajectory
from atlas.memory.base.merging import merged_record_ids
from atlas.protocols.strategies import ExtractedText

TITLE_CHARACTERS = 200
SUMMARY_CHARACTERS = 300
SUMMARISED_BY = "summarised_by"
"""Metadata key for the model and prompt version that wrote the text to embed."""

ARM, SHARE = "holdout", "holdout_share"
"""Metadata keys of an attempt for its randomly assigned group, and for the share of held-out attempts."""

HELD_OUT, SHOWN = "held out", "shown"
"""Values of `ARM`: the group without memories, and the group with memories."""


SHOWN_RECORDS, SHOWN_TOKENS, UNUSED_TOKENS = "shown_records", "shown_tokens", "unused_tokens"
"""Metadata keys of an attempt: number of received records, their tokens in the block, and tokens of unused ones."""

INCIDENTAL = (SUMMARISED_BY, SHOWN_RECORDS, SHOWN_TOKENS, UNUSED_TOKENS)
"""Metadata keys that are not part of an attempt's content hash."""

RULE = "rule"
"""Key in an outcome's details for the name of the import rule that decided the outcome."""


class SimpleExperienceExtractor:
    """An extractor that returns the task's description as the text to embed."""

    def extract(self, trajectory: Trajectory) -> str:
        """Return the text to embed."""
        return trajectory.task.description


class ContextExperienceExtractor:
    """An extractor that returns the task's description, domain and context as the text to embed.

    Use it if descriptions are short.
    """

    def extract(self, trajectory: Trajectory) -> str:
        """Return the text to embed."""
        task = trajectory.task
        context = "\n".join(f"{name}: {_to_string(value)}" for name, value in task.context.items())
        return "\n".join(part for part in (task.description, task.domain, context) if part)


def to_experience(trajectory: Trajectory, *, experience_id: str, embedding_text: str, now: datetime) -> Experience:
    """Return the experience of an attempt."""
    metadata = dict(trajectory.metadata)
    last_action = next((step.action for step in reversed(trajectory.steps) if step.action), "")
    feedback = str(metadata.pop("feedback", "") or trajectory.outcome.error_info or "")
    solution = str(metadata.pop("solution", "") or last_action)
    return Experience(
        id=experience_id,
        task=trajectory.task,
        trajectory_summary=summarise(trajectory, feedback),
        outcome=trajectory.outcome,
        embedding_text=embedding_text,
        created_at=trajectory.timestamp or now,
        metadata=metadata,
        solution_output=solution,
        feedback=feedback,
        trajectory_id=trajectory.id,
        agent_id=trajectory.agent_id,
        steps=trajectory.steps,
    )


def to_trajectory(experience: Experience) -> Trajectory:
    """Return an experience as a `Trajectory`."""
    return Trajectory(
        task=experience.task,
        steps=experience.steps,
        outcome=experience.outcome,
        agent_id=experience.agent_id,
        timestamp=experience.created_at,
        metadata={**experience.metadata, "solution": experience.solution_output, "feedback": experience.feedback},
        id=experience.trajectory_id,
    )


def with_embedding_text(experience: Experience, extracted: ExtractedText) -> Experience:
    """Return an experience with another text to embed. The metadata names the text's author."""
    metadata = {name: value for name, value in experience.metadata.items() if name != SUMMARISED_BY}
    author_metadata = {SUMMARISED_BY: extracted.made_by} if extracted.made_by else {}
    return replace(experience, embedding_text=extracted.text, metadata={**metadata, **author_metadata})


def with_changes(
    experience: Experience, changes: Mapping[str, Any], extract: Callable[[Trajectory], ExtractedText]
) -> Experience:
    """Return an experience with changed fields, and with summary and text to embed derived again."""
    changed = replace(experience, **changes)
    trajectory = to_trajectory(changed)
    summary = summarise(trajectory, changed.feedback)
    return with_embedding_text(replace(changed, trajectory_summary=summary), extract(trajectory))


def summarise(trajectory: Trajectory, feedback: str) -> str:
    """Return a one-line summary of an attempt: the number of steps, the outcome, and the feedback."""
    n_steps = len(trajectory.steps)
    line = f"{n_steps} step{'' if n_steps == 1 else 's'}, {trajectory.outcome.label}"
    return f"{line}: {_shorten(feedback, SUMMARY_CHARACTERS)}" if feedback else line


def _content_hash(encoded: Json) -> str:
    """Return a hash of an encoded experience that does not depend on ids, times and derived texts."""
    left_out = ("id", "trajectory_id", "created_at", "embedding_text", "trajectory_summary")
    content = {name: value for name, value in encoded.items() if name not in left_out}
    content["metadata"] = {name: value for name, value in content["metadata"].items() if name not in INCIDENTAL}
    content["outcome"] = _drop_import_rule(content["outcome"])
    return hashlib.sha256(dump(content).encode("utf-8")).hexdigest()


def _drop_import_rule(outcome: Json) -> Json:
    """Return an encoded outcome as the agent logged it, without the decision of an import rule.

    So an attempt has the same hash if it is imported again with another rule.
    """
    details = outcome.get("verification_details") or {}
    if RULE not in details:
        return outcome
    logged = {name: value for name, value in details.items() if name != RULE}
    return {**outcome, "success": None, "partial_score": None, "verification_details": logged}


FIELDS = frozenset(
    [
        *("outcome", "success", "partial_score", "task_id", "domain", "agent_id", "trajectory_id", "n_steps"),
        *("merged_hashes", "merged_trajectories", "content", "search_text"),
    ]
)
"""Metadata keys that `to_metadata` writes, in addition to those of every memory."""


def to_metadata(experience: Experience) -> dict[str, Any]:
    """Return the metadata to store for an experience: keys to filter and sort by, and the whole record as `content`.

    Raises:
        InvalidInput: The scope in the experience's metadata is malformed.
    """
    parse_scope(experience.metadata)
    outcome, encoded = experience.outcome, encode_experience(experience)
    derived = {
        "title": title_of(experience.task),
        "outcome": outcome.label,
        "success": outcome.success,
        "partial_score": outcome.partial_score,
        "task_id": experience.task.id,
        "domain": experience.task.domain,
        "agent_id": experience.agent_id,
        "trajectory_id": experience.trajectory_id,
        "created_at": experience.created_at.astimezone(UTC).isoformat(timespec="microseconds"),
        "n_steps": len(experience.steps),
        "merged_from": merged_record_ids(experience.metadata) or None,
        "merged_hashes": merged_hashes(experience.metadata) or None,
        "merged_trajectories": merged_trajectories(experience.metadata) or None,
        "content": dump(encoded),
        "content_hash": _content_hash(encoded),
        "search_text": "\n".join(part for part in (experience.solution_output, experience.feedback) if part),
    }
    non_empty = {name: value for name, value in derived.items() if value is not None and value != ""}
    scalars = {name: value for name, value in _short_scalars(experience.metadata).items() if name not in derived}
    return {**scalars, **non_empty}


def title_of(task: Task) -> str:
    """Return the title for an experience of a task: the beginning of the description, on one line."""
    return _shorten(task.description, TITLE_CHARACTERS)


def merged_attempts(metadata: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the data of the attempts that were merged into an experience, keyed by the id of the removed experience.

    The data are `outcome`, `content_hash` and, if known, `trajectory_id`. Malformed data are left out.
    """
    attempts = metadata.get("merged_attempts")
    if not isinstance(attempts, Mapping):
        return {}
    return {record_id: attempt for record_id, attempt in attempts.items() if _is_merged_attempt(attempt)}


def merged_hashes(metadata: Mapping[str, Any]) -> list[str]:
    """Return the content hashes of the attempts merged into an experience. An import skips these attempts."""
    return [attempt["content_hash"] for attempt in merged_attempts(metadata).values()]


def merged_trajectories(metadata: Mapping[str, Any]) -> list[str]:
    """Return the known ids of the attempts that were merged into an experience."""
    return [attempt["trajectory_id"] for attempt in merged_attempts(metadata).values() if attempt.get("trajectory_id")]


def _is_merged_attempt(attempt: Any) -> bool:
    return (
        isinstance(attempt, Mapping)
        and attempt.get("outcome") in ("succeeded", "failed", "unknown")
        and isinstance(attempt.get("content_hash"), str)
        and isinstance(attempt.get("trajectory_id", ""), str)
    )


def _short_scalars(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if _is_short_scalar(value)}


def _is_short_scalar(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= TITLE_CHARACTERS
    return isinstance(value, int | float)


def _shorten(text: str, max_characters: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= max_characters else line[: max_characters - 1].rstrip() + "…"


def _to_string(value: Any) -> str:
    return value if isinstance(value, str) else to_text(value)
