"""Experience memory: attempts at tasks, found for similar tasks, successes first (ReMem)."""

from typing import TYPE_CHECKING

from atlas.core.imports.lazy import lazy_names

if TYPE_CHECKING:
    from atlas.memory.experience.extraction import SimpleExperienceExtractor as SimpleExperienceExtractor
    from atlas.memory.experience.memory import COLLECTION as COLLECTION
    from atlas.memory.experience.memory import ChromaExperienceMemory as ChromaExperienceMemory
    from atlas.memory.experience.model_extraction import LLMSummarizingExtractor as LLMSummarizingExtractor
    from atlas.memory.experience.refinement.heuristic import PassthroughRefineStrategy as PassthroughRefineStrategy
    from atlas.memory.experience.refinement.llm import LLMRefineStrategy as LLMRefineStrategy
    from atlas.protocols.strategies import ExperienceExtractor as ExperienceExtractor
    from atlas.protocols.strategies import RefineStrategy as RefineStrategy

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "atlas.memory.experience.extraction": ("SimpleExperienceExtractor",),
        "atlas.memory.experience.memory": ("COLLECTION", "ChromaExperienceMemory"),
        "atlas.memory.experience.model_extraction": ("LLMSummarizingExtractor",),
        "atlas.memory.experience.refinement.heuristic": ("PassthroughRefineStrategy",),
        "atlas.memory.experience.refinement.llm": ("LLMRefineStrategy",),
        "atlas.protocols.strategies": ("ExperienceExtractor", "RefineStrategy"),
    },
)
