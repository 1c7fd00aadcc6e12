"""Strategies from successful attempts by templates, without a language model."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas.core.imports.lazy import LazyModule
from atlas.core.types import Strategy, Trajectory
from atlas.core.words import STOP_WORDS
from atlas.memory.strategies.induction.slots import QUANTITIES, TEXT_CHARACTERS, Generaliser, parse_call
from atlas.memory.strategies.induction.summaries import (
    describe_steps,
    find_advice,
    find_feedback,
    find_mistakes,
    find_program,
    find_reflections,
    is_program,
    program_gist,
    sentences,
)

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = LazyModule("asyncio")

TEMPLATE = "template"
TITLE_CHARACTERS = 100
SITUATION_CHARACTERS = 600
MIN_CONTENT_WORDS = 3
"""Minimum number of words of a situation without the name of the domain. Shorter ones would match every task."""

MIN_REFLECTION_WORDS = 2
"""Minimum number of words of a situation from reflections, which are more concise."""

MIN_STEPS = 3
"""Minimum number of distinct steps of an attempt without reflections. Fewer steps are no procedure."""

_EXAMPLES = re.compile(
    r"^\s*(?:>>>|Examples?\b|For example|def |class |import |from \S+ import|assert |Input:|Output:|Constraints)",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"^You(?:'re| are)?\s+(?:['\"]?\{\w+\}['\"]?\s*|[A-Z]\w+\s+(?=\{)){1,3}(?:\([^)]*\))?[\s,.]*(?:and\s+)?",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"(?:First, )?(?:You (?:also )?(?:want|need|would like|wish|try) to|Your task is to|"
    r"Write an? (?:python )?(?:function|program)(?: to(?: that)?| that| which)?)\s+",
    re.IGNORECASE,
)
_TASK_PHRASE = re.compile(r"(?:the task (?:is|was|says) to|I was supposed to) ([^.]{1,300})\.", re.IGNORECASE)
_PLAN = re.compile(r"my plan was to ([^.]{1,300})\.", re.IGNORECASE)
_STUCK = re.compile(r"(stuck in a loop)(?: in which I (?:continually )?([^.]{1,300}))?\.", re.IGNORECASE)


class TemplateStrategyAbstractor:
    """An abstractor that fills in templates, without a language model. Its strategies have `derived_by: template`.

    The situation is the generalised task, or the subject of the reflections if the task is empty. The suggestion
    contains the mistakes and advice of the reflections, or the steps.
    """

    async def abstract(self, trajectory: Trajectory) -> Strategy | None:
        """Return the strategy of a successful attempt, or None if it failed, is too specific or is too short."""
        return await asyncio.to_thread(self.abstract_now, trajectory)

    def abstract_now(self, trajectory: Trajectory) -> Strategy | None:
        """Return the result of `abstract`, without a coroutine."""
        return _abstract(trajectory)


def _abstract(trajectory: Trajectory) -> Strategy | None:
    if trajectory.outcome.success is not True:
        return None
    generalise = Generaliser(trajectory.steps, keep=QUANTITIES if is_program(find_program(trajectory)) else ())
    situation = _situation(trajectory, generalise)
    lines = _suggestion_lines(trajectory, generalise)
    if not situation or not lines:
        return None
    suggestion = "\n".join(lines)
    return Strategy(
        title=_title(situation),
        situation=situation,
        suggestion=suggestion,
        parameters=generalise.parameters(situation, suggestion),
        rationale=_rationale(trajectory),
        sources=(trajectory.id,),
        metadata={"derived_by": TEMPLATE, "domain": trajectory.task.domain, "task_id": trajectory.task.id},
    )


def _situation(trajectory: Trajectory, generalise: Generaliser) -> str:
    """Return the situation of an attempt: the generalised task, or else the subject of the reflections.

    Return an empty string if both have too few words.
    """
    situation, domain = _task_prose(trajectory.task.description, generalise), trajectory.task.domain
    if _n_content_words(situation, domain) >= MIN_CONTENT_WORDS:
        return situation
    situation = _subject_of_reflections(find_reflections(trajectory), generalise)
    if _n_content_words(situation, domain) < MIN_REFLECTION_WORDS:
        return ""
    return f"In {domain}: {situation}" if domain else situation


def _task_prose(description: str, generalise: Generaliser) -> str:
    """Return the prose of a task, without examples and without sentences on the agent's role."""
    prose: list[str] = []
    for line in description[:TEXT_CHARACTERS].splitlines():
        if _EXAMPLES.match(line) and prose:
            break
        if not _EXAMPLES.match(line):
            prose.append(line)
    text = _ROLE.sub("", generalise(" ".join(" ".join(prose).split())))
    sentences_with_content = [sentence for sentence in sentences(text) if _n_content_words(sentence)]
    return _join_fitting(sentences_with_content)


