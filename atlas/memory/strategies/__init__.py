"""Strategy bank: advice by situation, with success rates (ArcMemo)."""

from typing import TYPE_CHECKING

from atlas.core.imports.lazy import lazy_names

if TYPE_CHECKING:
    from atlas.memory.base.success_rates import BayesianUpdater as BayesianUpdater
    from atlas.memory.base.success_rates import EMASuccessUpdater as EMASuccessUpdater
    from atlas.memory.base.success_rates import RecencyWeightedUpdater as RecencyWeightedUpdater
    from atlas.memory.base.success_rates import SimpleAverageUpdater as SimpleAverageUpdater
    from atlas.memory.strategies.induction.llm import LLMStrategyAbstractor as LLMStrategyAbstractor
    from atlas.memory.strategies.memory import COLLECTION as COLLECTION
    from atlas.memory.strategies.memory import ChromaStrategyBank as ChromaStrategyBank
    from atlas.memory.strategies.outcomes import BY_HAND as BY_HAND
    from atlas.memory.strategies.outcomes import BY_OUTCOMES as BY_OUTCOMES
    from atlas.memory.strategies.outcomes import RetirementRule as RetirementRule
    from atlas.memory.strategies.outcomes import StrategyRate as StrategyRate
    from atlas.protocols.strategies import StrategyAbstractor as StrategyAbstractor
    from atlas.protocols.strategies import SuccessRateUpdater as SuccessRateUpdater

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "atlas.memory.base.success_rates": (
            "BayesianUpdater",
            "EMASuccessUpdater",
            "RecencyWeightedUpdater",
            "SimpleAverageUpdater",
        ),
        "atlas.memory.strategies.induction.llm": ("LLMStrategyAbstractor",),
        "atlas.memory.strategies.memory": ("COLLECTION", "ChromaStrategyBank"),
        "atlas.memory.strategies.outcomes": ("BY_HAND", "BY_OUTCOMES", "RetirementRule", "StrategyRate"),
        "atlas.protocols.strategies": ("StrategyAbstractor", "SuccessRateUpdater"),
    },
)
