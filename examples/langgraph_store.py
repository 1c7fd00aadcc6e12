"""A LangGraph agent whose long-term store is an ATLAS memory: a later conversation finds what an earlier one put.

    pip install langgraph
    python langgraph_store.py       # writes the store `graph-store` into the current directory

`answer` stands for your language model, so that the example needs none.
"""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

import atlas
from atlas.integrations.langchain import AtlasRetriever
from atlas.integrations.langgraph import AtlasStore


class State(TypedDict, total=False):
    """What the nodes of the graph pass on."""

    user: str
    message: str
    answer: str


def answer(state: State, runtime: Runtime[None]) -> State:
    """Remember a preference, or answer with the one that fits the question."""
    assert runtime.store is not None
    namespace = ("preferences", state["user"])
    if not state["message"].endswith("?"):
        runtime.store.put(namespace, "drink", {"text": state["message"]})  # it replaces the earlier one
        return {"answer": "noted"}
    found = runtime.store.search(namespace, query=state["message"], limit=1)
    return {"answer": found[0].value["text"] if found else "unknown"}


def main() -> None:
    """Tell two preferences, replace one, and ask for them."""
    with atlas.open_memory("graph-store") as memory:
        store = AtlasStore(memory, levels=["kind", "user"], fields=["text"])
        graph = StateGraph(State).add_node(answer).add_edge(START, "answer").add_edge("answer", END)
        agent = graph.compile(store=store)
        told = [("ann", "I like coffee."), ("bob", "I drink water."), ("ann", "I like green tea.")]
        for user, message in [*told, ("ann", "What would I like to drink?"), ("eve", "What would I like to drink?")]:
            print(user, message, "->", agent.invoke({"user": user, "message": message})["answer"])
        retriever = AtlasRetriever(memory=memory, k=1, where={"scope.user": "bob"})
        print(store.list_namespaces(), [document.metadata["memory"] for document in retriever.invoke("water to drink")])


if __name__ == "__main__":
    main()