def _subject_of_reflections(thoughts: Sequence[str], generalise: Generaliser) -> str:
    """Return the subject of the attempt according to its latest reflection, or an empty string."""
    for pattern in (_TASK_PHRASE, _PLAN, _STUCK):
        for thought in reversed(thoughts):
            match = pattern.search(thought)
            if match:
                text = ": ".join(part for part in match.groups() if part)
                return generalise(text)[:SITUATION_CHARACTERS].removesuffix(".") + "."
    return ""


def _join_fitting(parts: Sequence[str]) -> str:
    """Return the first parts that fit into a situation, joined. The first part is always included."""
    text = parts[0] if parts else ""
    for part in parts[1:]:
        if len(text) + len(part) >= SITUATION_CHARACTERS:
            break
        text = f"{text} {part}"
    text = text[:SITUATION_CHARACTERS]
    return text[:1].upper() + text[1:]


def _suggestion_lines(trajectory: Trajectory, generalise: Generaliser) -> list[str]:
    """Return mistakes, advice, feedback, the program and the steps of an attempt as lines.

    Return an empty list for an attempt with few steps and nothing else.
    """
    mistakes, advice = find_mistakes(trajectory, generalise), find_advice(trajectory, generalise)
    steps, feedback = describe_steps(trajectory, generalise), find_feedback(trajectory, generalise)
    if not (mistakes or advice or feedback) and len(steps) < MIN_STEPS:
        return []
    mistake_lines = [f"It failed before {mistake}" for mistake in mistakes]
    code = program_gist(find_program(trajectory))
    code_lines = ["What worked:", textwrap.indent(code, "    ")] if code else []
    return [
        *mistake_lines,
        *advice,
        *feedback,
        *code_lines,
        *(f"{number}. {step}" for number, step in enumerate(steps, start=1)),
    ]


def _rationale(trajectory: Trajectory) -> str:
    """Return a sentence with the numbers of steps, tool calls and reflections that a strategy is based on."""
    n_calls = sum(parse_call(step.action) is not None for step in trajectory.steps)
    n_reflections = len(find_reflections(trajectory))
    counts = [_count_noun(len(trajectory.steps), "step")]
    if n_calls:
        counts.append(_count_noun(n_calls, "tool call"))
    if n_reflections:
        counts.append(f"{_count_noun(n_reflections, 'reflection')} on earlier failures")
    return (
        f"It succeeded once, in an attempt at {trajectory.task.id} ({', '.join(counts)}). "
        "Derived by a template, without a language model: the reason for the success was not examined."
    )


def _count_noun(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _n_content_words(text: str, domain: str = "") -> int:
    words = set(re.findall(r"[^\W\d_]{2,}", re.sub(r"\{\w+\}", " ", text).lower()))
    return len(words - STOP_WORDS - {"task", *re.findall(r"[^\W\d_]+", domain.lower())})


def _title(situation: str) -> str:
    """Return the first sentence with a request, or else the first sentence, without introductory words, as a title."""
    parts = sentences(situation)
    sentence = next((part for part in parts if _REQUEST.match(part)), parts[0])
    text = _REQUEST.sub("", sentence).removesuffix(".")
    title = text[:1].upper() + text[1:]
    return title if len(title) <= TITLE_CHARACTERS else f"{title[: TITLE_CHARACTERS - 1].rstrip()}…"
