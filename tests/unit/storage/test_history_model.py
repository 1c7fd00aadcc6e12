"""Any sequence of changes, undos and re-openings leaves a store as a plain model in Python says."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from atlas.core.errors import InvalidInput, NotFound, UndoRefused
from atlas.core.operations import NO_MARKS, Marks
from atlas.core.settings import Settings
from atlas.storage.records import Merge, OperationDraft, Record
from atlas.storage.store import EmbeddingModel, Store

THINGS, MODEL = "things", "test"
IDS = ["a", "b", "c", "d"]
RECORD, MARKS = "record", "marks"


@dataclass
class ModelOperation:
    """What an operation found and left of everything that it touched."""

    before: dict = field(default_factory=dict)
    """(aspect, id) → (state's name, value) before its first change."""

    after: dict = field(default_factory=dict)
    marks_then: dict = field(default_factory=dict)
    """id → the name of the state that a record's marks were in when it was changed last."""

    undoes: str = ""
    undone_by: str = ""


class PlainModel:
    """Records and marks in a dict, each with the name of the state it is in; no name is used twice."""

    def __init__(self):
        self.now = {}
        self.operations = {}
        self.graves = {}
        """id → what a record that was deleted was, and the name of that state."""

        self._names = 0

    def held(self, aspect, record_id):
        return self.now.get((aspect, record_id), (0, None))

    def live(self):
        return [record_id for record_id in IDS if self.held(RECORD, record_id)[1] is not None]

    def change(self, operation, aspect, record_id, value):
        self._names += 1
        self._set(operation, (aspect, record_id), (self._names, value))

    def may_undo(self, operation_id):
        """Whether everything is in the state that the operation left it in, and what would go was not marked since."""
        operation = self.operations[operation_id]
        changed = any(self.now[key][0] != state for key, (state, _) in operation.after.items())
        return not operation.undone_by and not changed and not self._would_lose_marks(operation)

    def _would_lose_marks(self, operation):
        goes = [record_id for (aspect, record_id), held in operation.before.items() if aspect == RECORD and not held[1]]
        return any(self.held(MARKS, record_id)[0] != operation.marks_then[record_id] for record_id in goes)

    def undo(self, operation_id, undo_id):
        """Everything that the operation touched is again in the state that it was in before."""
        operation = self.operations[operation_id]
        undo = self.operations[undo_id] = ModelOperation(undoes=operation_id)
        for key, held in operation.before.items():
            self._set(undo, key, held)
        operation.undone_by, is_undone = undo_id, True
        while operation.undoes:
            self.operations[operation.undoes].undone_by = ""
            operation, is_undone = self.operations[operation.undoes], not is_undone
        operation.undone_by = undo_id if is_undone else ""

    def trashed(self):
        return [record_id for record_id in self.graves if record_id not in self.live()]

    def restore(self, operation, record_id):
        """A deleted record is again in the state that it was deleted in."""
        self._set(operation, (RECORD, record_id), self.graves[record_id])

    def _set(self, operation, key, held):
        if key[0] == RECORD and held[1] is None and self.held(*key)[1] is not None:
            self.graves[key[1]] = self.held(*key)
        operation.before.setdefault(key, self.now.get(key, (0, None)))
        operation.after[key] = self.now[key] = held
        operation.marks_then[key[1]] = self.held(MARKS, key[1])[0]


def vectors(seeds):
    rows = np.random.default_rng(seeds).standard_normal((1 + seeds[0] % 2, 4)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Histories(RuleBasedStateMachine):
    """Drives a store and the model at once."""

    server = None
    """Has the stores. None if they are directories."""

    def __init__(self):
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="atlas-test-"))
        self.place = self.server.new_address() if self.server else self.path / "store"
        self.store = None
        self.reopen()
        self.store.bind(EmbeddingModel(MODEL, 4))
        self.model = PlainModel()
        self.n_operations = 0

    def teardown(self):
        self.store.ledger.close()
        shutil.rmtree(self.path)

    @rule()
    def reopen(self):
        if self.store:
            self.store.ledger.close()
        self.store = Store.open(self.place, settings=Settings(actor="t"))

    def draft(self, kind):
        self.n_operations += 1
        return OperationDraft(id=f"{self.n_operations:04d}", kind=kind, actor="t")

    def scoped(self, draft):
        return self.store.collection(THINGS).as_operation(draft.kind, operation_id=draft.id)

    def record(self, record_id, seeds):
        metadata = {"n": seeds[0], "tags": [str(seed) for seed in seeds]}
        document = f"text {seeds}"
        return Record(id=record_id, metadata=metadata, document=document, vectors=vectors(seeds), content=f"c{seeds}")

    def write(self, method, record_ids, seeds, kind, *, is_allowed):
        draft, records = self.draft(kind), [self.record(record_id, seeds) for record_id in record_ids]
        if not is_allowed:
            with pytest.raises((InvalidInput, NotFound)):
                method(THINGS, records, draft, model=MODEL)
            return
        method(THINGS, records, draft, model=MODEL)
        operation = self.model.operations[draft.id] = ModelOperation()
        for record in records:
            self.model.change(operation, RECORD, record.id, self.shown(record))

    @rule(record_ids=st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True), seed=st.integers(0, 9))
    def add(self, record_ids, seed):
        is_allowed = not set(record_ids) & set(self.model.live())
        self.write(self.store.ledger.add, record_ids, [seed, 1], "store", is_allowed=is_allowed)

    @rule(record_ids=st.lists(st.sampled_from(IDS), min_size=1, max_size=2, unique=True), seed=st.integers(0, 9))
    def edit(self, record_ids, seed):
        is_allowed = set(record_ids) <= set(self.model.live())
        self.write(self.store.ledger.update, record_ids, [seed, 2], "edit", is_allowed=is_allowed)

    @precondition(lambda self: self.model.live())
    @rule(data=st.data(), seed=st.integers(0, 9))
    def edit_twice_in_one_operation(self, data, seed):
        record_id, draft = data.draw(st.sampled_from(self.model.live())), self.draft("edit")
        operation = self.model.operations[draft.id] = ModelOperation()
        for second in (3, 4):
            record = self.record(record_id, [seed, second])
            self.store.ledger.update(THINGS, [record], draft, model=MODEL)
            self.model.change(operation, RECORD, record_id, self.shown(record))

    @rule(record_ids=st.lists(st.sampled_from(IDS), min_size=1, max_size=4, unique=True))
    def delete(self, record_ids):
        draft, present = self.draft("delete"), [i for i in record_ids if i in self.model.live()]
        assert self.store.ledger.remove(THINGS, record_ids, draft) == len(present)
        if not present:
            return
        operation = self.model.operations[draft.id] = ModelOperation()
        for record_id in present:
            self.model.change(operation, RECORD, record_id, None)

    @precondition(lambda self: self.model.live())
    @rule(data=st.data(), note=st.sampled_from(["", "x", "y"]), pinned=st.booleans())
    def mark(self, data, note, pinned):
        record_id, draft = data.draw(st.sampled_from(self.model.live())), self.draft("mark")
        marks = Marks(note=note, pinned=pinned)
        self.store.ledger.marks.write(THINGS, {record_id: marks}, draft)
        operation = self.model.operations[draft.id] = ModelOperation()
        self.model.change(operation, MARKS, record_id, None if marks == NO_MARKS else marks)

    @precondition(lambda self: self.model.live())
    @rule(data=st.data(), note=st.sampled_from(["", "x"]), buried=st.booleans())
    def change_marks(self, data, note, buried):
        record_ids = data.draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True))
        draft = self.draft("mark")

        def change(marks):
            return replace(marks, note=note, buried=buried)

        if not set(record_ids) <= set(self.model.live()):
            with pytest.raises(NotFound):
                self.store.ledger.marks.change(THINGS, record_ids, change, draft)
            return
        held = {record_id: self.model.held(MARKS, record_id)[1] or NO_MARKS for record_id in record_ids}
        changed = {record_id: change(marks) for record_id, marks in held.items() if change(marks) != marks}
        assert self.store.ledger.marks.change(THINGS, record_ids, change, draft) == len(changed)
        self.marked(draft, changed)

    def marked(self, draft, changed):
        if not changed:
            return
        operation = self.model.operations.setdefault(draft.id, ModelOperation())
        for record_id, marks in changed.items():
            self.model.change(operation, MARKS, record_id, None if marks == NO_MARKS else marks)

    @precondition(lambda self: len(self.model.live()) > 1)
    @rule(data=st.data(), seed=st.integers(0, 9))
    def merge(self, data, seed):
        kept, *removed = data.draw(st.lists(st.sampled_from(self.model.live()), min_size=2, max_size=3, unique=True))
        record, draft, marks = self.record(kept, [seed, 5]), self.draft("merge"), Marks(note="merged")
        merges = [
            Merge(
                kept_id=kept,
                embedding=record.vectors,
                metadata={**record.metadata, "content": record.content},
                document=record.document,
                removed=removed,
                marks=marks,
            )
        ]
        self.scoped(draft).merge(merges, self.store.ledger.moment())
        operation = self.model.operations[draft.id] = ModelOperation()
        self.model.change(operation, RECORD, kept, self.shown(self.store.ledger.get(THINGS, [kept])[kept]))
        for record_id in removed:
            self.model.change(operation, RECORD, record_id, None)
        if self.model.held(MARKS, kept)[1] != marks:
            self.marked(draft, {kept: marks})

    @rule(record_ids=st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True))
    def restore(self, record_ids):
        draft, live = self.draft("restore"), self.model.live()
        if not set(record_ids) <= {*live, *self.model.graves}:
            with pytest.raises(NotFound, match="there is no deleted record"):
                self.scoped(draft).restore(record_ids)
            return
        dead = [record_id for record_id in record_ids if record_id not in live]
        assert self.scoped(draft).restore(record_ids) == len(dead)
        if dead:
            operation = self.model.operations[draft.id] = ModelOperation()
        for record_id in dead:
            self.model.restore(operation, record_id)

    @precondition(lambda self: self.model.operations)
    @rule(data=st.data())
    def undo(self, data):
        newest_first = list(self.model.operations)[::-1]
        operation_id = data.draw(st.sampled_from(newest_first[:6]))
        was_undone = bool(self.model.operations[operation_id].undone_by)
        if not self.model.may_undo(operation_id):
            with pytest.raises(UndoRefused, match="was undone already" if was_undone else "was changed later"):
                self.store.undo(operation_id)
            return
        self.model.undo(operation_id, self.store.undo(operation_id).id)

    @invariant()
    def the_store_holds_what_the_model_holds(self):
        held = self.store.ledger.get(THINGS, IDS)
        expected = {record_id: self.model.held(RECORD, record_id)[1] for record_id in self.model.live()}
        assert {record_id: self.shown(record) for record_id, record in held.items()} == expected
        assert self.listed() == set(expected)
        for n in range(10):
            assert self.listed({"n": n}) == {i for i, value in expected.items() if value[0]["n"] == n}

    @invariant()
    def marks_are_what_the_model_says(self):
        every = self.store.ledger.marks.read(THINGS)
        expected = {record_id: self.model.held(MARKS, record_id)[1] for record_id in IDS}
        assert every == {record_id: marks for record_id, marks in expected.items() if marks is not None}

    @invariant()
    def filters_follow_the_marks(self):
        noted = {i for i in self.model.live() if (self.model.held(MARKS, i)[1] or NO_MARKS).note == "x"}
        assert self.listed({"marks.note": "x"}) == noted

    @invariant()
    def the_trash_holds_what_was_deleted(self):
        trashed = self.store.ledger.history.trash(THINGS, 100, 0)
        assert {record.id for record in trashed} == set(self.model.trashed())
        assert self.store.ledger.history.count_trash(THINGS) == len(trashed)
        assert all(record.operation_id in self.model.operations for record in trashed)

    @invariant()
    def every_change_can_be_told(self):
        for operation_id in list(self.model.operations)[-2:]:
            told = {(c.aspect, c.record_id) for c in self.store.changes(operation_id)}
            assert told == set(self.model.operations[operation_id].before)

    @invariant()
    def the_history_says_which_operations_were_undone(self):
        undone = {operation.id: operation.undone_by or "" for operation in self.store.history(limit=1_000)}
        assert undone == {operation_id: o.undone_by for operation_id, o in self.model.operations.items()}

    def listed(self, where=None):
        return {record.id for record in self.store.ledger.scan(THINGS, where)}

    @staticmethod
    def shown(record):
        assert record.vectors is not None
        return record.metadata, record.document, record.content, record.vectors.tobytes(), record.vectors.shape


Histories.TestCase.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestHistories = Histories.TestCase


class HistoriesInPostgres(Histories):
    """Drives a store in PostgreSQL."""


HistoriesInPostgres.TestCase.settings = settings(Histories.TestCase.settings, max_examples=5)


class ManyHistoriesInPostgres(HistoriesInPostgres):
    """Drives as many of them as on SQLite."""


ManyHistoriesInPostgres.TestCase.settings = settings(Histories.TestCase.settings, deadline=None)


@pytest.mark.usefixtures("stores_in_postgres")
class TestHistoriesInPostgres(HistoriesInPostgres.TestCase):
    """As `TestHistories`."""


@pytest.mark.slow
@pytest.mark.usefixtures("stores_in_postgres")
class TestManyHistoriesInPostgres(ManyHistoriesInPostgres.TestCase):
    """As `TestHistories`, as often."""


@pytest.fixture(scope="module")
def stores_in_postgres(postgres_server, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATLAS_LOCAL", str(tmp_path_factory.mktemp("local")))
        patch.setattr(HistoriesInPostgres, "server", postgres_server)
        yield
