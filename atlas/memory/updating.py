"""The former path of `atlas.memory.base.success_rates`, kept for one release."""

from atlas.memory.base.success_rates import (
    BayesianUpdater,
    EMASuccessUpdater,
    RecencyWeightedUpdater,
    SimpleAverageUpdater,
)

__all__ = ["BayesianUpdater", "EMASuccessUpdater", "RecencyWeightedUpdater", "SimpleAverageUpdater"]
