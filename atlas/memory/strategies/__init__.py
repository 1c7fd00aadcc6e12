"""Strategy bank: what to do in which situation, and how surely that works (ArcMemo)."""

from atlas.memory.base.success_rates import (
    BayesianUpdater,
    EMASuccessUpdater,
    RecencyWeightedUpdater,
    SimpleAverageUpdater,
)
from atlas.memory.strategies.induction.llm import LLMStrategyAbstractor
from atlas.memory.strategies.memory import COLLECTION, ChromaStrategyBank
from atlas.memory.strategies.outcomes import BY_HAND, BY_OUTCOMES, RetirementRule, StrategyRate
from atlas.protocols.strategies import StrategyAbstractor, SuccessRateUpdater

__all__ = [
    "BY_HAND",
    "BY_OUTCOMES",
    "COLLECTION",
    "BayesianUpdater",
    "ChromaStrategyBank",
    "EMASuccessUpdater",
    "LLMStrategyAbstractor",
    "RecencyWeightedUpdater",
    "RetirementRule",
    "SimpleAverageUpdater",
    "StrategyAbstractor",
    "StrategyRate",
    "SuccessRateUpdater",
]
