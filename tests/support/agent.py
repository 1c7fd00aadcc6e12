"""An agent that asks its memory, acts, and stores what it did."""

from __future__ import annotations

import re

from atlas.core.types import Outcome, Step, Task, Trajectory

KIND = "refund a cancelled flight"


def act(task: Task, prompt: str) -> Trajectory:
    """An attempt that succeeds once its prompt tells it to look the booking up, and was lucky with the first task."""
    knows, ids = "look" in prompt, re.findall(r"^\[\w+ (\w+)\]", prompt, re.MULTILINE)
    thought = f"As {', '.join(ids)} say, I look the booking up for: {task.description}"
    steps = [Step(thought=thought, action="look_up", observation="found")]
    steps += [Step(action="ask the customer", observation="yes"), Step(action="change it", observation="done")]
    return Trajectory(task=task, steps=tuple(steps), outcome=Outcome(knows or task.id.endswith("-0")))


def run(memory, n_rounds=3):
    """What was stored of each attempt, in order, and what each prompt held."""
    stored, blocks = [], []
    for n in range(n_rounds):
        task = Task(f"{KIND}-{n}", "airline", f"{KIND} for customer number {n}")
        blocks.append(memory.build_context(task, budget_tokens=800))
        stored.append(memory.store(act(task, blocks[-1].text)))
    return stored, blocks
