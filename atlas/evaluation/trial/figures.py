"""The figures of a trial: the success rate of each arm, and the comparison of each pair of arms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean
from typing import Any

import numpy as np

from atlas.core.statistics import Interval, clustered_rate, estimates, sign_test
from atlas.core.types import Task
from atlas.evaluation.trial.journal import FinishedCell


@dataclass(frozen=True, slots=True, kw_only=True)
class RateFigure:
    """The success rate of runs on some of the tasks."""

    n: int
    n_succeeded: int
    interval: Interval | None
    """95% interval over tasks, because attempts at one task are not independent. None without attempts."""

    @property
    def share(self) -> float | None:
        """Success rate, in [0, 1], or None without attempts."""
        return self.n_succeeded / self.n if self.n else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFigures:
    """The figures of one arm. Tokens, cost and time are means per run."""

    name: str
    every: RateFigure
    seen: RateFigure
    """Success rate on tasks with an earlier attempt in the memory."""

    new: RateFigure
    n_errors: int
    """Number of runs that timed out or crashed. Such runs count as failures."""

    block_tokens: float
    tokens: float
    cost: float
    seconds: float
    models: tuple[str, ...]
    """Names of models that the command reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFigure:
    """The difference in success rate between two arms, on the same tasks and repeats."""

    n_tasks: int
    difference: float
    """First minus second arm, mean over tasks, in [-1, 1]."""

    interval: Interval | None
    """95% bootstrap interval over tasks, in [-1, 1], or None for few tasks."""

    n_won: int
    """Number of tasks with a higher success rate for the first arm."""

    n_lost: int
    chance: float
    """p-value of the exact sign test, which is McNemar's test if no task was repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmComparison:
    """The differences between two arms: over all tasks, over seen ones and over new ones."""

    first: str
    second: str
    every: PairFigure | None
    """Over all tasks. None if the arms have no task in common, as for `seen` and `new`."""

    seen: PairFigure | None
    new: PairFigure | None
    won: tuple[int, ...]
    """Positions of the tasks with a higher success rate for the first arm."""

    lost: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialReport:
    """The figures of a trial's finished runs."""

    design: Mapping[str, Any]
    """Command, arms, tasks, seed, and hashes of the store and the code."""

    n_cells: int
    n_done: int
    stopped_by: str
    """The limit that ended the trial: `tokens`, `cost` or `seconds`, or empty for a complete trial."""

    arms: tuple[ArmFigures, ...]
    comparisons: tuple[ArmComparison, ...]
    cells: tuple[FinishedCell, ...]


def differing_runs(report: TrialReport, comparison: ArmComparison, task: int) -> tuple[FinishedCell, FinishedCell]:
    """Return a task's runs of both arms in the first repeat in which only the arm with more successes succeeded."""
    runs = {(cell.cell.repeat, cell.cell.arm): cell for cell in report.cells if cell.cell.task == task}
    is_won = task in comparison.won
    pairs = (
        (run, runs[repeat, comparison.second])
        for (repeat, arm), run in sorted(runs.items())
        if arm == comparison.first and (repeat, comparison.second) in runs
    )
    return next(
        (first, second) for first, second in pairs if first.result.success == is_won and second.result.success != is_won
    )


def build_report(
    design: Mapping[str, Any],
    arms: Sequence[str],
    tasks: Sequence[Task],
    finished_cells: Sequence[FinishedCell],
    n_cells: int,
    stopped_by: str = "",
) -> TrialReport:
    """Return the report on finished cells, which may be in any order."""
    cells = sorted(finished_cells, key=lambda cell: (cell.cell.task, cell.cell.repeat, cell.cell.arm))
    return TrialReport(
        design=design,
        n_cells=n_cells,
        n_done=len(cells),
        stopped_by=stopped_by,
        arms=tuple(_arm_figures(name, [cell for cell in cells if cell.cell.arm == name]) for name in arms),
        comparisons=tuple(_compare_arms(second, first, cells) for first, second in combinations(arms, 2)),
        cells=tuple(cells),
    )


def _arm_figures(name: str, cells: Sequence[FinishedCell]) -> ArmFigures:
    results = [cell.result for cell in cells]
    return ArmFigures(
        name=name,
        every=_rate_figure(cells),
        seen=_rate_figure([cell for cell in cells if cell.is_seen]),
        new=_rate_figure([cell for cell in cells if not cell.is_seen]),
        n_errors=sum(bool(result.error) for result in results),
        block_tokens=_mean([cell.block_tokens for cell in cells]),
        tokens=_mean([result.tokens for result in results]),
        cost=_mean([result.cost for result in results]),
        seconds=_mean([result.seconds for result in results]),
        models=tuple(sorted({result.model for result in results} - {""})),
    )


def _rate_figure(cells: Sequence[FinishedCell]) -> RateFigure:
    successes = [cell.result.success for cell in cells]
    interval = clustered_rate(successes, [str(cell.cell.task) for cell in cells]).interval if cells else None
    return RateFigure(n=len(cells), n_succeeded=sum(successes), interval=interval)


def _mean(values: Sequence[float]) -> float:
    return mean(values) if values else 0.0


def _compare_arms(first: str, second: str, cells: Sequence[FinishedCell]) -> ArmComparison:
    differences = _differences(first, second, cells)
    return ArmComparison(
        first=first,
        second=second,
        every=_pair_figure(differences),
        seen=_pair_figure(_differences(first, second, [cell for cell in cells if cell.is_seen])),
        new=_pair_figure(_differences(first, second, [cell for cell in cells if not cell.is_seen])),
        won=tuple(task for task, difference in differences.items() if difference > 0),
        lost=tuple(task for task, difference in differences.items() if difference < 0),
    )


def _differences(first: str, second: str, cells: Sequence[FinishedCell]) -> dict[int, float]:
    """Return the difference in success rate, first minus second arm, for each task, over the repeats that both have."""
    success_by_run = {(cell.cell.task, cell.cell.repeat, cell.cell.arm): cell.result.success for cell in cells}
    differences_by_task = defaultdict(list)
    for (task, repeat, arm), is_success in success_by_run.items():
        if arm == first and (task, repeat, second) in success_by_run:
            differences_by_task[task].append(is_success - success_by_run[task, repeat, second])
    return {task: mean(differences) for task, differences in differences_by_task.items()}


def _pair_figure(differences: Mapping[int, float]) -> PairFigure | None:
    if not differences:
        return None
    values = np.array(list(differences.values()))
    estimate = estimates(values[:, None], [str(task) for task in differences], seed=0)[0]
    n_won, n_lost = int((values > 0).sum()), int((values < 0).sum())
    return PairFigure(
        n_tasks=len(values),
        difference=estimate.mean,
        interval=estimate.interval,
        n_won=n_won,
        n_lost=n_lost,
        chance=sign_test(n_won, n_lost),
    )
