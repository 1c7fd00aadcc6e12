"""τ-bench's conversations as corpora: who said what, what is asked with, and what is right."""

from __future__ import annotations

from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.evaluation.foreign import select_foreign_queries
from atlas.importers.corpora import tau_bench

LATER = "I would rather fly on the second of May if that is possible"


def run(task: str, *messages: str) -> Trajectory:
    first, *others = messages
    steps = [Step(observation=first, metadata={"observation_from": "user"})]
    steps += [Step(action="search(May)", observation="[]", metadata={"observation_from": "tool search"})]
    steps += [Step(action="Sure.", observation=text, metadata={"observation_from": "user"}) for text in others]
    steps += [Step(action="Goodbye.")]
    return Trajectory(Task(f"tau-bench/airline/{task}", "airline", "fly"), tuple(steps), Outcome(True))


def corpora():
    runs = [run("1", "Hello", "yes", LATER), run("1", "Good morning", f"{LATER} today"), run("2", "Hi", "no thanks")]
    return tau_bench.corpora(runs)


def test_a_conversation_has_what_was_said_in_it_and_no_tool():
    _, dialogues, turns = corpora()
    assert dialogues.trajectories[0].task.description == (
        f"Customer: Hello\nAgent: Sure.\nCustomer: yes\nAgent: Sure.\nCustomer: {LATER}\nAgent: Goodbye."
    )
    assert [record.task.description for record in turns.trajectories[:3]] == [
        "Customer: Hello",
        "Agent: Sure.",
        "Customer: yes",
    ]


def test_a_later_message_that_says_something_finds_the_other_trials_of_its_task():
    _, dialogues, turns = corpora()
    [task] = dialogues.tasks
    assert [query.text for query in task.queries] == [LATER, f"{LATER} today"]
    own, other = dialogues.trajectories[0].id, dialogues.trajectories[1].id
    assert (set(task.queries[0].grades), task.queries[0].excluded) == ({other}, {own})
    [task] = turns.tasks
    assert all(one.startswith(f"{other}:") for one in task.queries[0].grades)
    assert all(one.startswith(f"{own}:") for one in task.queries[0].excluded)


def test_what_is_made_of_the_same_runs_is_not_foreign_to_each_other():
    made = corpora()
    for corpus in made:
        assert set(select_foreign_queries(corpus, made, "both")) == {"nonsense"}
