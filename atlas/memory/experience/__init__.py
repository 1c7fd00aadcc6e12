"""Experience memory: attempts at tasks, found for similar tasks, successes first (ReMem)."""

from atlas.memory.experience.extraction import SimpleExperienceExtractor
from atlas.memory.experience.memory import COLLECTION, ChromaExperienceMemory
from atlas.memory.experience.model_extraction import LLMSummarizingExtractor
from atlas.memory.experience.refinement.heuristic import PassthroughRefineStrategy
from atlas.memory.experience.refinement.llm import LLMRefineStrategy
from atlas.protocols.strategies import ExperienceExtractor, RefineStrategy

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
