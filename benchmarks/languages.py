"""What the level hides of a store's own answers and shows to foreign queries, by language and size.

The stores are filled with manual pages, each asked for by its one-line summary, which is not stored. Foreign are the
shipped queries in the language. Each is judged by a level fitted to the other three quarters. The
area is the chance that an own query finds something more relevant than a foreign one does. Debian has the pages:

    apt-get download manpages manpages-dev manpages-de manpages-zh && for p in *.deb; do dpkg -x $p pages; done
    ATLAS_MANUALS=pages/usr/share/man python -m benchmarks languages
"""

from __future__ import annotations

import gzip
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

import atlas
from atlas.core.ranking.languages import ENGLISH
from atlas.embedding.cached import CachedEmbedder
from atlas.embedding.foreign_queries import load_calibration_queries
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from atlas.memory.base.calibration.measurement import LevelMeasurement
from atlas.memory.base.scoring import Values
from benchmarks.measuring import Figure

MANUALS = Path(os.environ.get("ATLAS_MANUALS") or "absent")
"""ATLAS_MANUALS: a directory like `/usr/share/man`."""

FOLDERS: Mapping[str, str] = {ENGLISH: ".", "de": "de", "zh": "zh_CN"}
STORES: Mapping[str, Sequence[str]] = {
    "English": [ENGLISH],
    "German": ["de"],
    "Chinese": ["zh"],
    "mixed": [ENGLISH, "de", "zh"],
}
DRAWN: Mapping[int, int] = {5: 6, 20: 3, 100: 1, 1_000: 1}
"""Stores of each size. A size that a language has too few pages for becomes all of them."""

MAX_OWN = 60
"""Pages of a store that are asked for."""

FOLDS = 4
MIN_CHARACTERS, MAX_CHARACTERS = 60, 600
"""Of a description that is stored. A shorter one says little."""

_HEADING = re.compile(r'^\.S[HS] *"?([^"\n]*)"?', re.MULTILINE)
_MACRO = re.compile(r"^[.'](?:([BI]R?|[RI]B|RI|IR|BI|IB|SM|Nm|Nd|Fl|Ar|Xr) +(.*)|.*)$", re.MULTILINE)
_ESCAPE = re.compile(r"\\(?:f\(?\[?\w+\]?|\(..|\*\(..|[&,/|^%:~ ]|s[-+]?\d)")


@dataclass(frozen=True, slots=True)
class Page:
    """A manual page."""

    summary: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the queries of one store."""

    own_hidden: float
    """Share of the own queries that were given nothing."""

    foreign_shown: float
    own: Values
    """Relevance of the best answer to each own query."""

    foreign: Values


def figures() -> Iterator[Figure]:
    if not MANUALS.is_dir():
        print("no manual pages: set ATLAS_MANUALS to a directory that has some", file=sys.stderr)
        return
    embedder = CachedEmbedder(SentenceTransformerEmbedder(BUNDLED))
    for name, languages in STORES.items():
        pages = [page for together in zip(*map(pages_in, languages), strict=False) for page in together]
        for size, n_stores in DRAWN.items():
            drawn = [pages[start * size : (start + 1) * size] for start in range(n_stores)]
            outcomes = [_outcome(part, languages, embedder) for part in drawn if part]
            at = f"{name}, {len(drawn[0]):,} records"
            own = fmean(outcome.own_hidden for outcome in outcomes)
            shown = fmean(outcome.foreign_shown for outcome in outcomes)
            area = fmean(_area(outcome.own, outcome.foreign) for outcome in outcomes)
            yield Figure(what=f"{at}: own given nothing", ours=100 * own, baseline=None, unit="%", aim="at most 5")
            yield Figure(what=f"{at}: foreign given a hit", ours=100 * shown, baseline=None, unit="%", aim="at most 10")
            yield Figure(what=f"{at}: area", ours=area, baseline=None, unit="", aim="")


def _outcome(pages: Sequence[Page], languages: Sequence[str], embedder: CachedEmbedder) -> Outcome:
    with (
        tempfile.TemporaryDirectory() as place,
        atlas.open_memory(place, embedder=embedder, settings=atlas.Settings()) as memory,
    ):
        experience = memory.experience
        experience.store_many(
            [
                atlas.Trajectory(atlas.Task(page.summary, "", page.description), (), atlas.Outcome(None))
                for page in pages
            ]
        )
        experience.calibrate()
        asked = [page.summary for page in pages[:MAX_OWN]]
        foreign = load_calibration_queries(languages)
        measured = experience._retriever._calibration.measurement()
        shown = _is_told(memory, asked)
        own = _best(memory, asked)
        best = {language: _best(memory, queries) for language, queries in foreign.items()}
        if measured.answers:
            levels = {language: _levels_without(measured, experience.weights, language) for language in foreign}
            told = [best[language] >= levels[language] for language in foreign]
        else:
            told = [_is_told(memory, queries) for queries in foreign.values()]
    return Outcome(
        own_hidden=1 - float(shown.mean()),
        foreign_shown=float(np.concatenate(told).mean()),
        own=own,
        foreign=np.concatenate([*best.values()]),
    )


def _is_told(memory: atlas.MemorySystem, queries: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return of each query whether it is given a hit."""
    found = [memory.experience.retrieve(query, 1, count_retrieval=False).hits for query in queries]
    return np.array(list(map(bool, found)))


