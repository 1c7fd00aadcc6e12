"""A service that shows late what was written never costs a hit, whenever it shows what, and whoever asks."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from itertools import count, islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from hypothesis.strategies import integers

from atlas.core.settings import Settings
from atlas.storage.store import Store
from atlas.storage.vectors.remote import index as remote_index
from tests.support.storage.ledgers import DIMENSION, THINGS, Opened, vector_of
from tests.support.storage.pinecone_server import KEY, serving


class LateService(RuleBasedStateMachine):
    """Two processes on one store, whose service shows writes as late as it likes, and in part."""

    def __init__(self) -> None:
        super().__init__()
        self.open = ExitStack()
        self.expected: dict[str, str] = {}
        """The text that each live record has its vector of."""

        self.numbers = count()

    @initialize()
    def begin(self) -> None:
        directory = self.open.enter_context(tempfile.TemporaryDirectory())
        self.server = self.open.enter_context(serving(DIMENSION))
        self.server.is_late = True
        options = Settings(index=self.server.address, exact_max_rows=8, index_lag_rows=10**6, actor="tester")
        self.reopen = lambda: Opened(Store.open(Path(directory) / "store", settings=options))
        self.users = [self.reopen(), self.reopen()]
        for opened in self.users:
            self.open.callback(let_go, opened)
        self.add(12)

    @rule(n=integers(1, 6))
    def add(self, n: int) -> None:
        ids = [f"r{number}" for number in islice(self.numbers, n)]
        self.users[0].add(*ids)
        self.expected |= {record_id: record_id for record_id in ids}

    @rule(pick=integers(0, 10**6), to=integers(0, 10**6))
    def edit(self, pick: int, to: int) -> None:
        record_id = sorted(self.expected)[pick % len(self.expected)]
        self.expected[record_id] = f"text {to}"
        self.users[1].edit(record_id, f"text {to}")

    @rule(pick=integers(0, 10**6))
    def delete(self, pick: int) -> None:
        if len(self.expected) > 9:
            record_id = sorted(self.expected)[pick % len(self.expected)]
            del self.expected[record_id]
            self.users[0].delete(record_id)

    @rule(who=integers(0, 1))
    def follow(self, who: int) -> None:
        self.users[who].store.catch_up()

    @rule(share=integers(0, 100))
    def show(self, share: int) -> None:
        positions = self.server.positions()
        if positions:
            self.server.show(positions[share * (len(positions) - 1) // 100])

    @invariant()
    def every_record_is_the_nearest_to_its_own_vector(self) -> None:
        for opened in self.users:
            self.check(opened)
        newcomer = self.reopen()  # it holds nothing in memory of what came before the checkpoint
        self.check(newcomer)
        let_go(newcomer)

    def check(self, opened: Opened) -> None:
        collection = opened.store.collection(THINGS)
        for record_id, text in self.expected.items():
            best = [one for one, other in self.expected.items() if other == text]
            assert record_id in collection.query(vector_of(text), len(best)).ids

    def teardown(self) -> None:
        self.open.close()


def let_go(opened: Opened) -> None:
    """Close a store as a process does that is killed: the index is not brought up to the ledger."""
    opened.store.collection(THINGS).parts.nearest.close()
    opened.store.ledger.close()


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much shows is looked at before each query, so that checkpoints are believed as early as they may be."""
    monkeypatch.setenv("PINECONE_API_KEY", KEY)
    monkeypatch.setattr(remote_index, "POLL_POSITION_SECONDS", 0.0)
    monkeypatch.setattr("atlas.storage.vectors.exact_search.MANY_QUERIES", 10**9)  # the index is asked every time


def check(examples: int, steps: int) -> None:
    options = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.reuse, Phase.generate],  # making a failure smaller would take many minutes
    )
    run_state_machine_as_test(LateService, settings=options)  # type: ignore[no-untyped-call]


def test_late_visibility_never_loses_a_hit() -> None:
    check(examples=6, steps=12)


@pytest.mark.slow
def test_late_visibility_never_loses_a_hit_in_many_runs() -> None:
    check(examples=100, steps=30)
