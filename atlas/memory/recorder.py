"""Recording of an agent's runs as attempts, whether they return or raise.

    @atlas.remember(memory)
    def solve(task: str) -> str:
        return act(atlas.current_run().context)

The run has the memories for its task in `context`, and its outcome is stored when it ends.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import logging
import threading
from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

from atlas.core.errors import InvalidInput
from atlas.core.json_values import check_json, to_text
from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.infra.bridge import in_thread
from atlas.memory.context.block import BUDGET_TOKENS, ContextBlock
from atlas.memory.system import MemorySystem

logger = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])

Judge = Callable[[Any], "Outcome | bool | None"]
"""Function from a run's answer to its outcome, or None if unknown."""

TEXT_CHARACTERS = 20_000
"""Maximum characters of an answer, and of each field of a step. A longer text is truncated."""

ERROR_CHARACTERS = 2_000

_EMPTY_BLOCK = ContextBlock(
    text="", n_tokens=0, budget_tokens=BUDGET_TOKENS, counted_with="nothing", shown={}, n_left_out=0
)
"""Context of a run whose memory cannot be read."""

_current: ContextVar[Run | None] = ContextVar("atlas_run", default=None)


class Run:
    """An attempt in progress that records its steps. Thread-safe."""

    def __init__(self, memory: MemorySystem, task: Task, parent: Run | None) -> None:
        self.task = task
        self.id = Trajectory(task=task, steps=(), outcome=Outcome(None)).id
        """Trajectory id under which the run is stored."""

        self.answer: Any = None
        """Result of the run: a decorated function's return value."""

        self.outcome: Outcome | None = None
        """The outcome that `succeeded` or `failed` reported, or None."""

        self.stored: dict[str, Any] = {}
        """The result of `MemorySystem.store`, after the run has ended."""

        self.problem = ""
        """Reason why the run could not be stored or its memory could not be queried. Empty on success."""

        self.parent = parent
        self._memory = memory
        self._steps: list[Step] = []
        self._block: ContextBlock | None = None
        self._lock = threading.Lock()

    @property
    def context(self) -> str:
        """The context block for the task, as text for a prompt.

        Empty without hits. The memories are retrieved on first access. If a memory fails, the hits of the others are
        used, and `problem` contains the reason.
        """
        if self._block is None:
            try:
                self._block = self._memory.build_context(self.task, BUDGET_TOKENS, attempt=self.id)
                problem = "; ".join(f"{name}: {error}" for name, error in self._block.errors.items())
            except Exception as error:  # noqa: BLE001 - the run continues without memories
                self._block, problem = _EMPTY_BLOCK, _error_text(error)
            if problem:
                _log_problem(self, f"its memory could not be queried: {problem}")
        return self._block.text

    async def acontext(self) -> str:
        """Return the `context`, computed in a thread, for async code."""
        return await in_thread(lambda: self.context)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps so far."""
        with self._lock:
            return tuple(self._steps)

    def step(self, *, thought: Any = "", action: Any = "", observation: Any = "", **metadata: Any) -> None:
        """Add a step: the agent's thought, action and observation. Values other than strings are stored as JSON."""
        json_metadata = {name: _as_json_value(value) for name, value in metadata.items()}
        step = Step(_to_text(thought), _to_text(action), _to_text(observation), json_metadata)
        with self._lock:
            self._steps.append(step)

    def succeeded(self, score: float | None = None) -> None:
        """Mark the run as succeeded. A later exception overrides this."""
        self.outcome = Outcome(True, partial_score=score)

    def failed(self, reason: str = "", score: float | None = None) -> None:
        """Mark the run as failed."""
        self.outcome = Outcome(False, partial_score=score, error_info=_to_text(reason) or None)

    def trajectory(self, error: BaseException | None, agent_id: str) -> Trajectory:
        """Return the run as an attempt."""
        metadata: dict[str, Any] = {"source": "atlas.remember"}
        if self._block is not None:
            metadata |= self._used_records(self._block)
            metadata |= self._block.assignment.metadata if self._block.assignment is not None else {}
        if self.answer is not None:
            metadata["solution"] = _to_text(self.answer)
        if self.parent is not None:
            metadata["parent_run"] = self.parent.id
        outcome = self.outcome or Outcome(None)
        if error is not None:
            # A cancelled run is not a failure: its outcome is unknown.
            success = False if isinstance(error, Exception) else None
            outcome = replace(outcome, success=success, error_info=_error_text(error))
        return Trajectory(self.task, self.steps, outcome, agent_id, metadata=metadata, id=self.id)

    def _used_records(self, block: ContextBlock) -> dict[str, Any]:
        """Return metadata with the ids of the shown records that the run used, under the key `used`.

        The ids are stored with the attempt, because a server may have forgotten which records it returned.
        """
        from atlas.memory.effects.uses import block_texts, find_used_records  # late: opening a memory records nothing

        texts = block_texts(block.text, block.credited_ids)
        used_ids = find_used_records(block.credited_ids, texts, self.task, self.steps, self.answer)
        return {"used": {name: list(ids) for name, ids in used_ids.items()}} if used_ids else {}


