"""An agent that solves small tasks, first without a memory and then with one.

Each supplier writes dates in a form of its own, and the agent finds it by trying one form after the other. With a
memory it first reads what is remembered about the task, as a language model would read it in its prompt.

    python agent_loop.py            # writes the store `agent-memory` into the current directory
"""

from datetime import datetime

import atlas

FORMS = ("%Y-%m-%d", "%d/%m/%Y", "%Y/%m/%d", "%m-%d-%y", "%d.%m.%Y", "%d %b %Y")
DATES = {"Acme": "{day}.{month}.2026", "Globex": "2026/{month}/{day}", "Initech": "{month}-{day}-26"}
MONTHS = ("03", "04", "05", "06")


def main() -> None:
    """Solve the same tasks twice, and print how many forms were tried each month."""
    with atlas.open_memory("agent-memory") as memory:
        for month in MONTHS:
            without = sum(len(solve(supplier, month, prompt="")) for supplier in DATES)
            with_memory = sum(remembering(memory, supplier, month) for supplier in DATES)
            print(f"month {month}: {without} tries without memory, {with_memory} with it")
        print("what it knows about Globex now:")
        for hit in memory.experience.retrieve("Read the dates in the orders of Globex", k=2).hits:
            print(f"- {hit.item.task.description}: {hit.item.steps[-1].action}")


def remembering(memory: atlas.MemorySystem, supplier: str, month: str) -> int:
    """Solve one task with what is remembered, store the attempt, and return how many forms it took."""
    task = atlas.Task(f"{supplier}-{month}", "orders", f"Read the dates in the orders of {supplier}, month {month}")
    block = memory.build_context(task, budget_tokens=1_000)  # a part of the prompt; empty at first
    steps = solve(supplier, month, prompt=block.text)
    memory.store(atlas.Trajectory(task=task, steps=steps, outcome=atlas.Outcome(steps[-1].observation == "read")))
    return len(steps)


def solve(supplier: str, month: str, prompt: str) -> tuple[atlas.Step, ...]:
    """Try the forms until one reads the dates: those that the prompt names come first, in its order."""
    steps = []
    for form in sorted(FORMS, key=lambda form: prompt.find(form) if form in prompt else len(prompt)):
        is_read = all(is_date(DATES[supplier].format(day=day, month=month), form, month) for day in ("02", "17"))
        steps.append(atlas.Step(action=f"strptime(date, {form!r})", observation="read" if is_read else "not read"))
        if is_read:
            break
    return tuple(steps)


def is_date(text: str, form: str, month: str) -> bool:
    """Return whether a form reads a text as a date of this month."""
    try:
        return f"{datetime.strptime(text, form):%m}" == month
    except ValueError:
        return False


if __name__ == "__main__":
    main()
