"""A LangGraph agent with a memory: it recalls before it acts, and stores every attempt, also one that fails.

    pip install langgraph
    python langgraph_agent.py       # writes the store `graph-memory` into the current directory

`plan` stands for your language model, so that the example needs none.
"""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph

import atlas


class State(TypedDict, total=False):
    """What the nodes of the graph pass on."""

    task: atlas.Task
    remembered: str
    attempt: atlas.Trajectory


def plan(remembered: str) -> list[str]:
    """Return the commands to run: ask your model here, with what is remembered in its prompt."""
    return ["migrate", "deploy"] if "migrate" in remembered else ["deploy"]


def act(state: State) -> State:
    """Run the commands. A deployment works only after a migration."""
    commands = plan(state["remembered"])
    works = "migrate" in commands
    steps = tuple(atlas.Step(action=command) for command in commands)
    outcome = atlas.Outcome(works, error_info=None if works else "the database is behind: run migrate first")
    return {"attempt": atlas.Trajectory(state["task"], steps, outcome)}


def main() -> None:
    """Deploy two services, each until it works."""
    with atlas.open_memory("graph-memory") as memory:

        def recall(state: State) -> State:
            return {"remembered": memory.build_context(state["task"], budget_tokens=1_000).text}

        def store(state: State) -> None:
            memory.store(state["attempt"])

        graph = StateGraph(State).add_sequence([recall, act, store]).add_edge(START, "recall")
        graph.add_conditional_edges("store", lambda state: END if state["attempt"].outcome.success else "recall")
        agent = graph.compile()
        for service in ("billing", "search"):
            agent.invoke({"task": atlas.Task(f"deploy-{service}", "operations", f"Deploy {service} to staging")})
        for attempt in memory.experience.get_many(memory.experience.ids()):
            print(f"{attempt.task.description}: {[step.action for step in attempt.steps]} {attempt.outcome.label}")


if __name__ == "__main__":
    main()
