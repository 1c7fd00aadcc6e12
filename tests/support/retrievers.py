"""Retrievers that answer as they were told, for tests of what is made of their answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from atlas.evaluation.measures import JudgedQuery, Ranking, RetrievalTask
from atlas.evaluation.metrics import SAME


@dataclass
class ScriptedRetriever:
    """Gives the ids written for each query, and nothing for any other."""

    name: str
    answers: Mapping[str, Sequence[str]]
    baselines: Sequence[str] = ()
    has_threshold: bool = False
    about: str = "as scripted"

    def rank(self, text: str, excluded: Collection[str], depth: int) -> Ranking:
        ids = [record_id for record_id in self.answers.get(text, ()) if record_id not in excluded]
        return Ranking(tuple(ids[:depth]))


def query(text: str, *right: str, group: str = "", excluded: Collection[str] = (), **grades: int) -> JudgedQuery:
    """A query to which some records are right."""
    judged = dict.fromkeys(right, SAME) | grades
    return JudgedQuery(text=text, grades=judged, group=group or text, excluded=frozenset(excluded))


def task(*queries: JudgedQuery) -> RetrievalTask:
    return RetrievalTask(name="letters", about="A letter → its word.", queries=queries)
