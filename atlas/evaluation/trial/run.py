"""Running a trial: every cell once, in a seeded order, with resumption after an interruption."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.imports.distribution import __version__
from atlas.core.settings import Settings
from atlas.core.types import Outcome, Task, Trajectory
from atlas.evaluation.trial.agents import run_command
from atlas.evaluation.trial.design import Arm, Cell, distinct_tasks, shuffled_cells
from atlas.evaluation.trial.figures import TrialReport, build_report
from atlas.evaluation.trial.forks import build_block, ensure_fork, freeze, has_attempt, open_fork, store_hash
from atlas.evaluation.trial.journal import FinishedCell, TrialJournal
from atlas.memory.effects.uses import block_texts, find_used_records
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Embedder, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of a trial. Once one is reached, no further repeat of a task is started."""

    tokens: int | None = None
    cost: float | None = None
    """Largest total cost, in the currency of the command."""

    seconds: float | None = None
    """Total time of all runs."""

    def find_reached_limit(self, cells: Sequence[FinishedCell]) -> str:
        """Return the name of a limit that the finished cells have reached, such as `tokens`, or an empty string."""
        for name, limit in asdict(self).items():
            if limit is not None and sum(getattr(cell.result, name) for cell in cells) >= limit:
                return name
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """The settings of a trial."""

    command: tuple[str, ...]
    """The program and its arguments, which are run without a shell."""

    arms: tuple[Arm, ...]
    tasks: tuple[Task, ...] = ()
    """Tasks to work on. If empty, the tasks of the store's attempts are used."""

    judge: tuple[str, ...] = ()
    n_repeats: int = 1
    seed: int = 0
    timeout_seconds: float = 600.0
    is_stream: bool = False
    """True to store each attempt in its arm's fork, so that later runs can retrieve it."""

    budget: Budget = Budget()


def run_trial(
    plan: TrialPlan,
    source: Settings,
    directory: Path,
    *,
    embedder: Embedder | None = None,
    on_progress: Progress | None = None,
) -> TrialReport:
    """Run a trial, or resume the one in a directory, and return its report.

    The store is copied to the directory, and the copy is forked for each arm. The store itself is not changed.

    Args:
        source: Settings of the store.
        embedder: Embedding model of all copies, or None for the store's own.
        on_progress: Called after each cell with the number of finished cells and the total.

    Raises:
        InvalidInput: The plan is invalid, or the directory contains a trial with another design.
    """
    _check_plan(plan)
    directory = directory.absolute()
    frozen = freeze(source, directory / "frozen", source)
    with open_fork(frozen, source, embedder) as memory:
        tasks = list(plan.tasks or distinct_tasks(memory.experience))
        seen = {index for index, task in enumerate(tasks) if has_attempt(memory, task)}
        design = _describe_design(plan, tasks, memory)
    journal = TrialJournal(directory)
    journal.begin(design)
    with ExitStack() as stack:
        memories = dict[str, MemorySystem]()
        for index, arm in enumerate(plan.arms):
            fork = ensure_fork(arm, frozen, directory / "forks" / str(index), source, embedder)
            memories[arm.name] = stack.enter_context(open_fork(fork, source, embedder))
        trial = _TrialRun(plan, tasks, seen, memories, journal, directory)
        stopped_by = trial.run(on_progress)
    return build_report(
        design, [arm.name for arm in plan.arms], tasks, list(trial.finished_cells.values()), trial.n_cells, stopped_by
    )


