"""Refinement of a retrieved set by a language model, which can only keep, merge, drop and reorder."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from atlas.core.errors import InvalidInput, LLMError
from atlas.core.types import Experience, Task
from atlas.llm.concurrency import concurrency_of
from atlas.llm.prompts.records import experience_as_text
from atlas.llm.prompts.refinement import REFINEMENT
from atlas.llm.structured_output import Question, as_data, ask, model_name
from atlas.memory.experience.refinement.decisions import (
    NO_JUDGEMENT_REASON,
    RefineDecision,
    RefinedSet,
    with_merged_ids,
)
from atlas.protocols.infra import LLMClient

logger = logging.getLogger(__name__)

SET_CHARACTERS = 24_000
"""Maximum characters of all experiences in a prompt, about 8,000 tokens."""

TOKENS_PER_DECISION = 120

NO_TASK = "There is no task at hand: the memory itself is tidied."

_WORTH = {True: 2, None: 1, False: 0}


def build_schema(names: Iterable[str]) -> Mapping[str, Any]:
    """Return the JSON schema of decisions on experiences. `names` are the ids of the experiences in the prompt."""
    decision = {
        "type": "object",
        "properties": {
            "id": {"enum": list(names)},
            "action": {"enum": ["keep", "merge", "drop"]},
            "into": {"enum": ["", *names]},
            "reason": {"type": "string", "minLength": 1, "maxLength": 600},
        },
        "required": ["id", "action", "reason"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"decisions": {"type": "array", "minItems": 1, "items": decision}},
        "required": ["decisions"],
        "additionalProperties": False,
    }


class LLMRefineStrategy:
    """A strategy in which a language model judges the experiences, as in ReMem.

    It returns a subset of the given experiences in a new order. If the model gives no valid answer, all experiences are
    returned unchanged, and the result of `refine_with_reasons` contains the reason.
    """

    set_size = 12

    def __init__(self, llm_client: LLMClient) -> None:
        self.llm = llm_client
        self.name, self.prompt = model_name(llm_client), REFINEMENT.version
        self.concurrency = concurrency_of(llm_client)

    async def refine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        """Return the experiences worth showing, in the order to show them."""
        return (await self.refine_with_reasons(experiences, context)).experiences

    async def refine_with_reasons(self, experiences: list[Experience], context: Task | None = None) -> RefinedSet:
        """Return the experiences worth keeping, and a decision on each. All are kept if the model failed."""
        by_id = {experience.id: experience for experience in experiences}
        if len(by_id) < 2:
            return _keep_all(experiences, "there are fewer than two experiences")
        by_prompt_id = {f"e{number}": experience for number, experience in enumerate(by_id.values(), start=1)}
        question = Question(
            system=REFINEMENT.text,
            prompt=_make_prompt(by_prompt_id, context),
            schema=build_schema(by_prompt_id),
            validate=lambda answer: _parse_decisions(
                answer["decisions"], by_prompt_id, mix_outcomes=context is not None
            ),
            prose=frozenset({"reason"}),
            max_tokens=256 + TOKENS_PER_DECISION * len(by_id),
        )
        try:
            decisions = await ask(self.llm, question)
        except LLMError as error:
            logger.warning("the experiences stay unrefined: %s", error)
            return _keep_all(experiences, NO_JUDGEMENT_REASON, failure=str(error))
        return RefinedSet(experiences=_kept_experiences(decisions, by_id), decisions=decisions)


def _make_prompt(by_prompt_id: Mapping[str, Experience], context: Task | None) -> str:
    texts = {name: experience_as_text(experience) for name, experience in by_prompt_id.items()}
    task = f"The task at hand:\n{as_data({'task': context.description}, limit=4_000)}" if context else NO_TASK
    return f"{task}\n\nThe {len(by_prompt_id)} experiences, by id:\n{as_data(texts, limit=SET_CHARACTERS)}"


def _parse_decisions(
    answer: Sequence[Mapping[str, str]], by_prompt_id: Mapping[str, Experience], *, mix_outcomes: bool
) -> list[RefineDecision]:
    """Return the decisions in a model's answer. Ids of the prompt are replaced by the experiences' own ids.

    Args:
        by_prompt_id: The experiences, keyed by their id in the prompt.
        mix_outcomes: Whether a failure may be merged into a success: yes for a prompt, no for a store.

    Raises:
        InvalidInput: An experience does not have exactly one decision, all are dropped, or a merge is invalid.
    """
    prompt_ids = [decision["id"] for decision in answer]
    _check_no_ids(
        "expected one decision for each experience, got more for",
        [prompt_id for prompt_id in by_prompt_id if prompt_ids.count(prompt_id) > 1],
    )
    _check_no_ids(
        "expected one decision for each experience, got none for",
        [prompt_id for prompt_id in by_prompt_id if prompt_id not in prompt_ids],
    )
    kept_experiences = {
        decision["id"]: by_prompt_id[decision["id"]] for decision in answer if decision["action"] == "keep"
    }
    if not kept_experiences:
        raise InvalidInput("expected at least one experience to be kept, got none")
    for decision in answer:
        if decision["action"] == "merge":
            _check_merge(decision, by_prompt_id[decision["id"]], kept_experiences, mix_outcomes=mix_outcomes)
    return [
        RefineDecision(
            experience_id=by_prompt_id[decision["id"]].id,
            action=decision["action"],
            reason=decision["reason"],
            into=kept_experiences[decision["into"]].id if decision["action"] == "merge" else "",
        )
        for decision in answer
    ]


def _check_merge(
    decision: Mapping[str, str],
    merged_experience: Experience,
    kept_experiences: Mapping[str, Experience],
    *,
    mix_outcomes: bool,
) -> None:
    """Raise `InvalidInput` unless a decision merges an experience into a kept one with at least as good an outcome."""
    prompt_id, survivor = decision["id"], decision.get("into", "")
    if survivor not in kept_experiences:
        raise InvalidInput(f"expected a kept experience in `into` of {prompt_id!r}, got {survivor!r}")
    if _WORTH[merged_experience.success] > _WORTH[kept_experiences[survivor].success]:
        raise InvalidInput(
            f"{prompt_id!r} has a better outcome than {survivor!r}; merge the worse attempt into the better one"
        )
    if not mix_outcomes and merged_experience.success != kept_experiences[survivor].success:
        raise InvalidInput(f"{prompt_id!r} and {survivor!r} have different outcomes; do not merge such attempts")


def _check_no_ids(problem: str, ids: Sequence[str]) -> None:
    if ids:
        raise InvalidInput(f"{problem} {', '.join(repr(name) for name in dict.fromkeys(ids))}")


def _kept_experiences(decisions: Sequence[RefineDecision], by_id: Mapping[str, Experience]) -> list[Experience]:
    merges = [(decision.into, by_id[decision.experience_id]) for decision in decisions if decision.action == "merge"]
    survivors = list[Experience]()
    for survivor_id in (decision.experience_id for decision in decisions if decision.action == "keep"):
        duplicates = [experience for target_id, experience in merges if target_id == survivor_id]
        survivors.append(with_merged_ids(by_id[survivor_id], duplicates))
    return survivors


def _keep_all(experiences: list[Experience], reason: str, failure: str = "") -> RefinedSet:
    decisions = [
        RefineDecision(experience_id=experience.id, action="keep", reason=reason) for experience in experiences
    ]
    return RefinedSet(experiences=experiences, decisions=decisions, failure=failure)
