"""Experience memory: attempts at tasks, found for similar tasks, successes first (ReMem)."""

from atlas.memory.experience.memory import (
    COLLECTION,
    ChromaExperienceMemory,
    ExperienceExtractor,
    LLMRefineStrategy,
    LLMSummarizingExtractor,
    PassthroughRefineStrategy,
    RefineStrategy,
    SimpleExperienceExtractor,
)

__all__ = [
    "COLLECTION",
    "ChromaExperienceMemory",
    "ExperienceExtractor",
    "LLMRefineStrategy",
    "LLMSummarizingExtractor",
    "PassthroughRefineStrategy",
    "RefineStrategy",
    "SimpleExperienceExtractor",
]
