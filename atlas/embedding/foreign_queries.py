"""Queries on a hundred subjects, nearly all of them foreign to any one store: they have no answer there."""

from __future__ import annotations

from functools import cache
from importlib import resources


def calibration_queries() -> tuple[str, ...]:
    """Return the third of them that a store's level is measured with."""
    return foreign_queries()[::3]


def evaluation_queries() -> tuple[str, ...]:
    """Return the queries that are not used for calibration, to evaluate the level."""
    return tuple(text for place, text in enumerate(foreign_queries()) if place % 3)


@cache
def foreign_queries() -> tuple[str, ...]:
    """Return some 400 queries on a hundred subjects, a few of them not in English.

    Questions, orders, titles and sentences of logs. A fifth is about software and a tenth about customer service. A
    store on one of the subjects is at home with a few of them.
    """
    text = (resources.files("atlas.embedding") / "foreign_queries.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())
