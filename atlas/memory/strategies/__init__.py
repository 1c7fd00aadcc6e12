"""Strategy bank: what to do in which situation, and how surely that works (ArcMemo)."""

from atlas.memory.strategies.memory import (
    BY_HAND,
    BY_OUTCOMES,
    COLLECTION,
    BayesianUpdater,
    ChromaStrategyBank,
    EMASuccessUpdater,
    LLMStrategyAbstractor,
    RetirementRule,
    SimpleAverageUpdater,
    StrategyAbstractor,
    StrategyRate,
    SuccessRateUpdater,
)

__all__ = [
    "BY_HAND",
    "BY_OUTCOMES",
    "COLLECTION",
    "BayesianUpdater",
    "ChromaStrategyBank",
    "EMASuccessUpdater",
    "LLMStrategyAbstractor",
    "RetirementRule",
    "SimpleAverageUpdater",
    "StrategyAbstractor",
    "StrategyRate",
    "SuccessRateUpdater",
]
