"""τ-bench runs: a JSON list of customer-service conversations, each with a reward.

The system prompt is left out, because it is the same long policy in every run. All other messages are kept.

Source:
    https://github.com/sierra-research/tau-bench
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from atlas.core.errors import InvalidInput
from atlas.core.types import Outcome, Task, Trajectory, VerificationSpec
from atlas.importers.fields import (
    Json,
    as_label,
    as_list,
    as_number,
    as_object,
    as_text,
    drop_missing,
    make_storable,
    required_text,
)
from atlas.importers.files import RawRecord, read_records
from atlas.importers.formats import conversation
from atlas.importers.keys import record_keys
from atlas.importers.rows import Limits, Row, make_row

DOMAINS = ("airline", "retail")
REWARD_TOLERANCE = 1e-6
"""Tolerance with which τ-bench itself compares rewards with 1 and 0."""


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file's rows have a task, its reward and its messages."""
    return any({"task_id", "reward"} <= keys and keys & {"traj", "info"} for keys in record_keys(head))


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the runs of a file. The domain of the tasks is taken from the file's name, if it contains one."""
    domain = next((name for name in DOMAINS if name in re.split(r"[^a-z]+", path.name.lower())), "")
    for record in read_records(path, limits):
        make = partial(_decode_trajectory, record, domain)
        yield make_row(record.position, make, offset=record.end, n_bytes=len(record.raw))


def judged_by(_: Trajectory) -> str:
    """Return the rule by which the score decides the outcome."""
    return "reward = 1"


def _decode_trajectory(record: RawRecord, domain: str) -> Trajectory:
    row = as_object(record.value(), "the row")
    info = as_object(row.get("info"), "info")
    if "traj" not in row:
        raise InvalidInput("expected the list of messages for traj, got nothing")
    messages = [
        conversation.openai_message(as_object(message, f"traj[{n}]"), f"traj[{n}]")
        for n, message in enumerate(as_list(row["traj"], "traj"))
    ]
    _, turns = conversation.split_system(messages)
    steps = conversation.to_steps(turns)
    return Trajectory(
        task=_decode_task(row, info, domain),
        steps=steps,
        outcome=_decode_outcome(row, info),
        metadata=drop_missing(
            source="tau-bench",
            trial=as_number(row.get("trial"), "trial"),
            reward=as_number(row.get("reward"), "reward"),
            user_id=as_text(_decode_task_info(info).get("user_id"), "info.task.user_id"),
            user_cost=as_number(info.get("user_cost"), "info.user_cost"),
            solution=conversation.final_action(turns),
        ),
    )


def _decode_task_info(info: Json) -> Json:
    return as_object(info.get("task", {}), "info.task")


def _decode_task(row: Json, info: Json, domain: str) -> Task:
    number, task = as_label(row.get("task_id"), "task_id"), _decode_task_info(info)
    if "error" in info and "instruction" not in task:  # τ-bench records no task for a run that crashed
        instruction = f"τ-bench {domain} task {number}".replace("  ", " ")
    else:
        instruction = required_text(task, "instruction", "info.task.instruction")
    digest = hashlib.sha256(instruction.encode("utf-8", "replace")).hexdigest()[:8]
    expected_results = {name: make_storable(task[name]) for name in ("actions", "outputs") if task.get(name)}
    return Task(
        id=f"tau-bench/{domain}/{number}" if domain else f"tau-bench/{number}-{digest}",
        domain=domain,
        description=instruction.strip(),
        verification=VerificationSpec("reward", expected_results),
    )


def _decode_outcome(row: Json, info: Json) -> Outcome:
    reward = as_number(row.get("reward"), "reward")
    success = None
    if reward is not None and min(abs(reward - 1), abs(reward)) <= REWARD_TOLERANCE:
        success = abs(reward - 1) <= REWARD_TOLERANCE
    reward_details = as_object(info.get("reward_info") or {}, "info.reward_info").get("info")
    return Outcome(
        success=success,
        partial_score=reward if reward is not None and 0 <= reward <= 1 else None,
        error_info=as_text(info.get("error"), "info.error") or None,
        verification_details=make_storable(reward_details) if isinstance(reward_details, dict) else {},
    )
