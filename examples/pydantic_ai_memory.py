"""A pydantic-ai agent with tools of a memory: it stores an attempt, and recalls it for the next task.

    pip install pydantic-ai-slim
    python pydantic_ai_memory.py       # writes the store `pydantic-memory` into the current directory

A function stands for your model, so that the example needs none.
"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import atlas
from atlas.integrations.pydantic_ai import memory_toolset

STEP = {"thought": "it is above 500", "action": "ask the manager", "observation": "approved"}
CALLS = {
    "Refund order 7 of the shop": ("store_attempt", {"steps": [STEP], "success": True, "solution": "", "error": ""}),
    "Refund order 9 of the shop": ("recall", {}),
}


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Call a tool first, then answer with what it returned."""
    last = messages[-1].parts[-1]
    if last.part_kind == "user-prompt":
        name, arguments = CALLS[str(last.content)]
        return ModelResponse(parts=[ToolCallPart(name, {"task": last.content, **arguments})])
    return ModelResponse(parts=[TextPart(str(getattr(last, "content", "")))])


def main() -> None:
    """Store an attempt, and recall it."""
    with atlas.open_memory("pydantic-memory") as memory:
        toolset = memory_toolset(memory, agent_id="clerk", scope={"project": "shop"})
        agent = Agent(FunctionModel(answer), toolsets=[toolset])
        for task in CALLS:
            output = agent.run_sync(task).output
            print(output.split()[0], "ask the manager" in output)


if __name__ == "__main__":
    main()
