"""Search for candidates: patterns that make a corpus of programs smaller.

An `Engine` takes a `Corpus` of terms and returns a `PatternProposal`. `StitchEngine` runs Stitch in a separate process,
because it cannot be interrupted. `AntiUnificationEngine` is plain Python, for expressions only. `ModelEngine` lets a
language model propose functions, and `templates` converts these to patterns. `sampling` selects programs from a corpus
that is too large. `forms` computes canonical forms of functions.
"""

from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.search.engines import Corpus, Engine, EngineError, PatternProposal
from atlas.learning.search.limits import Limits
from atlas.learning.search.model_engine import ModelEngine
from atlas.learning.search.stitch import StitchEngine

__all__ = [
    "AntiUnificationEngine",
    "Corpus",
    "Engine",
    "EngineError",
    "Limits",
    "ModelEngine",
    "PatternProposal",
    "StitchEngine",
]
