"""Strategies from successful attempts, and warnings from failed ones, by a language model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from atlas.core.codec import parse_parameters
from atlas.core.errors import InvalidInput
from atlas.core.json_values import check_json
from atlas.core.types import Strategy, Trajectory
from atlas.llm.concurrency import concurrency_of
from atlas.llm.prompts.prompt import Prompt
from atlas.llm.prompts.records import as_fields, attempt_as_data
from atlas.llm.prompts.strategy import STRATEGY
from atlas.llm.prompts.strategy_merge import STRATEGY_MERGE
from atlas.llm.prompts.warning import WARNING_PROMPT
from atlas.llm.structured_output import Question, as_data, ask, model_name
from atlas.memory.strategies.records import WARNING as WARNS
from atlas.memory.strategies.records import is_warning
from atlas.protocols.infra import LLMClient
from atlas.protocols.strategies import CombinedStrategy

_TEXT = {"type": "string", "maxLength": 4_000}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reusable": {"type": "boolean"},
        "reason": {"type": "string", "description": "Why it is reusable, or why not."},
        "title": {"type": "string", "maxLength": 200},
        "situation": _TEXT,
        "suggestion": _TEXT,
        "rationale": _TEXT,
        "parameters": {
            "type": "array",
            "maxItems": 20,
            "items": {
                "type": "object",
                "properties": {name: {"type": "string", "maxLength": 400} for name in ("name", "type", "description")},
                "required": ["name", "type", "description"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["reusable", "reason"],
    "additionalProperties": False,
}

KNOWN_CHARACTERS = 8_000
"""Maximum characters of all known strategies in a prompt."""

SAMENESS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "same": {"type": "boolean"},
        "reason": {"type": "string", "description": "Why they are the same, or why not."},
        "suggestion": _TEXT,
    },
    "required": ["same", "reason"],
    "additionalProperties": False,
}
MAX_CHARACTERS = 12_000
"""Maximum characters of both strategies in a prompt."""

_TEXT_FIELDS = ("title", "situation", "suggestion", "rationale")
PROSE = frozenset({*_TEXT_FIELDS, "reason", "description"})


class LLMStrategyAbstractor:
    """An abstractor that writes strategies from successes, and warnings from failures, with a language model.

    Source:
        ArcMemo (arXiv 2509.04439): situation and suggestion, typed parameters, concepts above instances.
    """

    def __init__(self, llm_client: LLMClient) -> None:
        self.llm = llm_client
        self.concurrency = concurrency_of(llm_client)

    async def abstract(self, trajectory: Trajectory) -> Strategy | None:
        """Return the strategy of a successful attempt, or None if the attempt failed or has no reusable part.

        Raises:
            LLMError: The model fails, or its answer was invalid twice.
        """
        return await self.abstract_beside(trajectory, ()) if trajectory.outcome.success is True else None

    async def abstract_beside(self, trajectory: Trajectory, near: Sequence[Strategy]) -> Strategy | None:
        """Return the strategy of a success or the warning of a failure. The model is shown similar strategies.

        Return None if the outcome is unknown, or if the model finds nothing reusable.

        Raises:
            LLMError: The model fails, or its answer was invalid twice.
        """
        if trajectory.outcome.success is None:
            return None
        is_failure = not trajectory.outcome.success
        prompt = WARNING_PROMPT if is_failure else STRATEGY
        same_kind = [strategy for strategy in near if is_warning(strategy) == is_failure]
        known_by_id = {f"known {number}": strategy for number, strategy in enumerate(same_kind, start=1)}
        answer = await ask(self.llm, _make_question(prompt, trajectory, known_by_id))
        if answer.get("known"):
            return replace(known_by_id[answer["known"]], sources=(trajectory.id,))
        if not answer["reusable"]:
            return None
        return Strategy(
            **{name: answer[name].strip() for name in _TEXT_FIELDS},
            parameters=tuple(dict(parameter) for parameter in answer.get("parameters", [])),
            sources=(trajectory.id,),
            metadata={
                "derived_by": model_name(self.llm),
                "prompt": prompt.version,
                "domain": trajectory.task.domain,
                "task_id": trajectory.task.id,
                **({WARNS: True} if is_failure else {}),
            },
        )

    async def combined(self, stored: Strategy, other: Strategy) -> Strategy | None:
        """Return the stored strategy with the combined advice of both, or None if the model finds both different.

        Raises:
            LLMError: The model fails, or its answer was invalid twice.
        """
        return (await self.explain_combined(stored, other)).strategy

    async def explain_combined(self, stored: Strategy, other: Strategy) -> CombinedStrategy:
        """Return the stored strategy with the combined advice of both, or the model's reason why both differ.

        Raises:
            LLMError: The model cannot be called, or its answer was invalid twice.
        """
        parameters_by_name = {
            parameter["name"]: parameter for strategy in (other, stored) for parameter in strategy.parameters
        }

        def validate(answer: dict[str, Any]) -> dict[str, Any]:
            check_json(answer, "the answer")
            if answer["same"] and not answer.get("suggestion", "").strip():
                raise InvalidInput("expected a combined suggestion for strategies of the same situation, got none")
            if answer["same"]:
                _check_declared(answer["suggestion"], set(parameters_by_name))
            return answer

        quoted_strategies = as_data({"stored": _describe(stored), "new": _describe(other)}, limit=MAX_CHARACTERS)
        question = Question(
            system=STRATEGY_MERGE.text,
            prompt=f"The two strategies:\n{quoted_strategies}",
            schema=SAMENESS_SCHEMA,
            validate=validate,
            prose=PROSE,
            is_grounded=lambda answer: answer["same"],
            may_copy=True,
        )
        answer = await ask(self.llm, question)
        if not answer["same"]:
            return CombinedStrategy(why_not=answer["reason"].strip())
        combined = replace(
            stored,
            suggestion=answer["suggestion"].strip(),
            parameters=tuple(parameters_by_name.values()),
            metadata={
                **stored.metadata,
                "combined_by": model_name(self.llm),
                "combined_prompt": STRATEGY_MERGE.version,
            },
        )
        return CombinedStrategy(strategy=combined)


def _make_question(
    prompt: Prompt, trajectory: Trajectory, known_by_id: Mapping[str, Strategy]
) -> Question[dict[str, Any]]:
    """Return the question for the strategy of an attempt.

    Args:
        known_by_id: Stored strategies for similar tasks, keyed by the ids that the prompt gives them.
    """
    schema, content = SCHEMA, f"The attempt:\n{attempt_as_data(trajectory)}"
    if known_by_id:
        descriptions = {name: _describe_known(strategy) for name, strategy in known_by_id.items()}
        content += f"\n\nWhat the memory has for alike tasks, by id:\n{as_data(descriptions, limit=KNOWN_CHARACTERS)}"
        verdict_properties = {name: SCHEMA["properties"][name] for name in ("reusable", "reason")}
        # Some servers make a model write in the schema's order, and this field decides whether it writes the others.
        ordered_properties = {**verdict_properties, "known": {"enum": ["", *known_by_id]}, **SCHEMA["properties"]}
        schema = {**SCHEMA, "properties": ordered_properties}
    return Question(
        system=prompt.text,
        prompt=content,
        schema=schema,
        validate=_check_complete,
        prose=PROSE,
        is_grounded=lambda answer: answer["reusable"] and not answer.get("known"),
    )


def _describe_known(strategy: Strategy) -> str:
    return as_fields(
        {
            "title": strategy.title,
            "situation": strategy.situation,
            "suggestion": strategy.suggestion,
            "parameters": _parameter_names(strategy),
        }
    )


def _describe(strategy: Strategy) -> str:
    return as_fields(
        {
            "situation": strategy.situation,
            "suggestion": strategy.suggestion,
            "rationale": strategy.rationale,
            "parameters": _parameter_names(strategy),
        }
    )


def _parameter_names(strategy: Strategy) -> str:
    return ", ".join(parameter["name"] for parameter in strategy.parameters) or "none"


def _check_complete(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer unchanged, or raise `InvalidInput` if a field is missing or cannot be stored."""
    check_json(answer, "the answer")
    if not answer["reusable"] or answer.get("known"):
        return answer
    missing_fields = [name for name in _TEXT_FIELDS if not answer.get(name, "").strip()]
    if missing_fields:
        raise InvalidInput(f"a reusable strategy needs a {' and a '.join(missing_fields)}")
    names = [parameter["name"] for parameter in parse_parameters(answer.get("parameters", []))]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidInput(f"expected each parameter once, got these several times: {', '.join(repeated)}")
    _check_declared(f"{answer['situation']} {answer['suggestion']}", set(names))
    return answer


def _check_declared(text: str, declared_names: set[str]) -> None:
    undeclared = set(re.findall(r"\{(\w+)\}", text)) - declared_names
    if undeclared:
        raise InvalidInput(
            f"expected every used parameter to be declared, got undeclared ones: {', '.join(sorted(undeclared))}"
        )
