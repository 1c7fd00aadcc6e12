"""An agent of AutoGen that recalls what it learned in an earlier conversation.

    pip install autogen-agentchat autogen-ext
    python autogen_memory.py             # writes the store `autogen-store` into the current directory

A scripted model stands for yours, so that the example needs none.
"""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import MemoryContent, MemoryMimeType
from autogen_ext.models.replay import ReplayChatCompletionClient

import atlas
from atlas.integrations.autogen import AtlasMemory

RULE = "Refunds above 500 need a manager."


async def main() -> None:
    """Note a rule, and ask an agent for what it needs it."""
    with atlas.open_memory("autogen-store") as memory:
        recalled = AtlasMemory(memory, scope={"project": "shop"})
        await recalled.add(MemoryContent(content=RULE, mime_type=MemoryMimeType.TEXT))
        model = ReplayChatCompletionClient(["I ask the manager first."])
        agent = AssistantAgent("clerk", model_client=model, memory=[recalled])
        result = await agent.run(task="May I grant this refund of 700?")
        print([message.type for message in result.messages])
        print(RULE in str(model.create_calls[0]["messages"]), result.messages[-1].content)


if __name__ == "__main__":
    asyncio.run(main())
