"""Foreign queries: queries on a hundred subjects, nearly all of which are unrelated to any given store."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources

from atlas.core.ranking.languages import ENGLISH

FOREIGN_LANGUAGES = ("ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "zh")
"""Languages of the queries, besides English."""


def calibration_queries() -> tuple[str, ...]:
    """Return every third English query, for the calibration of late interaction and of a store's relevance level."""
    return foreign_queries()[::3]


def evaluation_queries() -> tuple[str, ...]:
    """Return the English queries that are not used for calibration, for evaluating the relevance level."""
    return tuple(text for index, text in enumerate(foreign_queries()) if index % 3)


def load_calibration_queries(languages: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the calibration queries in each of these languages, keyed by language. English if none is supported."""
    by_language = {language: load_queries(language) for language in languages if language in FOREIGN_LANGUAGES}
    return ({ENGLISH: calibration_queries()} if ENGLISH in languages or not by_language else {}) | by_language


@cache
def foreign_queries() -> tuple[str, ...]:
    """Return the English set of some 400 queries on a hundred subjects, with a few queries in other languages.

    The queries are questions, commands, titles and log lines. A fifth is about software, and a tenth about customer
    service. A few of them are relevant to a store on one of the subjects.
    """
    return load_queries(ENGLISH)


@cache
def load_queries(language: str) -> tuple[str, ...]:
    """Return the foreign queries in a language: 48, each on another subject, or some 400 in English."""
    text = (resources.files("atlas.embedding") / "foreign" / f"{language}.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())
