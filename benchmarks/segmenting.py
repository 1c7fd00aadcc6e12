"""How Chinese and Japanese are best cut for keyword search: in pairs of characters, as the store does, or otherwise.

Asked is what a reader types, a word, and what one passage answers: a heading for the text under it, a first sentence
for the rest of its paragraph; neither is indexed. Only runs of CJK count, as every way cuts the rest alike; all are
FTS5's BM25 over whatever piece of the query is found. The words are those that a segmenter sees in the headings; a
passage holds one where its characters stand in it.

It takes texts of one's own, for instance Debian's manuals. The segmenters (jieba; fugashi with unidic-lite) are left
out, and with them the words, unless they are installed; ATLAS does not need them. Times
are the processor's, so that what else the machine does matters less.
"""

from __future__ import annotations

import importlib
import os
import random
import re
import sqlite3
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from atlas.storage.text.analyzer import CJK_RUN, query_terms, searchable
from benchmarks.measuring import Figure

TEXTS = Path(os.environ.get("ATLAS_CJK_TEXTS") or "absent")
"""ATLAS_CJK_TEXTS: a directory with the directories `zh` and `ja`, of Markdown files: blocks between empty lines."""

MOST_PASSAGES, MOST_QUERIES, MOST_WORDS = 4_000, 200, 100
"""Passages, queries of a kind, and words of a length, which are drawn from all of the texts."""

FEWEST_ASKED, FEWEST_HELD = 4, 10
"""Characters of CJK in a heading or sentence that is asked, and in a text that it should find."""

LENGTHS = {1: "1 character", 2: "2 characters", 3: "3 characters", 4: "4 or more characters"}
TOKENIZER = "unicode61 remove_diacritics 2"

_SENTENCE = re.compile(r"[^。！？]+[。！？]?")  # noqa: RUF001  (full width, as in CJK)

Cut = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Way:
    """The indexed form of a text, and the FTS5 phrases that a query asks for."""

    written: Callable[[str], str]
    asked: Callable[[str], Sequence[str]]
    tokenizer: str = TOKENIZER


@dataclass(frozen=True, slots=True)
class Texts:
    """Runs of CJK, those of a text between spaces."""

    sections: Sequence[str]
    headings: Mapping[str, int]
    """Each heading that no two sections have, and the section under it."""

    passages: Sequence[str]
    sentences: Mapping[str, int]
    """Each first sentence, and the passage that the rest of its paragraph is."""


def figures() -> Iterator[Figure]:
    for language, segmenter in (("zh", _jieba), ("ja", _fugashi)):
        if not (TEXTS / language).is_dir():
            print(f"no texts in {language}: set ATLAS_CJK_TEXTS to a directory that has some", file=sys.stderr)
            continue
        try:
            cut = segmenter()
        except ImportError as error:
            print(f"no segmenter for {language}, and so no words: {error}", file=sys.stderr)
            cut = None
        texts = _read(TEXTS / language)
        words = _words(texts, cut) if cut else {}
        measured = {name: dict(_measured(way, texts, words)) for name, way in _ways(cut).items()}
        ours = measured.pop("pairs")
        for (what, unit, aim), value in ours.items():
            for name, theirs in measured.items():
                line = f"{language}, {what}; beside {name}"
                yield Figure(what=line, ours=value, baseline=theirs[what, unit, aim], unit=unit, aim=aim)


def _ways(cut: Cut | None) -> Mapping[str, Way]:
    ways = {
        "pairs": Way(searchable, lambda text: [f'"{term.text}"' + "*" * term.is_prefix for term in query_terms(text)]),
        "unicode61": Way(str, lambda text: _quoted(text.split())),
        "trigrams": Way(
            str, lambda text: _quoted(run[i : i + 3] for run in text.split() for i in range(len(run) - 2)), "trigram"
        ),
    }
    if cut is None:
        return ways
    return ways | {"a segmenter": Way(lambda text: " ".join(cut(text)), lambda text: _quoted(cut(text)))}


def _quoted(pieces: Iterable[str]) -> list[str]:
    return [f'"{piece}"' for piece in dict.fromkeys(pieces)]


def _jieba() -> Cut:
    jieba = importlib.import_module("jieba")
    jieba.setLogLevel("ERROR")
    return lambda text: [word for word in jieba.cut(text) if CJK_RUN.fullmatch(word)]


def _fugashi() -> Cut:
    tagger = importlib.import_module("fugashi").Tagger()
    return lambda text: [word.surface for word in tagger(text) if CJK_RUN.fullmatch(word.surface)]


