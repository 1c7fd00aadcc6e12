"""The effect of memory in words: the number of tasks that went better with memories, and these tasks."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.memory.effects.memory_effect import MIN_TASKS, MemoryEffect, TaskEffect
from atlas.memory.system import MemorySystem
from atlas.views.charts.palette import GREY, PALETTE
from atlas.views.charts.split import Part
from atlas.views.lists.queries import Row
from atlas.views.overview.randomised import RandomisedView, randomised_sentence, randomised_view, rate_text
from atlas.views.shared.rates import points, range_text
from atlas.views.shared.wording import counted, percent, whole_percent

SURELY, LIKELY = 0.05, 0.2
"""Significance levels of the verdicts."""

NOT_CAUSED = "Not a randomised trial: a task may have gone better for another reason."

NO_GAIN = (
    "The difference is no measure of memory: where attempts ask for it after failures, the failures count against "
    "those without it. A holdout measures it."
)

HOW_TO_RECORD = (
    "To measure it, record what an attempt was given: call memory.query or memory.build_context before the task and "
    'memory.store after it, or name the ids of what it used in the attempt\'s metadata under "used". Let some attempts '
    "at the same tasks run without memory."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow(Row):
    """A task that was tried with memories and without. Its id is that of the latest experience, or empty if deleted."""

    task: str
    """Untrusted text."""

    used: str
    """`67% of 3`."""

    not_used: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectView:
    """Sentences on the effect of memory. Trusted text."""

    randomised: RandomisedView | None
    """The randomised comparison, which is the main figure, or None if no attempts were held out."""

    comparison: str
    """`On average, 35% succeeded without memory and 68% with it: +33 points …`, or empty if no task can be compared."""

    parts: tuple[Part, ...]
    """The compared tasks that went better, equally and worse. They claim no gain, but a higher rate, if the comparison
    does not measure memory."""

    caution: str
    """Why the difference need not be due to memory."""

    verdict: str
    """The answer, in a few words, or empty if there are too few tasks."""

    grounds: str
    """The p-value in a sentence. Empty like the verdict."""

    selection: str
    """How many attempts followed a failure, with memory and without, or empty if no task can be compared."""

    unused: str
    """How much of the context blocks went unused, or empty if no stored attempt was given a block."""

    n_tasks: int
    missing: str
    """Why the effect is not known yet, or empty if there are enough tasks."""

    rows: tuple[TaskRow, ...]
    """Rows, the largest gain first."""


def effect_view(memory: MemorySystem) -> EffectView:
    """Return the current effect of the memories of a system."""
    effect = memory.memory_effect()
    latest = _latest_experiences(memory, [task.task_id for task in effect.tasks])
    titles = memory.experience.titles(list(latest.values()))
    rows = [_task_row(task, latest.get(task.task_id, ""), titles) for task in effect.tasks]
    return EffectView(
        randomised=randomised_view(effect.randomised) if effect.randomised is not None else None,
        comparison=comparison_sentence(effect),
        parts=_parts(effect),
        caution=caution(effect),
        verdict=verdict(effect),
        grounds=grounds(effect),
        selection=selection(effect),
        unused=unused_sentence(effect),
        n_tasks=effect.n_tasks,
        missing=missing(effect),
        rows=tuple(rows),
    )


def comparison_sentence(effect: MemoryEffect) -> str:
    """Return the mean success rates, and their difference with its range if the tasks show it.

    `On average, 35% succeeded without memory and 68% with it: +33 points at 18 tasks tried both ways, likely +5 to +58
    points.`, or an empty string if no task can be compared.
    """
    if not effect.n_tasks:
        return ""
    rates = "On average, {1} succeeded without memory and {0} with it".format(*map(percent, effect.mean_rates))
    tasks = f"{counted(effect.n_tasks, 'task')} tried both ways"
    interval = effect.gain.interval if effect.gain is not None else None
    # an interval without width is that of tasks that all differ by as much, and says nothing of other tasks
    is_telling = effect.has_enough_tasks and not effect.has_selection_bias
    if interval is None or interval.low == interval.high or not is_telling:
        return f"{rates}, at {tasks}."
    used, not_used = map(whole_percent, effect.mean_rates)
    return f"{rates}: {points((used - not_used) / 100)} at {tasks}, {range_text(interval.low, interval.high)}."


def _parts(effect: MemoryEffect) -> tuple[Part, ...]:
    better, worse = ("higher", "lower") if effect.has_selection_bias else ("better", "worse")
    interval = interval_text(effect).removesuffix(" tasks")
    n_equal = effect.n_tasks - effect.n_helped - effect.n_hurt
    return (
        Part(f"{better} at {effect.n_helped:,}" + (f" ({interval})" if interval else ""), effect.n_helped, PALETTE[0]),
        Part(f"equal at {n_equal:,}", n_equal, GREY),
        Part(f"{worse} at {effect.n_hurt:,}", effect.n_hurt, PALETTE[1]),
    )


def better_text(effect: MemoryEffect) -> str:
    """Return `11 of 18`, tasks that went better, or a dash if no task can be compared."""
    return f"{effect.n_helped:,} of {effect.n_tasks:,}" if effect.n_tasks else "–"


def verdict(effect: MemoryEffect) -> str:
    """Return whether tasks went better with memory, in a few words, or an empty string if there are too few tasks."""
    if not effect.has_enough_tasks:
        return ""
    if effect.has_selection_bias:
        return "These attempts do not tell whether memory helps."
    if effect.p_value > LIKELY:
        return "No clear difference so far."
    direction = "better" if effect.n_helped > effect.n_hurt else "worse"
    return f"Tasks {'' if effect.p_value <= SURELY else 'probably '}went {direction} with memory."


def grounds(effect: MemoryEffect) -> str:
    """Return the p-value of the difference in a sentence. Empty like the verdict."""
    if not effect.has_enough_tasks or effect.has_selection_bias:
        return ""
    frequency = f"{100 * effect.p_value:.0f} of" if effect.p_value >= 0.01 else "fewer than 1 of"
    split = f"{effect.n_helped:,} to {effect.n_hurt:,}"
    return f"If memory made no difference, a split as uneven as {split} would come up in {frequency} 100 cases."


def selection(effect: MemoryEffect) -> str:
    """Return how many attempts followed a failure, with memory and without. Empty if no task can be compared."""
    if not effect.n_tasks:
        return ""
    with_memory, without_memory = effect.after_failure(True), effect.after_failure(False)
    counts = (
        f"{with_memory.n_succeeded:,} of {counted(with_memory.n, 'attempt')} with memory followed a failure at the "
        f"same task, and {without_memory.n_succeeded:,} of {without_memory.n:,} without."
    )
    return f"{counts} {NO_GAIN}" if effect.has_selection_bias else counts


def caution(effect: MemoryEffect) -> str:
    """Return why the difference need not be due to memory."""
    return NO_GAIN if effect.has_selection_bias else NOT_CAUSED


def unused_sentence(effect: MemoryEffect) -> str:
    """Return how much of the context blocks no attempt is known to have used, or an empty string without blocks."""
    unused = effect.unused
    if unused is None:
        return ""
    return (
        f"{percent(unused.share)} of the {unused.n_tokens:,} tokens of records in {counted(unused.n_blocks, 'block')} "
        "went unused: the attempts neither named these records nor repeated their text."
    )


def interval_text(effect: MemoryEffect) -> str:
    """Return `likely 7–15 tasks`, or an empty string if there are too few tasks for one."""
    if effect.helped is None or effect.helped.interval is None:
        return ""
    interval = effect.helped.interval
    return f"likely {round(interval.low * effect.n_tasks):,}–{round(interval.high * effect.n_tasks):,} tasks"


def effect_sentence(effect: MemoryEffect) -> str:
    """Return the effect as the command line prints it: the randomised comparison first, if there is one."""
    if effect.randomised is not None:
        observed = f" Not randomised: {_observed_sentence(effect)}" if effect.n_tasks else ""
        return f"{randomised_sentence(effect.randomised)}{observed}"
    return _observed_sentence(effect) if effect.n_tasks else advice(effect)


def _observed_sentence(effect: MemoryEffect) -> str:
    interval = f" ({interval_text(effect)})" if interval_text(effect) else ""
    if effect.has_selection_bias:
        comparison = (
            f"{better_text(effect)} tasks have a higher success rate with memory{interval}, {effect.n_hurt:,} a lower."
        )
    else:
        worse = f"{effect.n_hurt:,} went worse"
        comparison = f"{better_text(effect)} tasks went better with memory than without{interval}, {worse}."
    return " ".join(part for part in (comparison, selection(effect), advice(effect)) if part)


def advice(effect: MemoryEffect) -> str:
    """Return the advice on what to record while too few tasks can be compared. Empty if there are enough."""
    return f"{missing(effect)} {HOW_TO_RECORD}" if missing(effect) else ""


def missing(effect: MemoryEffect) -> str:
    """Return why the effect is not known yet, or an empty string if enough tasks can be compared."""
    if effect.has_enough_tasks:
        return ""
    if not effect.n_tasks and not effect.n_only_used:
        return "No attempt has recorded a memory that it was given."
    incomparable = (
        f" {counted(effect.n_only_used, 'more task')} had attempts with memory only." if effect.n_only_used else ""
    )
    return f"{counted(effect.n_tasks, 'task')} can be compared so far, and {MIN_TASKS} are needed.{incomparable}"


def _latest_experiences(memory: MemorySystem, task_ids: list[str]) -> dict[str, str]:
    """Return the id of the latest experience of each task, by the id of the task."""
    where = {"task_id": {"$in": task_ids}}
    tasks, times = (memory.experience.column(key, where) for key in ("task_id", "created_at"))
    in_order = sorted(tasks, key=lambda record_id: (times.get(record_id, ""), record_id))
    return {tasks[record_id]: record_id for record_id in in_order}


def _task_row(task: TaskEffect, experience_id: str, titles: dict[str, str]) -> TaskRow:
    return TaskRow(
        id=experience_id,
        task=titles.get(experience_id, "") or task.task_id,
        used=rate_text(task.used),
        not_used=rate_text(task.not_used),
    )
