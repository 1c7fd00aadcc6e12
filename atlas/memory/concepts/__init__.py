"""Concept library: reusable code, found by what it does (Stitch, LILO), and its strategies."""

from atlas.memory.concepts.memory import (
    COLLECTION,
    ChromaConceptLibrary,
    CompositionStrategy,
    CompressionStrategy,
    ConceptDocumenter,
    ConceptUses,
    LLMAutoDocumenter,
    LLMCompositionStrategy,
    PrimitiveLoader,
    StitchCompressionStrategy,
)

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
