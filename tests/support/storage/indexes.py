"""Stores whose index is asked from a few records on, and questions to them."""

from __future__ import annotations

import time
from typing import Any

from tests.support.storage.ledgers import THINGS

FEW: dict[str, Any] = {"exact_max_rows": 10, "index_lag_rows": 10**6}
IDS = [f"r{i}" for i in range(70)]


def nearest_of(opened):
    return opened.store.collection(THINGS).parts.nearest


def missed(opened, ids=IDS):
    """Those that their own vector does not find."""
    return [record_id for record_id in ids if opened.nearest(record_id) != [record_id]]


def await_followed(opened):
    """Wait until the index has been brought up to the ledger, which nobody asks for."""
    until = time.monotonic() + 60
    while nearest_of(opened).updater.n_behind() and time.monotonic() < until:
        time.sleep(0.02)
    assert nearest_of(opened).updater.n_behind() == 0


def filled(open_store, address, n=70, **options):
    """A store with so many records, all of which its index has followed."""
    opened = open_store(index=address, **{**FEW, **options})
    opened.add(*IDS[:n])
    opened.store.catch_up()
    return opened
