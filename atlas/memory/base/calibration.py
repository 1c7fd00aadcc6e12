"""What similarities mean in a store, measured on some of its records and kept up as it grows."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.memory.base.ranking import USUAL, Calibration, calibrate
from atlas.storage.collection import Collection
from atlas.storage.records import NO_MOMENT, Moment

SAMPLED = 64
"""Records that are compared with all others: enough for a median, and some 0.3 s at 100,000 records."""

GROWTH = 1.25
"""How much longer a store's history gets before it is measured anew."""


@dataclass(slots=True)
class LiveCalibration:
    """The scale of one collection. It is measured when first asked for, and again whenever the store has grown."""

    store: Collection
    model: str
    _measured: Calibration | None = None
    _at: Moment = NO_MOMENT

    def now(self) -> Calibration:
        """The scale as it is for the store's present size."""
        now = self.store.moment()
        is_outgrown = now.change > GROWTH * self._at.change or now.ledger_id != self._at.ledger_id
        if self._measured is None or is_outgrown:
            unrelated, near = self.store.similarities(SAMPLED)
            self._measured = calibrate(unrelated, near, USUAL.get(self.model, Calibration()))
            self._at = now
        return self._measured
