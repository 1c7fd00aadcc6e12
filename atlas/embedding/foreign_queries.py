"""Queries on a hundred subjects, nearly all of them foreign to any one store: they have no answer there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources

from atlas.core.ranking.languages import ENGLISH

OTHERS = ("ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "zh")
"""Languages beside English that there are queries in."""


def calibration_queries() -> tuple[str, ...]:
    """Return the third of the English ones that a model's word pieces, and the level of a store, are measured with."""
    return foreign_queries()[::3]


def evaluation_queries() -> tuple[str, ...]:
    """Return the English queries that are not used for calibration, to evaluate the level."""
    return tuple(text for place, text in enumerate(foreign_queries()) if place % 3)


def calibration_queries_in(languages: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the queries that a store with texts in these languages is measured with, by language.

    English ones if there are none in any of them.
    """
    by_language = {language: queries_in(language) for language in languages if language in OTHERS}
    return ({ENGLISH: calibration_queries()} if ENGLISH in languages or not by_language else {}) | by_language


@cache
def foreign_queries() -> tuple[str, ...]:
    """Return some 400 queries on a hundred subjects, a few of them not in English.

    Questions, orders, titles and sentences of logs. A fifth is about software and a tenth about customer service. A
    store on one of the subjects is at home with a few of them.
    """
    return queries_in(ENGLISH)


@cache
def queries_in(language: str) -> tuple[str, ...]:
    """Return the queries in a language, by its code. In each of `OTHERS` there are 48, on as many subjects."""
    text = (resources.files("atlas.embedding") / "foreign" / f"{language}.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())