def _read(directory: Path) -> Texts:
    blocks = [
        block.strip() for path in sorted(directory.glob("*.md")) for block in path.read_text("utf-8").split("\n\n")
    ]
    sections = []
    for block in blocks:
        if block.startswith("#"):
            sections.append((_runs(block), ""))
        elif sections:
            sections[-1] = (sections[-1][0], f"{sections[-1][1]} {_runs(block)}".strip())
    sections = [section for section in sections if len(section[1]) >= FEWEST_HELD]
    often = Counter(heading for heading, _ in sections)
    headings = {heading: place for place, (heading, _) in enumerate(sections) if often[heading] == 1}
    passages: list[str] = []
    sentences: dict[str, int] = {}
    for block in _drawn(sorted({block for block in blocks if not block.startswith("#")}), MOST_PASSAGES):
        first, *others = _SENTENCE.findall(block) or [""]
        if len(rest := _runs("".join(others))) >= FEWEST_HELD:
            sentences[_runs(first)] = len(passages)
        passages.append(rest if len(rest) >= FEWEST_HELD else _runs(block))
    return Texts([text for _, text in sections], headings, passages, sentences)


def _runs(text: str) -> str:
    return " ".join(CJK_RUN.findall(text))


def _asked(places: Mapping[str, int]) -> Mapping[str, int]:
    long_enough = sorted(query for query in places if len(query.replace(" ", "")) >= FEWEST_ASKED)
    return {query: places[query] for query in _drawn(long_enough, MOST_QUERIES)}


def _drawn(those: Sequence[str], most: int) -> list[str]:
    return random.Random(0).sample(those, min(most, len(those)))


def _words(texts: Texts, cut: Cut) -> Mapping[int, Mapping[str, set[int]]]:
    """Return, by length, words of headings and the passages that hold each: at least two, at most a tenth."""
    held: dict[int, dict[str, set[int]]] = {length: {} for length in LENGTHS}
    for word in sorted({word for heading in texts.headings for word in cut(heading)}):
        holding = {place for place, passage in enumerate(texts.passages) if word in passage}
        if 2 <= len(holding) <= len(texts.passages) // 10:
            held[min(len(word), max(LENGTHS))][word] = holding
    return {length: {word: those[word] for word in _drawn(sorted(those), MOST_WORDS)} for length, those in held.items()}


def _measured(
    way: Way, texts: Texts, words: Mapping[int, Mapping[str, set[int]]]
) -> Iterator[tuple[tuple[str, str, str], float]]:
    """Yield each figure, by its name, its unit and its aim."""
    with closing(_index(way, texts.passages)) as index:
        for length, held in words.items():
            found = {word: _find(index, way, word, -1) for word in held}
            shares = [len(held[word].intersection(found[word])) / len(held[word]) for word in held]
            first = [len(held[word].intersection(found[word][: len(held[word])])) / len(held[word]) for word in held]
            named = f"{len(held)} words of {LENGTHS[length]}"
            yield (f"{named}: of the passages that hold it, found", "%", "100"), 100 * statistics.mean(shares)
            yield (f"{named}: found before any other", "%", "100"), 100 * statistics.mean(first)
        yield from _known_item(index, way, _asked(texts.sentences), "sentences: the rest of the paragraph")
        size = index.execute("SELECT sum(length(block)) FROM texts_data").fetchone()[0]
        yield ("size of the index", "MB", ""), size / 1e6
    with closing(_index(way, texts.sections)) as index:
        yield from _known_item(index, way, _asked(texts.headings), "headings: the text under it")


def _known_item(
    index: sqlite3.Connection, way: Way, wanted: Mapping[str, int], what: str
) -> Iterator[tuple[tuple[str, str, str], float]]:
    places, times = [], []
    for query, place in wanted.items():
        start = time.process_time()
        found = _find(index, way, query, 10)
        times.append(time.process_time() - start)
        places.append(found.index(place) if place in found else 10)
    for k in (1, 10):
        named = f"{len(wanted)} {what}, hit@{k}"
        yield (named, "%", "more"), 100 * statistics.mean(at < k for at in places)
    yield (f"{what}, processor time (p50)", "ms", ""), 1_000 * statistics.median(times)


def _index(way: Way, texts: Sequence[str]) -> sqlite3.Connection:
    """Return an index of the texts under their places, without a copy of them, as in the store."""
    index = sqlite3.connect(":memory:")
    index.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, content = '', tokenize = '{way.tokenizer}')")
    index.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(map(way.written, texts)))
    index.execute("INSERT INTO texts (texts) VALUES ('optimize')")
    return index


def _find(index: sqlite3.Connection, way: Way, query: str, n: int) -> list[int]:
    if not (asked := " OR ".join(way.asked(query))):
        return []
    found = index.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank, rowid LIMIT ?", (asked, n))
    return [place for (place,) in found]