class _TrialRun:
    def __init__(
        self,
        plan: TrialPlan,
        tasks: Sequence[Task],
        seen: set[int],
        memories: Mapping[str, MemorySystem],
        journal: TrialJournal,
        directory: Path,
    ) -> None:
        self._plan, self._tasks, self._seen = plan, tasks, seen
        self._memories = memories
        self._journal = journal
        self._directory = directory
        self._arms = {arm.name: arm for arm in plan.arms}
        self.n_cells = len(tasks) * plan.n_repeats * len(plan.arms)
        self.finished_cells = {cell.cell.key: cell for cell in journal.read()}
        for cell in self.finished_cells.values():
            self._store_attempt(cell)  # in case of an interruption before this

    def run(self, on_progress: Progress | None) -> str:
        """Run the remaining cells, and return the name of the limit that ended the trial, or an empty string."""
        names = list(self._arms)
        for cells in shuffled_cells(len(self._tasks), names, self._plan.n_repeats, self._plan.seed):
            remaining = [cell for cell in cells if cell.key not in self.finished_cells]
            if remaining and (limit := self._plan.budget.find_reached_limit(list(self.finished_cells.values()))):
                return limit
            for cell in remaining:
                finished = self._run_cell(cell)
                self._journal.add(finished)
                self.finished_cells[cell.key] = finished
                self._store_attempt(finished)
                if on_progress:
                    on_progress(len(self.finished_cells), self.n_cells)
        return ""

    def _run_cell(self, cell: Cell) -> FinishedCell:
        """Run the command on a cell's task with the context block of its arm."""
        task, plan = self._tasks[cell.task], self._plan
        block = build_block(
            self._memories[cell.arm], self._arms[cell.arm], task, f"{plan.seed} {cell.task}.{cell.repeat}"
        )
        directory = self._directory / "runs" / cell.directory
        result = run_command(plan.command, plan.judge, directory, task, block.text, plan.timeout_seconds)
        texts = block_texts(block.text, block.credited_ids)
        return FinishedCell(
            cell=cell,
            is_seen=cell.task in self._seen or (plan.is_stream and cell.repeat > 0),
            block_tokens=block.n_tokens,
            shown=block.credited_ids,
            result=result,
            used=find_used_records(block.credited_ids, texts, task, result.trajectory_steps, result.solution),
        )

    def _store_attempt(self, finished: FinishedCell) -> None:
        """Store a finished run in its arm's copy of the store if the trial is a stream, unless it is there already."""
        if not self._plan.is_stream:
            return
        result, task = finished.result, self._tasks[finished.cell.task]
        outcome = Outcome(result.success, error_info=result.error or None)
        metadata = {"solution": result.solution, "used": finished.used}
        attempt = Trajectory(task, result.trajectory_steps, outcome, metadata=metadata, id=f"trial {finished.cell.key}")
        self._memories[finished.cell.arm].store_once(attempt)


def _check_plan(plan: TrialPlan) -> None:
    names = [arm.name for arm in plan.arms]
    if len(set(names)) < len(names):
        raise InvalidInput(f"expected each arm once, got {', '.join(names)}; remove the repeated ones")
    if len(names) < 2:
        raise InvalidInput(f"expected two arms or more to compare, got {', '.join(names) or 'none'}; add another one")
    if not plan.command:
        raise InvalidInput("a trial needs the command that works on a task; give it after --")
    if plan.n_repeats < 1:
        raise InvalidInput(f"expected 1 repeat or more, got {plan.n_repeats}")
    if not plan.timeout_seconds > 0:
        raise InvalidInput(f"expected a timeout above 0 seconds, got {plan.timeout_seconds}")


def _describe_design(plan: TrialPlan, tasks: Sequence[Task], memory: MemorySystem) -> dict[str, Any]:
    """Return the design of a trial: all that must be the same to resume it."""
    model = memory.storage.model
    return {
        "command": list(plan.command),
        "judge": list(plan.judge),
        "arms": [arm.name for arm in plan.arms],
        "repeats": plan.n_repeats,
        "seed": plan.seed,
        "timeout_seconds": plan.timeout_seconds,
        "is_stream": plan.is_stream,
        "tasks": [asdict(task) for task in tasks],
        "store_hash": store_hash(memory),
        "embedding_model": model.name if model else "",
        "code_hash": _code_hash([*plan.command, *plan.judge]),
        "atlas": __version__,
        "python": platform.python_version(),
    }


def _code_hash(words: Sequence[str]) -> str:
    """Return the SHA-256 of a command's arguments, and of the files that they name."""
    digest = hashlib.sha256()
    for word in words:
        digest.update(word.encode() + b"\x1f")
        if Path(word).is_file():
            digest.update(Path(word).read_bytes())
    return digest.hexdigest()
