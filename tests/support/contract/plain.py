"""Memories and vector stores as users write them: with the specifications' methods, and nothing else."""

from __future__ import annotations

import asyncio
import inspect

import numpy as np

from atlas.core.hits import QueryResult
from atlas.core.types import CodeConcept, Experience, Outcome, Strategy, Task, Trajectory, new_id
from atlas.testing import FixedClock

REFUND = "refund the cancelled flight of a customer"
CODE = "def refund(flight):\n    return flight\n"


def attempt(description=REFUND, success=True, **metadata):
    return Trajectory(
        Task(f"task of {description}", "airline", description), (), Outcome(success), "agent", metadata=metadata
    )


def concept(**given):
    return CodeConcept(**{"name": "refund", "description": REFUND, "code": CODE} | given)


class PlainExperience:
    """An experience memory as a user writes one: the protocol's methods, over a list."""

    def __init__(self):
        self.held = []
        self.asked = []

    def store(self, trajectory):
        told = {"trajectory_summary": "", "embedding_text": "", "created_at": FixedClock().now()}
        self.held.append(Experience(id=new_id(), task=trajectory.task, outcome=trajectory.outcome, **told))
        return self.held[-1].id

    def search(self, task, k=4):
        self.asked.append(task)
        return self.held[:k]

    def get(self, experience_id):
        return next((one for one in self.held if one.id == experience_id), None)

    def refine(self, experiences):
        return experiences

    def prune(self, criteria):
        return 0

    def __len__(self):
        return len(self.held)


class PlainConcepts:
    """A concept library with the protocol's methods."""

    def __init__(self):
        self.held = {}
        self.outcomes = []

    def add(self, concept):
        self.held[concept.id] = concept
        return concept.id

    def search(self, query, k=5):
        assert isinstance(query, str)
        return list(self.held.values())[:k]

    def get(self, concept_id):
        return self.held.get(concept_id)

    def compose(self, concept_ids):
        return None

    def compress(self, trajectories):
        return []

    def update_stats(self, concept_id, success):
        self.outcomes.append((self.held[concept_id].id, success))


class PlainStrategies:
    """A strategy bank with the protocol's methods, which would abstract a failure too."""

    def __init__(self):
        self.held = {}
        self.outcomes = []

    def write(self, trajectory):
        made = Strategy(situation=trajectory.task.description, suggestion="look it up", id=new_id())
        self.held[made.id] = made
        return made

    def read(self, task, k=5):
        return list(self.held.values())[:k]

    def get(self, strategy_id):
        return self.held.get(strategy_id)

    def update_stats(self, strategy_id, success):
        self.outcomes.append((self.held[strategy_id].id, success))


def awaited(method):
    async def call(*args):
        await asyncio.sleep(0)
        return method(*args)

    return call


def with_coroutines(cls):
    """The same class with each of its public methods as a coroutine."""
    methods = {name: awaited(one) for name, one in vars(cls).items() if inspect.isfunction(one) and name[0] != "_"}
    return type(f"Async{cls.__name__}", (cls,), methods)


PLAIN = (PlainExperience, PlainConcepts, PlainStrategies)


def failing(cls, *names):
    """An object of the class, these methods of which fail."""

    def fail(self, *args):
        raise OSError("the disk is gone")

    return type(f"Failing{cls.__name__}", (cls,), dict.fromkeys(names, fail))()


class FourMethods:
    """A vector store with the specification's four methods. It refuses an id that is there, and no ids at all."""

    def __init__(self):
        self.rows = {}

    async def add(self, ids, embeddings, metadatas, documents):
        await asyncio.sleep(0)
        assert not self.rows.keys() & set(ids)
        for record_id, *row in zip(ids, embeddings, metadatas, documents, strict=True):
            self.rows[record_id] = row

    async def query(self, embedding, k, where=None):
        await asyncio.sleep(0)
        distances = {i: 1 - float(np.dot(row[0], embedding)) for i, row in self.rows.items()}
        ids = sorted(self.rows, key=distances.get)[:k]
        metadatas, documents = [self.rows[i][1] for i in ids], [self.rows[i][2] for i in ids]
        return QueryResult(ids=ids, distances=[distances[i] for i in ids], metadatas=metadatas, documents=documents)

    async def delete(self, ids):
        await asyncio.sleep(0)
        assert ids
        for record_id in ids:
            self.rows.pop(record_id, None)

    async def get(self, ids):
        await asyncio.sleep(0)
        assert ids
        fields = ("embedding", "metadata", "document")
        return [{"id": i} | dict(zip(fields, self.rows[i], strict=True)) for i in ids if i in self.rows]

    def metadata(self, record_id):
        return self.rows[record_id][1]


class FiveMethods(FourMethods):
    """The same with `count`."""

    async def count(self):
        return len(self.rows)


class SixMethods(FiveMethods):
    """The same with `update`, which deletes nothing."""

    async def update(self, ids, embeddings, metadatas, documents):
        for record_id, *row in zip(ids, embeddings, metadatas, documents, strict=True):
            assert record_id in self.rows
            self.rows[record_id] = row

    async def delete(self, ids):
        raise AssertionError("it has an update")