def _best(memory: atlas.MemorySystem, queries: Sequence[str]) -> Values:
    """Return the relevance of the best answer to each query."""
    found = [memory.experience.retrieve(query, 10, threshold=0.0, count_retrieval=False).hits for query in queries]
    return np.array([max((hit.relevance for hit in hits), default=0.0) for hits in found])


def _levels_without(measured: LevelMeasurement, weights: atlas.RankingWeights, language: str) -> list[float]:
    """Return the level for each foreign query in a language, by queries in it that are in other folds."""
    of_language = [
        answers for answers, name in zip(measured.answers, measured.languages, strict=True) if name == language
    ]
    by_fold = []
    for fold in range(FOLDS):
        others = tuple(answers for place, answers in enumerate(of_language) if place % FOLDS != fold)
        without = replace(measured, answers=others, languages=(language,) * len(others))
        by_fold.append(without.level(weights, language))
    return [by_fold[place % FOLDS] for place in range(len(of_language))]


def _area(own: Values, foreign: Values) -> float:
    return float(np.mean(own[:, None] > foreign) + np.mean(own[:, None] == foreign) / 2)


def pages_in(language: str) -> list[Page]:
    """Return the pages that have a summary and a description, shuffled, no two with the same of either."""
    pages: dict[str, Page] = {}
    descriptions: set[str] = set()
    for file in sorted((MANUALS / FOLDERS[language]).glob("man*/*.gz")):
        page = _page(gzip.decompress(file.read_bytes()).decode("utf-8", "replace"))
        if page and page.description not in descriptions:
            descriptions.add(page.description)
            pages.setdefault(page.summary, page)
    shuffled = list(pages.values())
    random.Random(1).shuffle(shuffled)
    return shuffled


def _page(source: str) -> Page | None:
    parts = _HEADING.split(source)[1:]
    sections = [_plain(text) for text in parts[1::2]]
    _, _, summary = sections[0].partition(" - ") if sections else ("", "", "")
    description = max(sections[1:4], key=len, default="")[:MAX_CHARACTERS]
    return Page(summary.strip(), description) if len(summary) > 5 and len(description) >= MIN_CHARACTERS else None


def _plain(source: str) -> str:
    text = _MACRO.sub(lambda macro: macro[2] or "", source)
    return " ".join(_ESCAPE.sub("", text.replace("\\-", "-").replace("\\e", "\\")).split())
