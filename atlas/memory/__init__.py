"""The memories and their parts.

Every name of the specifications can be imported from here; its module is imported lazily.
"""

from typing import TYPE_CHECKING

from atlas.core.imports.lazy import lazy_names

if TYPE_CHECKING:
    from atlas.core.types import CodeConcept as CodeConcept
    from atlas.core.types import Experience as Experience
    from atlas.core.types import Strategy as Strategy
    from atlas.memory.concepts import ChromaConceptLibrary as ChromaConceptLibrary
    from atlas.memory.concepts import CompositionStrategy as CompositionStrategy
    from atlas.memory.concepts import CompressionStrategy as CompressionStrategy
    from atlas.memory.concepts import ConceptDocumenter as ConceptDocumenter
    from atlas.memory.concepts import LLMAutoDocumenter as LLMAutoDocumenter
    from atlas.memory.concepts import LLMCompositionStrategy as LLMCompositionStrategy
    from atlas.memory.concepts import PrimitiveLoader as PrimitiveLoader
    from atlas.memory.concepts import StitchCompressionStrategy as StitchCompressionStrategy
    from atlas.memory.experience import ChromaExperienceMemory as ChromaExperienceMemory
    from atlas.memory.experience import ExperienceExtractor as ExperienceExtractor
    from atlas.memory.experience import LLMRefineStrategy as LLMRefineStrategy
    from atlas.memory.experience import LLMSummarizingExtractor as LLMSummarizingExtractor
    from atlas.memory.experience import PassthroughRefineStrategy as PassthroughRefineStrategy
    from atlas.memory.experience import RefineStrategy as RefineStrategy
    from atlas.memory.experience import SimpleExperienceExtractor as SimpleExperienceExtractor
    from atlas.memory.primitives import ARCPrimitiveLoader as ARCPrimitiveLoader
    from atlas.memory.primitives import SWEPrimitiveLoader as SWEPrimitiveLoader
    from atlas.memory.storage import ChromaVectorStore as ChromaVectorStore
    from atlas.memory.storage import QueryResult as QueryResult
    from atlas.memory.storage import VectorStore as VectorStore
    from atlas.memory.strategies import BayesianUpdater as BayesianUpdater
    from atlas.memory.strategies import ChromaStrategyBank as ChromaStrategyBank
    from atlas.memory.strategies import EMASuccessUpdater as EMASuccessUpdater
    from atlas.memory.strategies import LLMStrategyAbstractor as LLMStrategyAbstractor
    from atlas.memory.strategies import SimpleAverageUpdater as SimpleAverageUpdater
    from atlas.memory.strategies import StrategyAbstractor as StrategyAbstractor
    from atlas.memory.strategies import SuccessRateUpdater as SuccessRateUpdater
    from atlas.memory.system import MemoryQueryResult as MemoryQueryResult
    from atlas.memory.system import MemorySystem as MemorySystem
    from atlas.memory.system import MemorySystemImpl as MemorySystemImpl
    from atlas.protocols.memory import ConceptLibrary as ConceptLibrary
    from atlas.protocols.memory import ExperienceMemory as ExperienceMemory
    from atlas.protocols.memory import StrategyBank as StrategyBank

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "atlas.core.types": ("CodeConcept", "Experience", "Strategy"),
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
        "atlas.memory.primitives": ("ARCPrimitiveLoader", "SWEPrimitiveLoader"),
        "atlas.memory.storage": ("ChromaVectorStore", "QueryResult", "VectorStore"),
        "atlas.memory.strategies": (
            "BayesianUpdater",
            "ChromaStrategyBank",
            "EMASuccessUpdater",
            "LLMStrategyAbstractor",
            "SimpleAverageUpdater",
            "StrategyAbstractor",
            "SuccessRateUpdater",
        ),
        "atlas.memory.system": ("MemoryQueryResult", "MemorySystem", "MemorySystemImpl"),
        "atlas.protocols.memory": ("ConceptLibrary", "ExperienceMemory", "StrategyBank"),
    },
)
