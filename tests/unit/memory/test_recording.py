"""Runs that are remembered: what was done, what came of it, and that storing never stands in a run's way."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Iterator

import pytest

import atlas
from atlas.testing import FixedClock, HashEmbedder


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=FixedClock()) as opened:
        yield opened


def attempts(memory: atlas.MemorySystem) -> list[atlas.Experience]:
    """In the order in which they were stored."""
    return memory.experience.get_many(memory.experience.ids())


def test_a_function_becomes_an_attempt_with_its_steps_and_its_answer(memory):
    @atlas.remember(memory, agent_id="clerk", domain="mail", judge=lambda answer: answer == "42")
    def solve(task: str) -> str:
        """Solve it."""
        atlas.current_run().step(thought="count", action={"tool": "count"}, observation=[1, 2])
        return "42"

    assert solve("Count the letters") == "42"
    assert (solve.__name__, solve.__doc__) == ("solve", "Solve it.")
    (attempt,) = attempts(memory)
    assert attempt.task.description == "Count the letters"
    assert attempt.task.domain == "mail"
    assert (attempt.outcome, attempt.solution_output, attempt.agent_id) == (atlas.Outcome(True), "42", "clerk")
    assert attempt.steps == (atlas.Step("count", '{"tool":"count"}', "[1,2]"),)


def test_what_was_remembered_is_at_hand_and_its_use_is_counted(memory):
    contexts = []

    @atlas.remember(memory, judge=lambda answer: True)
    def solve(task: str) -> None:
        contexts.append(atlas.current_run().context)
        atlas.current_run().step(thought=f"as {memory.experience.ids()} say")

    solve("Count the letters of the mail")
    solve("Count the letters of the mail again")
    assert contexts[0] == ""
    assert "succeeded: Count the letters of the mail" in contexts[1]
    first = memory.experience.ids()[0]
    assert memory.experience.usage([first])[first].n_successes == 1


def test_what_is_raised_is_a_failure_and_raised_again(memory):
    @atlas.remember(memory)
    def solve(task: str) -> None:
        atlas.current_run().step(action="open the file")
        raise KeyError("no such file")

    with pytest.raises(KeyError, match="no such file"):
        solve("Read the file")
    (attempt,) = attempts(memory)
    assert attempt.outcome == atlas.Outcome(False, error_info="KeyError: 'no such file'")
    assert [step.action for step in attempt.steps] == ["open the file"]


def test_what_was_interrupted_has_no_known_outcome(memory):
    with pytest.raises(KeyboardInterrupt), atlas.remember(memory, "Wait") as run:
        run.succeeded()
        raise KeyboardInterrupt
    assert attempts(memory)[0].outcome == atlas.Outcome(None, error_info="KeyboardInterrupt: ")


@pytest.mark.parametrize(
    ("judged", "outcome"),
    [
        (None, atlas.Outcome(None)),
        (False, atlas.Outcome(False)),
        (atlas.Outcome(False, partial_score=0.5), atlas.Outcome(False, partial_score=0.5)),
    ],
)
def test_a_judge_says_how_it_went(memory, judged, outcome):
    with atlas.remember(memory, "Sort", judge=lambda answer: judged) as run:
        run.answer = [1, 2]
    assert attempts(memory)[0].outcome == outcome
    assert attempts(memory)[0].solution_output == "[1,2]"
    assert run.stored["experience"] == memory.experience.ids()[0]


def test_a_return_alone_is_no_success(memory):
    atlas.remember(memory)(lambda task: "I could not do it")("Sort")
    assert attempts(memory)[0].outcome == atlas.Outcome(None)


def test_what_the_run_says_of_itself_goes_before_what_the_judge_would_say(memory):
    with atlas.remember(memory, "Sort", judge=lambda answer: True) as run:
        run.failed("two are in the wrong place", score=0.8)
    assert attempts(memory)[0].outcome == atlas.Outcome(False, 0.8, "two are in the wrong place")


def test_coroutines_are_remembered_each_by_itself(memory):
    @atlas.remember(memory)
    async def solve(task: str) -> str:
        await asyncio.sleep(0)
        run = atlas.current_run()
        await run.acontext()
        await asyncio.to_thread(lambda: atlas.current_run().step(action=f"in a thread for {task}"))
        await asyncio.sleep(0)
        return run.task.description

    async def all_at_once():
        return await asyncio.gather(*(solve(f"Task {n}") for n in range(5)))

    assert asyncio.run(all_at_once()) == [f"Task {n}" for n in range(5)]
    found = {attempt.task.description: attempt for attempt in attempts(memory)}
    assert {name: [step.action for step in one.steps] for name, one in found.items()} == {
        f"Task {n}": [f"in a thread for Task {n}"] for n in range(5)
    }


def test_an_async_block_that_is_cancelled_is_stored_as_unknown(memory):
    async def cancelled():
        async def work():
            async with atlas.remember(memory, "Wait for ever"):
                await asyncio.Event().wait()

        working = asyncio.create_task(work())
        await asyncio.sleep(0)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working

    asyncio.run(cancelled())
    assert attempts(memory)[0].outcome.success is None


def test_a_run_within_a_run_is_an_attempt_of_its_own_and_a_step_of_the_other(memory):
    @atlas.remember(memory)
    def inner(task: str) -> str:
        atlas.current_run().step(action="look")
        return "seen"

    with atlas.remember(memory, "Outer") as outer:
        outer.step(action="begin")
        inner("Inner")
        atlas.current_run().step(action="end")
    first, second = attempts(memory)
    assert (first.task.description, second.task.description) == ("Inner", "Outer")
    assert first.metadata["parent_run"] == second.trajectory_id
    assert [(step.action, step.observation) for step in second.steps] == [
        ("begin", ""),
        ("sub-task: Inner", "seen"),
        ("end", ""),
    ]
    assert second.steps[1].metadata == {"run": first.trajectory_id}


def test_threads_that_are_told_of_the_run_add_to_it_and_others_know_none(memory):
    problems = []

    def work(n: int) -> None:
        atlas.current_run().step(action=f"{n}")

    def lost() -> None:
        try:
            atlas.current_run()
        except atlas.InvalidInput as error:
            problems.append(str(error))

    with atlas.remember(memory, "Many hands"):
        known = [threading.Thread(target=contextvars.copy_context().run, args=(work, n)) for n in range(8)]
        for thread in [*known, alone := threading.Thread(target=lost)]:
            thread.start()
        for thread in [*known, alone]:
            thread.join()
    assert sorted(step.action for step in attempts(memory)[0].steps) == [str(n) for n in range(8)]
    assert "no run is active" in problems[0]


def test_one_decorated_function_may_run_in_many_threads(memory):
    @atlas.remember(memory)
    def solve(task: str) -> None:
        for n in range(20):
            atlas.current_run().step(action=f"{task}-{n}")

    threads = [threading.Thread(target=solve, args=(f"task {n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for attempt in attempts(memory):
        assert [step.action for step in attempt.steps] == [f"{attempt.task.description}-{n}" for n in range(20)]
    assert len(attempts(memory)) == 6


@pytest.mark.parametrize("is_async", [False, True])
def test_where_it_cannot_be_stored_the_answer_comes_through_and_the_run_says_why(tmp_path, is_async, caplog):
    atlas.open_memory(tmp_path, embedder=HashEmbedder()).close()
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), read_only=True) as memory:
        runs = []

        def solve(task: str) -> str:
            runs.append(atlas.current_run())
            return "done"

        async def asolve(task: str) -> str:
            return solve(task)

        answer = (
            asyncio.run(atlas.remember(memory)(asolve)("Sort")) if is_async else atlas.remember(memory)(solve)("Sort")
        )
    assert answer == "done"
    assert runs[0].problem.startswith("it was not remembered: ReadOnlyStore: ")
    assert runs[0].stored == {}
    assert "was not remembered: ReadOnlyStore" in caplog.text


def test_where_it_cannot_be_stored_the_run_s_own_exception_comes_through(tmp_path, caplog):
    atlas.open_memory(tmp_path, embedder=HashEmbedder()).close()
    with (
        atlas.open_memory(tmp_path, embedder=HashEmbedder(), read_only=True) as memory,
        pytest.raises(ZeroDivisionError) as raised,
        atlas.remember(memory, "Divide"),
    ):
        _ = 1 / 0
    assert raised.value.__notes__[0].startswith("ATLAS: it was not remembered: ReadOnlyStore: ")


@pytest.mark.parametrize("is_async", [False, True])
def test_where_its_memory_cannot_be_asked_the_run_goes_on_without_and_says_why(memory, is_async):
    async def asked(run):
        return await run.acontext()

    with atlas.remember(memory, "Sort \ud800") as run:
        assert (asyncio.run(asked(run)) if is_async else run.context) == ""
        assert run.problem.startswith("its memory could not be queried: InvalidInput: ")
        assert run.context == ""
    assert run.problem.count("could not be queried") == 1
    assert "it was not remembered: InvalidInput" in run.problem


def test_where_one_of_its_memories_cannot_be_asked_the_run_says_why(memory, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("no index")

    monkeypatch.setattr(memory.strategies, "_find", fail)
    with atlas.remember(memory, "Sort") as run:
        assert run.context == ""
    assert run.problem == "its memory could not be queried: strategies: RuntimeError: no index"
    assert len(attempts(memory)) == 1


class Hidden(Exception):
    """What cannot be shown."""

    def __repr__(self):
        raise ValueError("no")

    __str__ = __repr__


def test_what_cannot_be_shown_stands_in_no_ones_way(memory):
    with atlas.remember(memory, "Outer") as outer:
        with atlas.remember(memory, "Inner") as inner:
            inner.step(action=Hidden(), where=Hidden())
            inner.answer = Hidden()
        with pytest.raises(Hidden), atlas.remember(memory, "Failing"):
            raise Hidden
    shown = "<Hidden that cannot be shown>"
    assert (outer.problem, inner.problem) == ("", "")
    first, second, last = attempts(memory)
    assert (first.steps[0].action, first.solution_output) == (shown, shown)
    assert second.outcome.error_info == f"Hidden: {shown}"
    assert [step.observation for step in last.steps] == [shown, f"Hidden: {shown}"]


def test_a_judge_that_fails_leaves_the_outcome_unknown(memory, caplog):
    with atlas.remember(memory, "Sort", judge=lambda answer: answer.missing) as run:
        run.answer = 1
    assert attempts(memory)[0].outcome.success is None
    assert run.problem.startswith("it was not judged: AttributeError")


def test_what_json_cannot_hold_is_written_as_python_shows_it(memory):
    with atlas.remember(memory, "Anything") as run:
        run.step(action={1, 2}, observation="lone \ud800 surrogate", where={3})
        run.answer = float("nan")
    (attempt,) = attempts(memory)
    assert attempt.steps == (atlas.Step("", "{1, 2}", "lone \\ud800 surrogate", {"where": "{3}"}),)
    assert attempt.solution_output == "nan"


def test_the_task_may_be_an_argument_a_task_or_made_of_the_arguments(memory):
    task = atlas.Task("t-1", "", "Given as a task")
    atlas.remember(memory)(lambda number, what: None)(1, task)
    atlas.remember(memory, lambda number: f"Made of {number}")(lambda number: None)(7)
    assert [attempt.task.description for attempt in attempts(memory)] == ["Given as a task", "Made of 7"]
    assert attempts(memory)[0].task.id == "t-1"


def test_attempts_at_one_description_are_at_one_task(memory):
    for _ in range(2):
        with atlas.remember(memory, "Water the garden"):
            pass
    assert len({attempt.task.id for attempt in attempts(memory)}) == 1


@pytest.mark.parametrize("task", [None, "", "  ", 7])
def test_without_a_task_nothing_runs(memory, task):
    with pytest.raises(atlas.InvalidInput, match="expected a task or its description"):
        atlas.remember(memory)(lambda given: pytest.fail("it ran"))(task)
    assert len(memory.experience) == 0


def test_a_generator_is_refused_where_it_is_decorated(memory):
    def generate(task: str):
        yield 1

    with pytest.raises(atlas.InvalidInput, match="generate is a generator"):
        atlas.remember(memory)(generate)


def test_a_block_cannot_be_entered_twice_at_once_but_again(memory):
    block = atlas.remember(memory, "Sort")
    with block, pytest.raises(atlas.InvalidInput, match="already active"):
        block.__enter__()
    with block:
        pass
    assert len(memory.experience) == 2
