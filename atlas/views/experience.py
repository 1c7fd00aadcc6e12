"""One experience in full: what was asked, what was tried, what came of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from atlas.core.types import NO_MARKS, NO_USAGE, Experience, Marks, Step, Usage
from atlas.memory.system import MemorySystem
from atlas.views.texts import Text, as_json, text_of
from atlas.views.wording import counted, moment, signed

STEPS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Fact:
    """One line about an experience."""

    name: str
    """A word of our own."""

    value: str
    """May be untrusted text."""


@dataclass(frozen=True, slots=True)
class Part:
    """One text of an experience."""

    name: str
    """Words of our own."""

    text: Text


@dataclass(frozen=True, slots=True)
class StepView:
    """One turn of an attempt."""

    number: int
    """From 1."""

    parts: tuple[Part, ...]
    """Thought, action, observation and metadata, those that there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceDetail:
    """All that is known of one experience."""

    id: str
    task: Text
    facts: tuple[Fact, ...]
    results: tuple[Part, ...]
    """Solution, feedback and error, those that there are."""

    background: tuple[Part, ...]
    """What was given with the task, how it was judged, and what the source says of it."""

    steps: tuple[Step, ...]

    @property
    def n_step_pages(self) -> int:
        """How many pages the steps take; at least one."""
        return max(1, math.ceil(len(self.steps) / STEPS_SHOWN))

    def steps_on(self, page: int) -> tuple[StepView, ...]:
        """The steps of a page; the first is 1."""
        start = (page - 1) * STEPS_SHOWN
        shown = self.steps[start : start + STEPS_SHOWN]
        return tuple(_step(number, step) for number, step in enumerate(shown, start + 1))


def experience_detail(memory: MemorySystem, experience_id: str) -> ExperienceDetail | None:
    """An experience in full; None where it is not, or no longer, in the store."""
    experience = memory.experience.get(experience_id)
    if experience is None:
        return None
    marks = memory.experience.marks([experience_id]).get(experience_id, NO_MARKS)
    usage = memory.experience.usage([experience_id]).get(experience_id, NO_USAGE)
    error = experience.outcome.error_info or ""
    return ExperienceDetail(
        id=experience.id,
        task=Text(experience.task.description),
        facts=_facts(experience, marks, usage),
        results=_parts(
            ("Solution", text_of(experience.solution_output)),
            ("Feedback", text_of(experience.feedback)),
            ("Error", text_of(error if error != experience.feedback else "")),
        ),
        background=_parts(
            ("Given with the task", as_json(experience.task.context)),
            ("Judged by", as_json(_verification(experience))),
            ("Said by the source", as_json(experience.metadata)),
        ),
        steps=experience.steps,
    )


def _facts(experience: Experience, marks: Marks, usage: Usage) -> tuple[Fact, ...]:
    score = experience.outcome.partial_score
    named = {
        "Outcome": signed(experience.outcome.label),
        "Partial score": "" if score is None else f"{score:.2f}",
        "Source": str(experience.metadata.get("source", "")),
        "Domain": experience.task.domain,
        "Agent": experience.agent_id,
        "When": moment(experience.created_at),
        "Steps": f"{len(experience.steps):,}",
        "Task id": experience.task.id,
        "Tags": ", ".join(marks.tags),
        "Pinned": "yes, so it is never pruned" if marks.pinned else "",
        "Note": marks.note,
        "Retrieved": _retrieved(usage),
        "Used": _used(usage),
    }
    return tuple(Fact(name, value) for name, value in named.items() if value)


def _retrieved(usage: Usage) -> str:
    last = f", last {moment(usage.last_retrieved_at)}" if usage.last_retrieved_at else ""
    return f"{counted(usage.n_retrieved, 'time')}{last}" if usage.n_retrieved else "never"


def _used(usage: Usage) -> str:
    return f"for {counted(usage.n_uses, 'task')}, {usage.n_successes:,} of them succeeded" if usage.n_uses else ""


def _verification(experience: Experience) -> dict[str, object]:
    spec, details = experience.task.verification, experience.outcome.verification_details
    named = {"method": spec.method, "parameters": spec.parameters, "details": details}
    return {name: value for name, value in named.items() if value}


def _step(number: int, step: Step) -> StepView:
    return StepView(
        number,
        _parts(
            ("Thought", text_of(step.thought)),
            ("Action", text_of(step.action)),
            ("Observation", text_of(step.observation)),
            ("Metadata", as_json(step.metadata)),
        ),
    )


def _parts(*named: tuple[str, Text | None]) -> tuple[Part, ...]:
    return tuple(Part(name, text) for name, text in named if text)
