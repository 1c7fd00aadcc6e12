"""Refinement: near-duplicates merged, noise dropped, and the rest in the order in which to read it (ReMem).

`heuristic` refines a set without a language model, and `llm` by one's judgement. Both give `decisions`, each with its
reason. `plan` judges a whole store, in sets of experiences that are alike.
"""

from atlas.memory.experience.refinement.decisions import ExplainingStrategy, RefineDecision, RefinedSet
from atlas.memory.experience.refinement.heuristic import HeuristicRefineStrategy, PassthroughRefineStrategy
from atlas.memory.experience.refinement.llm import LLMRefineStrategy
from atlas.memory.experience.refinement.plan import RefinePlan

__all__ = [
    "ExplainingStrategy",
    "HeuristicRefineStrategy",
    "LLMRefineStrategy",
    "PassthroughRefineStrategy",
    "RefineDecision",
    "RefinePlan",
    "RefinedSet",
]
