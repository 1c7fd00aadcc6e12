"""Concept library: reusable code, found by what it does (Stitch, LILO), and its strategies."""

from atlas.learning.model_composition import LLMCompositionStrategy
from atlas.learning.naming.autodoc import LLMAutoDocumenter
from atlas.learning.strategies import StitchCompressionStrategy
from atlas.memory.concepts.calls import ConceptUses
from atlas.memory.concepts.memory import COLLECTION, ChromaConceptLibrary
from atlas.protocols.strategies import CompositionStrategy, CompressionStrategy, ConceptDocumenter, PrimitiveLoader

__all__ = [
    "COLLECTION",
    "ChromaConceptLibrary",
    "CompositionStrategy",
    "CompressionStrategy",
    "ConceptDocumenter",
    "ConceptUses",
    "LLMAutoDocumenter",
    "LLMCompositionStrategy",
    "PrimitiveLoader",
    "StitchCompressionStrategy",
]
