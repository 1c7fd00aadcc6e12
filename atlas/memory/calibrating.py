"""What similarities mean in a store, measured on some of its records and kept up as it grows."""

from __future__ import annotations

from dataclasses import dataclass, field

from atlas.memory.backing import PlainStore
from atlas.memory.ranking import USUAL, Calibration, calibrate
from atlas.storage.vector_store import LedgerVectorStore

SAMPLED = 64
"""Records that are compared with all others: enough for a median, and some 0.3 s at 100,000 records."""

GROWTH = 1.25
"""How much a store grows before it is measured anew."""


@dataclass(slots=True)
class LiveCalibration:
    """The scale of one collection. It is measured when first asked for, and again whenever the store has grown."""

    store: LedgerVectorStore | PlainStore
    model: str
    _measured: Calibration | None = None
    _ledger_id: str = field(default="")
    _n_records: int = 0

    async def now(self) -> Calibration:
        """The scale as it is for the store's present size."""
        n, ledger_id = await self.store.count(), (await self.store.moment()).ledger_id
        is_outgrown = not self._n_records / GROWTH <= n <= self._n_records * GROWTH
        if self._measured is None or is_outgrown or ledger_id != self._ledger_id:
            unrelated, near = await self.store.similarities(SAMPLED)
            self._measured = calibrate(unrelated, near, USUAL.get(self.model, Calibration()))
            self._n_records, self._ledger_id = n, ledger_id
        return self._measured
