"""Concept library: reusable code, found by description, as in Stitch and LILO."""

from typing import TYPE_CHECKING

from atlas.core.imports.lazy import lazy_names

if TYPE_CHECKING:
    from atlas.learning.model_composition import LLMCompositionStrategy as LLMCompositionStrategy
    from atlas.learning.naming.autodoc import LLMAutoDocumenter as LLMAutoDocumenter
    from atlas.learning.strategies import StitchCompressionStrategy as StitchCompressionStrategy
    from atlas.memory.concepts.calls import ConceptUses as ConceptUses
    from atlas.memory.concepts.memory import COLLECTION as COLLECTION
    from atlas.memory.concepts.memory import ChromaConceptLibrary as ChromaConceptLibrary
    from atlas.protocols.strategies import CompositionStrategy as CompositionStrategy
    from atlas.protocols.strategies import CompressionStrategy as CompressionStrategy
    from atlas.protocols.strategies import ConceptDocumenter as ConceptDocumenter
    from atlas.protocols.strategies import PrimitiveLoader as PrimitiveLoader

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "atlas.learning.model_composition": ("LLMCompositionStrategy",),
        "atlas.learning.naming.autodoc": ("LLMAutoDocumenter",),
        "atlas.learning.strategies": ("StitchCompressionStrategy",),
        "atlas.memory.concepts.calls": ("ConceptUses",),
        "atlas.memory.concepts.memory": ("COLLECTION", "ChromaConceptLibrary"),
        "atlas.protocols.strategies": (
            "CompositionStrategy",
            "CompressionStrategy",
            "ConceptDocumenter",
            "PrimitiveLoader",
        ),
    },
)
