"""ATIF, the Agent Trajectory Interchange Format of Harbor and Terminal-Bench 2: one attempt per document.

A document has no reward. The outcome is the reward in Harbor's `result.json`, in the same directory or its parent: 1 is
success, less is failure. Without that file the outcome is unknown. Sub-agents' trajectories are attempts of their own
that name the attempt that called them.

Source:
    https://github.com/harbor-framework/harbor/blob/main/rfcs/0001-trajectory-format.md
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from atlas.core.errors import ImportFailed, InvalidInput
from atlas.core.types import Outcome, Step, Task, Trajectory, VerificationSpec
from atlas.importers.fields import (
    Json,
    as_instant,
    as_list,
    as_number,
    as_object,
    as_text,
    drop_missing,
    make_storable,
    replace_blobs,
    required_text,
)
from atlas.importers.files import parse_json, read_document
from atlas.importers.formats import conversation
from atlas.importers.logs import FAILED_KEY, SCORES, stable_id
from atlas.importers.rows import Limits, Row, catch_failure, make_row

SOURCE = "atif"
RESULT = "result.json"
MARK = b'"ATIF-v'
MAX_DEPTH = 8

SUCCESS = 1.0
"""Lowest reward of a success."""


def matches(path: Path, head: bytes) -> bool:
    """Return whether the document declares an ATIF schema."""
    return head.lstrip().startswith(b"{") and b'"schema_version"' in head and MARK in head


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the trajectory of a document, and the trajectories of its sub-agents."""
    raw = read_document(path, limits)
    documents: list[Json] = []
    if reason := catch_failure(lambda: documents.append(as_object(parse_json(raw), "the file"))):
        yield Row(1, None, reason, offset=len(raw))
        return
    result: Json = {}
    if reason := catch_failure(lambda: result.update(_read_result_file(path, limits))):
        yield Row(1, None, f"{RESULT} in its directory or the parent: {reason}", offset=len(raw))
    for position, (document, caller) in enumerate(_walk_documents(documents[0], "", 0), start=1):
        make = partial(_decode_attempt, document, caller, {} if caller else result, path)
        yield make_row(position, make, offset=len(raw), n_bytes=len(raw))


def _walk_documents(document: Any, caller: str, depth: int) -> Iterator[tuple[Any, str]]:
    """Yield a document and the documents of its sub-agents, each with the id of the attempt that called it."""
    yield document, caller
    embedded = document.get("subagent_trajectories") if isinstance(document, dict) else None
    if isinstance(embedded, list) and depth < MAX_DEPTH:
        document_id = _attempt_id(document)
        for sub_agent in embedded:
            yield from _walk_documents(sub_agent, document_id, depth + 1)


def _attempt_id(document: Json) -> str:
    return stable_id(
        SOURCE, document.get("session_id"), document.get("trajectory_id"), _drop_nulls(document.get("steps"))
    )


def _drop_nulls(value: Any) -> Any:
    """Return a JSON value without nulls. Some writers emit nulls, and others omit the keys."""
    if isinstance(value, list):
        return [_drop_nulls(item) for item in value]
    if isinstance(value, dict):
        return {key: _drop_nulls(item) for key, item in sorted(value.items()) if item is not None}
    return value


def _read_result_file(path: Path, limits: Limits) -> Json:
    """Return the result file that Harbor writes beside a run, or an empty object."""
    for directory in (path.parent, path.parent.parent):
        result_file = directory / RESULT
        if result_file != path and result_file.is_file():
            try:
                result = as_object(parse_json(read_document(result_file, limits)), RESULT)
            except ImportFailed as error:
                raise InvalidInput(str(error)) from error
            if "verifier_result" in result:
                return result
    return {}


def _decode_attempt(value: Any, caller: str, result: Json, path: Path) -> Trajectory:
    document = as_object(value, "the trajectory")
    agent = as_object(document.get("agent"), "agent")
    step_objects = [as_object(item, f"steps[{n}]") for n, item in enumerate(as_list(document.get("steps"), "steps"))]
    if not step_objects:
        raise InvalidInput("expected a list with at least one step for steps, got none")
    first = next((n for n, item in enumerate(step_objects) if item.get("source") == "agent"), len(step_objects))
    description = _task_description(step_objects, first)
    name = as_text(result.get("task_name"), f"{RESULT}: task_name")
    steps = tuple(
        _decode_step(item, f"steps[{n}]") for n, item in enumerate(step_objects) if n >= first or not _is_prompt(item)
    )
    rewards = _decode_rewards(result)
    return Trajectory(
        id=_attempt_id(document),
        task=Task(
            f"{SOURCE}/{name or stable_id(description)[:12]}",
            "",
            description,
            verification=VerificationSpec("reward", {}),
        ),
        steps=steps,
        outcome=_decide_outcome(rewards, result),
        agent_id=as_text(agent.get("model_name"), "agent.model_name") or required_text(agent, "name", "agent.name"),
        timestamp=max(
            (
                at
                for n, item in enumerate(step_objects)
                if (at := as_instant(item.get("timestamp"), f"steps[{n}].timestamp"))
            ),
            default=as_instant(result.get("finished_at"), f"{RESULT}: finished_at"),
        ),
        metadata={
            "source": SOURCE,
            **drop_missing(
                agent=as_text(agent.get("name"), "agent.name"),
                session=as_text(document.get("session_id"), "session_id"),
                called_by=caller,
                notes=as_text(document.get("notes"), "notes"),
                metrics=make_storable(document.get("final_metrics")),
                solution=next((step.action for step in reversed(steps) if step.action), ""),
            ),
            **({SCORES: rewards} if rewards else {}),
        },
    )


