"""Recorded attempts at a task with and without memory, compared step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.core.types import Experience, Step
from atlas.memory.effects.memory_effect import JudgedAttempt, MemoryEffect, TaskEffect
from atlas.memory.effects.strategy_effects import Tries
from atlas.memory.system import MemorySystem
from atlas.views.ask.answer import WEAK, Answer
from atlas.views.ask.cards import VIEWS
from atlas.views.shared.wording import counted, first_sentences, outcome_with_sign, shortened
from atlas.views.trace.conversation import START, Reading, conversation_as_json
from atlas.views.trace.terminal import readable

__all__ = ["MemoryEffect"]

TEXT_CHARACTERS = 2_000
"""Maximum characters of the task, and of how an attempt ended, that are shown."""

TITLE_CHARACTERS = 100

QUOTED_CHARACTERS = 160
"""Maximum characters of the task that are quoted in the verdict."""

WITHOUT, WITH = "Without memory", "With memory"

RECORDED = (
    "These are recorded attempts at the task of a {} hit above, not an experiment. A later attempt can go better for "
    "other reasons than memory."
)
"""The caption of a proof, given the strength of the hit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One attempt from its first step to its outcome. Its texts are untrusted."""

    heading: str
    experience: Experience
    used: tuple[str, ...]
    """Memories that it used: `strategy: Rebuild in batches`, empty if there is no memory."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the attempt."""
        return self.experience.steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A task that was tried with memory and without, and an attempt of each kind."""

    task_id: str
    sentence: str
    """`Tried 2 times without memory: both failed. Tried 2 times with memory: both succeeded.`"""

    task: str
    """The task, on one line. Untrusted."""

    outcomes: tuple[tuple[bool, ...], tuple[bool, ...]]
    """Outcomes of the attempts without memory and with it, in their order."""

    without: Trace
    with_memory: Trace
    parting: int | None
    """Number of the first step that differs, from 1, or None."""

    @property
    def quotation(self) -> str:
        """Whole sentences from the beginning of the task, or its first words if these are too long. Untrusted."""
        return first_sentences(self.task, QUOTED_CHARACTERS)

    @property
    def id(self) -> str:
        """The ids of both attempts."""
        return f"{self.without.experience.id} {self.with_memory.experience.id}"


def proof_of(memory: MemorySystem, answer: Answer, effect: MemoryEffect) -> Proof | None:
    """Return the proof for the best hit that is not weak and whose task was tried with memory and without, or None."""
    effects = {task.task_id: task for task in effect.tasks}
    task_ids = (task_id for task_id, strength in _strengths(answer) if strength != WEAK)
    proofs = (_proof(memory, effects[task_id]) for task_id in dict.fromkeys(task_ids) if task_id in effects)
    return next((proof for proof in proofs if proof is not None), None)


def strength_of(answer: Answer, proof: Proof) -> str:
    """Return `strong` or `medium` for the best hit at the task of a proof."""
    return next(strength for task_id, strength in _strengths(answer) if task_id == proof.task_id)


def _strengths(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield the task and the strength of each experience among the hits, most relevant first."""
    for part in answer.parts:
        if part.name == "experience":
            for hit in sorted(part.hits, key=lambda hit: -hit.hit.relevance):
                yield hit.hit.item.task.id, part.strength(hit)


def example_of(memory: MemorySystem, effect: MemoryEffect) -> Proof | None:
    """Return the proof for the task that gained most with memory, or None if tasks did not go better on the whole."""
    if effect.has_selection_bias or effect.n_helped <= effect.n_hurt:
        return None
    proofs = (_proof(memory, task) for task in effect.tasks if task.difference > 0)
    return next((proof for proof in proofs if proof is not None), None)


def compared_tasks_sentence(effect: MemoryEffect) -> str:
    """Return a sentence on the compared tasks and their outcomes."""
    n_alike = effect.n_tasks - effect.n_helped - effect.n_hurt
    sentence = f"{effect.n_helped:,} went better with memory, {effect.n_hurt:,} worse and {n_alike:,} alike"
    return (
        f"{counted(effect.n_tasks, 'task')} of this store {_was_or_were(effect.n_tasks)} tried both ways: {sentence}."
    )


def proof_as_json(proof: Proof, reading: Reading = START) -> dict[str, Any]:
    """Return both traces as JSON for the browser."""
    traces = [_trace_as_json(trace, reading) for trace in (proof.without, proof.with_memory)]
    return {"traces": traces, "parting": proof.parting, "finds": False}


def attempts_phrase(outcomes: Sequence[bool]) -> str:
    """Return `failed`, `failed twice`, `succeeded all 3 times` or `succeeded in 1 of 2 attempts`."""
    n_attempts, n_succeeded = len(outcomes), sum(outcomes)
    if 0 < n_succeeded < n_attempts:
        return f"succeeded in {n_succeeded:,} of {n_attempts:,} attempts"
    verb = "succeeded" if n_succeeded else "failed"
    return verb if n_attempts == 1 else f"{verb} twice" if n_attempts == 2 else f"{verb} all {n_attempts:,} times"