def current_run() -> Run:
    """Return the innermost run of this thread or asyncio task.

    A thread that asyncio starts inherits the run, and so does a thread started with `contextvars.copy_context().run`.

    Raises:
        InvalidInput: No run is active.
    """
    run = _current.get()
    if run is None:
        raise InvalidInput(
            "no run is active; call current_run() in a function under @atlas.remember(memory), or in a "
            "block `with atlas.remember(memory, task) as run:`, and pass `run` to your own threads"
        )
    return run


class remember:  # noqa: N801 - read as a verb: `@atlas.remember(memory)`
    """Decorator and context manager that records runs, sync and async.

    An exception counts as a failure, and is raised again. Otherwise `judge`, `run.succeeded()` or `run.failed()` sets
    the outcome, which is unknown by default. If the attempt cannot be stored, the run's answer or exception is not
    affected, and `run.problem` and the log contain the reason.
    """

    def __init__(
        self,
        memory: MemorySystem,
        task: Task | str | Callable[..., Task | str] | None = None,
        *,
        domain: str = "",
        agent_id: str = "",
        judge: Judge | None = None,
    ) -> None:
        """Create a recorder that stores runs in a memory.

        Args:
            memory: An open memory.
            task: A task, its description, or a function from the decorated function's arguments to a task. None for the
                first argument.
            domain: Domain of tasks given by description.
            judge: Returns the outcome for an answer, unless the run has reported one.
        """
        self._memory = memory
        self._task = task
        self._domain = domain
        self._agent_id = agent_id
        self._judge = judge
        self._open: tuple[Run, Token[Run | None]] | None = None

    def __call__(self, function: F) -> F:
        """Return a function whose calls are recorded."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise InvalidInput(
                f"{function.__qualname__} is a generator, which returns no single answer; "
                "use `with atlas.remember(memory, task) as run:` in it"
            )
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def arecorded_call(*args: Any, **kwargs: Any) -> Any:
                async with self._record_call(function, args, kwargs) as run:
                    run.answer = await function(*args, **kwargs)
                    return run.answer

            return arecorded_call  # type: ignore[return-value]

        @functools.wraps(function)
        def recorded_call(*args: Any, **kwargs: Any) -> Any:
            with self._record_call(function, args, kwargs) as run:
                run.answer = function(*args, **kwargs)
                return run.answer

        return recorded_call  # type: ignore[return-value]

    def __enter__(self) -> Run:
        return self._start_run()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run = self._end_run()
        try:
            _report_to_parent(run, error)
            run.stored = self._memory.store(self._to_attempt(run, error))
        except Exception as problem:  # noqa: BLE001 - the run's own answer or exception takes precedence
            _report_problem(run, problem, error)

    async def __aenter__(self) -> Run:
        return self._start_run()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run = self._end_run()
        try:
            _report_to_parent(run, error)
            run.stored = await self._memory.astore(self._to_attempt(run, error))
        except Exception as problem:  # noqa: BLE001 - as above
            _report_problem(run, problem, error)

    def _record_call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> remember:
        """Return a context manager that records a single call of a decorated function."""
        task = self._task
        if task is None:
            bound_call = inspect.signature(function).bind(*args, **kwargs)
            task = next((value for value in bound_call.arguments.values() if isinstance(value, Task | str)), None)
        elif callable(task):
            task = task(*args, **kwargs)
        return remember(self._memory, task, domain=self._domain, agent_id=self._agent_id, judge=self._judge)

    def _start_run(self) -> Run:
        if self._open is not None:
            raise InvalidInput("this block is already active; call atlas.remember again for each block")
        task = self._task
        if isinstance(task, str) and task.strip():
            task = Task(_task_id(task), self._domain, task)
        if not isinstance(task, Task):
            raise InvalidInput(
                f"expected a task or its description, got {task!r}; pass it as atlas.remember(memory, task), or "
                "as the first argument of the function"
            )
        run = Run(self._memory, task, _current.get())
        self._open = (run, _current.set(run))
        return run

    def _end_run(self) -> Run:
        assert self._open is not None, "a run ends after it has begun"
        (run, token), self._open = self._open, None
        _current.reset(token)
        return run

    def _to_attempt(self, run: Run, error: BaseException | None) -> Trajectory:
        if error is None and run.outcome is None and self._judge is not None:
            try:
                run.outcome = _to_outcome(self._judge(run.answer))
            except Exception as problem:  # noqa: BLE001 - the run is stored even if `judge` fails
                _report_problem(run, problem, None, "judged")
        return run.trajectory(error, self._agent_id)


def _report_problem(run: Run, problem: Exception, error: BaseException | None, verb: str = "remembered") -> None:
    message = f"it was not {verb}: {_error_text(problem)}"
    _log_problem(run, message)
    if error is not None:
        error.add_note(f"ATLAS: {message}")


def _log_problem(run: Run, problem: str) -> None:
    run.problem = f"{run.problem}; {problem}" if run.problem else problem
    logger.error("a run at %r: %s", run.task.id, problem)


def _report_to_parent(run: Run, error: BaseException | None) -> None:
    """Record a nested run as a step of its parent."""
    if run.parent is not None:
        answer = "" if run.answer is None else _to_text(run.answer)
        observation = answer if error is None else _error_text(error)
        run.parent.step(action=f"sub-task: {run.task.description}", observation=observation, run=run.id)


def _to_outcome(success: Outcome | bool | None) -> Outcome:
    if isinstance(success, Outcome):
        return success
    return Outcome(None if success is None else bool(success))


def _task_id(description: str) -> str:
    """Return a deterministic id for a task given by its description."""
    return f"task-{hashlib.sha256(description.strip().encode('utf-8', 'replace')).hexdigest()[:16]}"


def _to_text(value: Any) -> str:
    """Return a value as text of at most `TEXT_CHARACTERS`: a string as it is, else JSON, else the `repr`."""
    try:
        text = value if isinstance(value, str) else to_text(value)
    except Exception:  # noqa: BLE001 - agents may pass any object
        text = _representation(value)
    return _make_storable(text)[:TEXT_CHARACTERS]


def _as_json_value(value: Any) -> Any:
    """Return a value that JSON can encode, with others replaced by their `repr`."""
    try:
        check_json(value, "value")
    except Exception:  # noqa: BLE001 - as above
        return _make_storable(_representation(value))[:TEXT_CHARACTERS]
    return value


def _representation(value: Any, convert: Callable[[Any], str] = repr) -> str:
    """Return the `repr` of a value, or a text with its type's name if that fails."""
    try:
        return convert(value)
    except Exception:  # noqa: BLE001 - as above
        return f"<{type(value).__name__} that cannot be shown>"


def _error_text(error: BaseException) -> str:
    return _make_storable(f"{type(error).__name__}: {_representation(error, str)}")[:ERROR_CHARACTERS]


def _make_storable(text: str) -> str:
    """Return a string without lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
