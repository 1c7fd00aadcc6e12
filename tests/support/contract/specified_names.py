"""Every name that the specifications give, by the module that they put it in."""

from __future__ import annotations

STRATEGY_PROTOCOLS = {
    "atlas.memory.experience": ("ExperienceExtractor", "RefineStrategy"),
    "atlas.memory.concepts": ("CompositionStrategy", "CompressionStrategy", "ConceptDocumenter", "PrimitiveLoader"),
    "atlas.memory.strategies": ("StrategyAbstractor", "SuccessRateUpdater"),
}

NAMES = {
    "atlas.core.types": ("Task", "Trajectory", "Experience", "CodeConcept", "Strategy", "Outcome"),
    "atlas.protocols.memory": ("ExperienceMemory", "ConceptLibrary", "StrategyBank", "MemorySystem"),
    "atlas.protocols.strategies": tuple(name for names in STRATEGY_PROTOCOLS.values() for name in names),
    "atlas.infra.embeddings": ("Embedder",),
    "atlas.infra.vector_index": ("VectorIndex",),
    "atlas.memory.storage": ("VectorStore", "QueryResult", "ChromaVectorStore"),
    "atlas.memory.experience": (
        "ChromaExperienceMemory",
        *STRATEGY_PROTOCOLS["atlas.memory.experience"],
        "SimpleExperienceExtractor",
        "LLMSummarizingExtractor",
        "PassthroughRefineStrategy",
        "LLMRefineStrategy",
    ),
    "atlas.memory.concepts": (
        "ChromaConceptLibrary",
        *STRATEGY_PROTOCOLS["atlas.memory.concepts"],
        "LLMCompositionStrategy",
        "StitchCompressionStrategy",
        "LLMAutoDocumenter",
    ),
    "atlas.memory.strategies": (
        "ChromaStrategyBank",
        *STRATEGY_PROTOCOLS["atlas.memory.strategies"],
        "LLMStrategyAbstractor",
        "EMASuccessUpdater",
        "SimpleAverageUpdater",
        "BayesianUpdater",
    ),
    "atlas.memory.system": ("MemorySystemImpl", "MemorySystem", "MemoryQueryResult"),
    "atlas.memory.primitives": ("ARCPrimitiveLoader", "SWEPrimitiveLoader", "PrimitiveLoader"),
    "atlas.memory.primitives.arc": ("ARCPrimitiveLoader",),
    "atlas.memory.primitives.swe": ("SWEPrimitiveLoader",),
}

NAMES["atlas.memory"] = (
    *sorted({name for module, names in NAMES.items() if module.startswith("atlas.memory.") for name in names}),
    *("ExperienceMemory", "ConceptLibrary", "StrategyBank", "Experience", "CodeConcept", "Strategy"),
)
