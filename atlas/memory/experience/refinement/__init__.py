"""Refinement of experiences (ReMem): merges near-duplicates, drops noise, and orders the rest for reading.

`heuristic` refines a set without a language model, and `llm` with one. Both return `decisions` with reasons. `plan`
judges a whole store, in sets of similar experiences.
"""

from typing import TYPE_CHECKING

from atlas.core.imports.lazy import lazy_names

if TYPE_CHECKING:
    from atlas.memory.experience.refinement.decisions import ExplainingStrategy as ExplainingStrategy
    from atlas.memory.experience.refinement.decisions import RefineDecision as RefineDecision
    from atlas.memory.experience.refinement.decisions import RefinedSet as RefinedSet
    from atlas.memory.experience.refinement.heuristic import HeuristicRefineStrategy as HeuristicRefineStrategy
    from atlas.memory.experience.refinement.heuristic import PassthroughRefineStrategy as PassthroughRefineStrategy
    from atlas.memory.experience.refinement.llm import LLMRefineStrategy as LLMRefineStrategy
    from atlas.memory.experience.refinement.plan import RefinePlan as RefinePlan

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "atlas.memory.experience.refinement.decisions": ("ExplainingStrategy", "RefineDecision", "RefinedSet"),
        "atlas.memory.experience.refinement.heuristic": ("HeuristicRefineStrategy", "PassthroughRefineStrategy"),
        "atlas.memory.experience.refinement.llm": ("LLMRefineStrategy",),
        "atlas.memory.experience.refinement.plan": ("RefinePlan",),
    },
)