def _is_prompt(step: Json) -> bool:
    return step.get("source") in ("user", "system")


def _task_description(steps: list[Json], first: int) -> str:
    """Return the user messages before the first step of the agent, or else the system messages."""
    for source in ("user", "system"):
        texts = [
            _message_text(step, f"steps[{n}]") for n, step in enumerate(steps[:first]) if step.get("source") == source
        ]
        if text := "\n\n".join(text for text in texts if text).strip():
            return text
    raise InvalidInput("expected a user message with the task at the beginning of steps, got none")


def _message_text(step: Json, name: str) -> str:
    return conversation.read_content(step.get("message"), f"{name}.message").text


def _decode_step(step: Json, name: str) -> Step:
    source = required_text(step, "source", f"{name}.source")
    message, observation = _message_text(step, name), _decode_observation(step, name)
    if source != "agent":
        return Step(
            observation="\n\n".join(text for text in (message, observation) if text),
            metadata={"observation_from": source},
        )
    calls = [_format_call(call, name) for call in as_list(step.get("tool_calls"), f"{name}.tool_calls")]
    thought = as_text(step.get("reasoning_content"), f"{name}.reasoning_content")
    words_before_calls = message if calls else ""
    metadata = drop_missing(copied=True if step.get("is_copied_context") else None)
    if _has_failed(step):
        metadata[FAILED_KEY] = True
    return Step(
        thought="\n\n".join(text for text in (thought, words_before_calls) if text),
        action="\n".join(calls) or message,
        observation=observation,
        metadata=metadata,
    )


def _format_call(value: Any, name: str) -> str:
    tool_call = as_object(value, f"{name}.tool_calls")
    function = required_text(tool_call, "function_name", f"{name}.tool_calls.function_name")
    return replace_blobs(conversation.format_call(function, make_storable(tool_call.get("arguments") or {})))


def _decode_results(step: Json, name: str) -> list[Json]:
    observation = as_object(step.get("observation") or {}, f"{name}.observation")
    result_list = as_list(observation.get("results"), f"{name}.observation.results")
    return [as_object(result, f"{name}.observation.results[{n}]") for n, result in enumerate(result_list)]


def _decode_observation(step: Json, name: str) -> str:
    texts: list[str] = []
    for result in _decode_results(step, name):
        texts.append(conversation.read_content(result.get("content"), f"{name}.observation").text)
        for ref in as_list(result.get("subagent_trajectory_ref"), f"{name}.subagent_trajectory_ref"):
            sub_agent = as_object(ref, f"{name}.subagent_trajectory_ref")
            texts.append(f"[sub-agent {sub_agent.get('trajectory_id') or sub_agent.get('trajectory_path')}]")
    return "\n\n".join(text for text in texts if text)


def _has_failed(step: Json) -> bool:
    extras = [result.get("extra") for result in _decode_results(step, "steps")]
    return any(isinstance(extra, dict) and extra.get("is_error") is True for extra in extras)


def _decode_rewards(result: Json) -> Json:
    verified = as_object(result.get("verifier_result") or {}, f"{RESULT}: verifier_result")
    rewards = as_object(verified.get("rewards") or {}, f"{RESULT}: rewards")
    return {name: as_number(value, f"{RESULT}: rewards.{name}") for name, value in rewards.items()}


def judged_by(attempt: Trajectory) -> str:
    """Return the rule by which a reward decides the outcome, such as `reward ≥ 1`. Empty if none does."""
    name = _deciding_reward(attempt.outcome.verification_details.get("rewards") or {})
    return f"{name} ≥ {SUCCESS:g}" if name else ""


def _deciding_reward(rewards: Json) -> str:
    """Return the name of the reward that decides the outcome: the only reward, or the reward named `reward`."""
    if "reward" in rewards:
        return "reward"
    return next(iter(rewards)) if len(rewards) == 1 else ""


def _decide_outcome(rewards: Json, result: Json) -> Outcome:
    reward = rewards.get(_deciding_reward(rewards))
    raised = as_object(result.get("exception_info") or {}, f"{RESULT}: exception_info")
    return Outcome(
        success=None if reward is None else reward >= SUCCESS,
        partial_score=reward if reward is not None and 0 <= reward <= 1 else None,
        error_info=as_text(raised.get("exception_message"), "exception_message")
        or as_text(raised.get("exception_type"), "exception_type")
        or None,
        verification_details=drop_missing(rewards=rewards or None),
    )
