"""The memories and what they are made of.

Every name of the specifications can be imported from here. Each is imported from its module when it is first used.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atlas.core.types import (
        CodeConcept,
        Experience,
        Strategy,
    )
    from atlas.memory.concepts import (
        ChromaConceptLibrary,
        CompositionStrategy,
        CompressionStrategy,
        ConceptDocumenter,
        LLMAutoDocumenter,
        LLMCompositionStrategy,
        PrimitiveLoader,
        StitchCompressionStrategy,
    )
    from atlas.memory.experience import (
        ChromaExperienceMemory,
        ExperienceExtractor,
        LLMRefineStrategy,
        LLMSummarizingExtractor,
        PassthroughRefineStrategy,
        RefineStrategy,
        SimpleExperienceExtractor,
    )
    from atlas.memory.primitives import (
        ARCPrimitiveLoader,
        SWEPrimitiveLoader,
    )
    from atlas.memory.storage import (
        ChromaVectorStore,
        QueryResult,
        VectorStore,
    )
    from atlas.memory.strategies import (
        BayesianUpdater,
        ChromaStrategyBank,
        EMASuccessUpdater,
        LLMStrategyAbstractor,
        SimpleAverageUpdater,
        StrategyAbstractor,
        SuccessRateUpdater,
    )
    from atlas.memory.system import (
        MemoryQueryResult,
        MemorySystem,
        MemorySystemImpl,
    )
    from atlas.protocols.memory import (
        ConceptLibrary,
        ExperienceMemory,
        StrategyBank,
    )

__all__ = [
    "ARCPrimitiveLoader",
    "BayesianUpdater",
    "ChromaConceptLibrary",
    "ChromaExperienceMemory",
    "ChromaStrategyBank",
    "ChromaVectorStore",
    "CodeConcept",
    "CompositionStrategy",
    "CompressionStrategy",
    "ConceptDocumenter",
    "ConceptLibrary",
    "EMASuccessUpdater",
    "Experience",
    "ExperienceExtractor",
    "ExperienceMemory",
    "LLMAutoDocumenter",
    "LLMCompositionStrategy",
    "LLMRefineStrategy",
    "LLMStrategyAbstractor",
    "LLMSummarizingExtractor",
    "MemoryQueryResult",
    "MemorySystem",
    "MemorySystemImpl",
    "PassthroughRefineStrategy",
    "PrimitiveLoader",
    "QueryResult",
    "RefineStrategy",
    "SWEPrimitiveLoader",
    "SimpleAverageUpdater",
    "SimpleExperienceExtractor",
    "StitchCompressionStrategy",
    "Strategy",
    "StrategyAbstractor",
    "StrategyBank",
    "SuccessRateUpdater",
    "VectorStore",
]

_MODULES = {
    "atlas.core.types": (
        "CodeConcept",
        "Experience",
        "Strategy",
    ),
    "atlas.memory.concepts": (
        "ChromaConceptLibrary",
        "CompositionStrategy",
        "CompressionStrategy",
        "ConceptDocumenter",
        "LLMAutoDocumenter",
        "LLMCompositionStrategy",
        "PrimitiveLoader",
        "StitchCompressionStrategy",
    ),
    "atlas.memory.experience": (
        "ChromaExperienceMemory",
        "ExperienceExtractor",
        "LLMRefineStrategy",
        "LLMSummarizingExtractor",
        "PassthroughRefineStrategy",
        "RefineStrategy",
        "SimpleExperienceExtractor",
    ),
    "atlas.memory.primitives": (
        "ARCPrimitiveLoader",
        "SWEPrimitiveLoader",
    ),
    "atlas.memory.storage": (
        "ChromaVectorStore",
        "QueryResult",
        "VectorStore",
    ),
    "atlas.memory.strategies": (
        "BayesianUpdater",
        "ChromaStrategyBank",
        "EMASuccessUpdater",
        "LLMStrategyAbstractor",
        "SimpleAverageUpdater",
        "StrategyAbstractor",
        "SuccessRateUpdater",
    ),
    "atlas.memory.system": (
        "MemoryQueryResult",
        "MemorySystem",
        "MemorySystemImpl",
    ),
    "atlas.protocols.memory": (
        "ConceptLibrary",
        "ExperienceMemory",
        "StrategyBank",
    ),
}
"""Names by the module that each is imported from."""


def __getattr__(name: str) -> Any:
    """Import what is used for the first time."""
    for module, names in _MODULES.items():
        if name in names:
            globals()[name] = value = getattr(_import_module(module), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
