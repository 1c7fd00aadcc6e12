"""An agent of the OpenAI Agents SDK with a session that lasts, and with tools of a memory.

    pip install openai-agents
    python openai_agents_memory.py       # writes the store `agents-memory` into the current directory

A scripted model stands for yours, so that the example needs none.
"""

import asyncio
import json

from agents import Agent, Runner, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

import atlas
from atlas.integrations.openai_agents import AtlasSession, memory_tools

TASK = "Refund order 7 of the shop"
STEP = {"thought": "it is above 500", "action": "ask the manager", "observation": "approved"}
ATTEMPT = {"task": TASK, "steps": [STEP], "success": True, "solution": "refunded", "error": ""}


def call(name: str, **arguments: object) -> list[object]:
    """Return what a model says to call a tool."""
    return [function_call(name, json.dumps(arguments), call_id=f"call_{name}")]


async def main() -> None:
    """Store an attempt in one conversation, and recall it in the next."""
    set_tracing_disabled(True)
    with atlas.open_memory("agents-memory") as memory:
        first = ScriptedModel([call("store_attempt", **ATTEMPT), [assistant_message("It is refunded.")]])
        agent = Agent(
            name="clerk", model=first, tools=memory_tools(memory, agent_id="clerk", scope={"project": "shop"})
        )
        session = AtlasSession(memory, "monday")
        await Runner.run(agent, TASK, session=session)
        print([item.get("type", item.get("role")) for item in await session.get_items()])

        second = ScriptedModel([call("recall", task="Refund order 9"), [assistant_message("I ask the manager first.")]])
        result = await Runner.run(agent.clone(model=second), "Refund order 9", session=AtlasSession(memory, "tuesday"))
        print("ask the manager" in str(result.to_input_list()), result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