def parting_step(left_steps: Sequence[Step], right_steps: Sequence[Step]) -> int | None:
    """Return the number of the first step that differs, from 1, or None."""
    pairs = zip(left_steps, right_steps, strict=False)
    different = (
        number for number, (left, right) in enumerate(pairs, start=1) if _action_text(left) != _action_text(right)
    )
    shorter, longer = sorted((len(left_steps), len(right_steps)))
    return next(different, shorter + 1 if shorter < longer else None)


def tries_phrase(tries: Tries) -> str:
    """Return the outcomes of attempts as `both failed`, `1 succeeded` or `succeeded`."""
    if tries.n == 1:
        return "succeeded" if tries.n_succeeded else "failed"
    every = "both" if tries.n == 2 else "all"
    if tries.n_succeeded in (0, tries.n):
        return f"{every} {'succeeded' if tries.n_succeeded else 'failed'}"
    return f"{tries.n_succeeded:,} succeeded"


def _proof(memory: MemorySystem, task: TaskEffect) -> Proof | None:
    """Return the proof for a task, or None if no attempt without memory or with it is stored any more."""
    sides = [[attempt for attempt in task.attempts if attempt.has_used == has_used] for has_used in (False, True)]
    ids = {attempt.experience_id for side in sides for attempt in side}
    experiences = {experience.id: experience for experience in memory.experience.get_many(sorted(ids))}
    attempt_without, attempt_with = (_typical(side, experiences) for side in sides)
    if attempt_without is None or attempt_with is None:
        return None
    traces = [
        Trace(heading=heading, experience=experiences[attempt.experience_id], used=_used_titles(memory, attempt))
        for heading, attempt in ((WITHOUT, attempt_without), (WITH, attempt_with))
    ]
    return Proof(
        task_id=task.task_id,
        sentence=f"{_tries_text(task.not_used)} without memory: {tries_phrase(task.not_used)}. "
        f"{_tries_text(task.used)} with memory: {tries_phrase(task.used)}.",
        task=" ".join(shortened(traces[1].experience.task.description, TEXT_CHARACTERS).split()),
        outcomes=(_outcomes(sides[0]), _outcomes(sides[1])),
        without=traces[0],
        with_memory=traces[1],
        parting=parting_step(traces[0].steps, traces[1].steps),
    )


def _outcomes(attempts: Sequence[JudgedAttempt]) -> tuple[bool, ...]:
    return tuple(attempt.success for attempt in attempts)


def _typical(attempts: Sequence[JudgedAttempt], experiences: dict[str, Experience]) -> JudgedAttempt | None:
    """Return the latest attempt with the majority outcome, preferably one with steps."""
    existing = [attempt for attempt in attempts if attempt.experience_id in experiences]
    is_success = 2 * sum(attempt.success for attempt in existing) >= len(existing)

    def standing(attempt: JudgedAttempt) -> tuple[bool, bool, Any, str]:
        experience = experiences[attempt.experience_id]
        return attempt.success == is_success, bool(experience.steps), experience.created_at, experience.id

    return max(existing, key=standing, default=None)


def _used_titles(memory: MemorySystem, attempt: JudgedAttempt) -> tuple[str, ...]:
    return tuple(_titles_with_nouns(memory, attempt.used))


def _titles_with_nouns(memory: MemorySystem, used_records: Iterable[tuple[str, str]]) -> Iterable[str]:
    memory_names = {VIEWS[memory_name].kind.records(memory).collection_name: memory_name for memory_name in VIEWS}
    for collection, record_id in used_records:
        memory_name = memory_names.get(collection)
        if memory_name is None:  # of a memory that another library plugged in
            continue
        for title in VIEWS[memory_name].kind.records(memory).titles([record_id]).values():
            yield f"{VIEWS[memory_name].kind.noun}: {shortened(' '.join(title.split()), TITLE_CHARACTERS)}"


def _trace_as_json(trace: Trace, reading: Reading) -> dict[str, Any]:
    outcome = trace.experience.outcome
    return {
        "heading": trace.heading,
        "outcome": outcome_with_sign(outcome.label),
        "task": readable(shortened(trace.experience.task.description, TEXT_CHARACTERS)),
        "used": [readable(title) for title in trace.used] or ["no memory"] * (trace.heading == WITHOUT),
        "ending": readable(shortened(outcome.error_info or trace.experience.feedback, TEXT_CHARACTERS)),
        **conversation_as_json(trace.steps, reading),
    }


def _action_text(step: Step) -> str:
    """Return the action of a step, or its thought without one, with single spaces."""
    return " ".join((step.action if step.action.strip() else step.thought).split())


def _tries_text(tries: Tries) -> str:
    return "Tried once" if tries.n == 1 else f"Tried {tries.n:,} times"


def _was_or_were(n: int) -> str:
    return "was" if n == 1 else "were"
