"""Tasks in a background thread, and batches of the calls of several threads."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from atlas.infra import fork_safety

logger = logging.getLogger(__name__)

T = TypeVar("T")


class BackgroundTask:
    """A background task that never runs twice at once. Thread-safe. A forked child does not inherit a running task."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        """Define a background task.

        Args:
            work: The function to run, which has to handle its own errors.
        """
        self._name = name
        self._work = work
        self._thread: threading.Thread | None = None
        self._start_lock = threading.Lock()
        fork_safety.register(self)

    @property
    def is_running(self) -> bool:
        """True while the task is running."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self) -> None:
        """Start the task, unless it is running. If no thread can be started, only a warning is logged."""
        with self._start_lock:
            if self.is_running:
                return
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # too many threads, or the interpreter is shutting down
                logger.warning("%s could not be started: %s", self._name, error)
                return
            self._thread = thread

    def wait(self, timeout_seconds: float | None = None) -> None:
        """Wait until the task is not running."""
        with self._start_lock:
            thread = self._thread
        if thread is not None:
            thread.join(timeout_seconds)

    def before_fork(self) -> None:
        """Do nothing. The parent continues the task."""

    def after_fork(self, *, in_child: bool) -> None:
        """Forget the thread in a child. Threads are not inherited."""
        if in_child:
            self._thread, self._start_lock = None, threading.Lock()


@dataclass(frozen=True, slots=True)
class _Request(Generic[T]):
    """A text whose thread waits for the result, or for its turn to run a batch."""

    text: str
    result: Future[T] = field(default_factory=Future)
    is_turn: threading.Event = field(default_factory=threading.Event)


class Batcher(Generic[T]):
    """A wrapper of a function that merges the calls of concurrent threads into batches. Thread-safe.

    A single thread calls it at once. While the maximum number of calls is running, further texts wait, and form the
    next batch. When a call ends, the thread that has waited longest runs that batch. So no thread runs a batch
    without its own text.
    """

    def __init__(self, call: Callable[[list[str]], Sequence[T]], *, n_runs: int, n_texts: int) -> None:
        """Wrap a function.

        Args:
            n_runs: Maximum number of concurrent calls.
            n_texts: Maximum number of texts of a call.
        """
        self._call = call
        self._n_runs = n_runs
        self._n_texts = n_texts
        self._forget_threads()
        fork_safety.register(self)

    def __call__(self, text: str) -> T:
        """Return the result for a text, or raise the error of its batch."""
        request: _Request[T] = _Request(text)
        with self._lock:
            may_run = self._n_running < self._n_runs
            self._n_running += may_run
            if not may_run:
                self._waiting.append(request)
        if not may_run:
            self._wait_for_turn(request)
        if not request.result.done():
            self._run_batch(request)
        return request.result.result()

    def before_fork(self) -> None:
        """Do nothing. The parent continues the batches."""

    def after_fork(self, *, in_child: bool) -> None:
        """Forget the other threads in a child. Threads are not inherited."""
        if in_child:
            self._forget_threads()

    def _forget_threads(self) -> None:
        """Begin without running or waiting threads."""
        self._lock = threading.Lock()
        self._n_running = 0
        self._waiting: list[_Request[T]] = []

    def _wait_for_turn(self, request: _Request[T]) -> None:
        """Wait until a batch has answered the request, or until it is this thread's turn to run a batch."""
        try:
            request.is_turn.wait()
        except BaseException:  # such as an interrupt: another thread takes the turn
            with self._lock:
                self._waiting = [other for other in self._waiting if other is not request]
            if request.is_turn.is_set() and not request.result.done():
                self._start_next_batch()
            raise

    def _run_batch(self, request: _Request[T]) -> None:
        """Call the function for a text and the longest-waiting other texts, then start the next batch."""
        with self._lock:
            batch = [request, *self._waiting[: self._n_texts - 1]]
            del self._waiting[: self._n_texts - 1]
        try:
            for member, result in zip(batch, self._call([member.text for member in batch]), strict=True):
                member.result.set_result(result)
        except BaseException as error:
            for member in batch:
                if not member.result.done():
                    member.result.set_exception(error)
            raise
        finally:
            self._start_next_batch()
            for member in batch:
                member.is_turn.set()

    def _start_next_batch(self) -> None:
        """Let the longest-waiting thread run the next batch."""
        with self._lock:
            if self._waiting:
                self._waiting.pop(0).is_turn.set()
            else:
                self._n_running -= 1


def n_processors() -> int:
    """Return the number of CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
