"""Successful attempts as examples in a prompt, in a form that the caller gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from atlas.core.errors import InvalidInput
from atlas.core.hits import MemoryQueryResult
from atlas.core.types import Experience
from atlas.llm.instructions import detect_injection
from atlas.memory.context.block import ContextBlock, Omission, TokenCounter

TASK, ANSWER = "{task}", "{answer}"
"""Fields of a form."""

IS_SUCCESS = {"outcome": "succeeded"}
"""Filter of the attempts that examples are made of."""


def check_form(form: str) -> None:
    """Raise `InvalidInput` unless a form has the fields for the task and for the answer."""
    if TASK not in form or ANSWER not in form:
        raise InvalidInput(
            f"expected a form with {TASK} and {ANSWER} for examples, got {form!r}; "
            f"write it as your prompt asks, for example 'Task: {TASK}\\nAnswer: {ANSWER}'"
        )


def build_examples(
    result: MemoryQueryResult, counter: TokenCounter, budget_tokens: int, form: str, *, by_words: bool = False
) -> ContextBlock:
    """Return a block of successful attempts as examples, within a budget. The best example is last.

    The text does not mark attempts as memories, so attempts that read like instructions are left out.

    Args:
        result: Hits for a task, all of them successes.
        form: Form of an example, with `{task}` and `{answer}` to be replaced.
    """
    examples, omitted = list[str](), list[Omission]()
    shown_ids = list[str]()
    for hit in result.experience_hits:
        omit = partial(Omission, memory="experience", id=hit.item.id, relevance=hit.relevance)
        example = _render_example(hit.item, form)
        if not example:
            omitted.append(omit(reason="no example"))
        elif example in examples:
            omitted.append(omit(reason="repeats", repeats=shown_ids[examples.index(example)]))
        elif (n_over := counter.count(_join_examples([*examples, example])) - budget_tokens) > 0:
            omitted.append(omit(reason="too long", n_tokens_over=n_over))
        else:
            examples.append(example)
            shown_ids.append(hit.item.id)
    text = _join_examples(examples)
    return ContextBlock(
        text=text,
        n_tokens=counter.count(text) if text else 0,
        budget_tokens=budget_tokens,
        counted_with=counter.name,
        shown={"experience": tuple(shown_ids)},
        n_left_out=len(omitted),
        omitted=tuple(omitted),
        errors=dict(result.errors),
        by_words=by_words,
    )


def _render_example(attempt: Experience, form: str) -> str:
    """Return an attempt in the given form, or an empty string if it has no answer or reads like instructions."""
    fields = {TASK: " ".join(attempt.task.description.split()), ANSWER: attempt.solution_output.strip()}
    if not fields[ANSWER] or any(map(detect_injection, fields.values())):
        return ""
    return re.sub(f"{TASK}|{ANSWER}", lambda field: fields[field[0]], form.strip("\n"))


def _join_examples(examples: Sequence[str]) -> str:
    """Return examples as text for the beginning of a prompt, in reverse order, so that the best one is last."""
    return "".join(f"{example}\n\n" for example in reversed(examples))
