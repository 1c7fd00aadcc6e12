"""Quotes: other records that share a line, sentence or distinctive word with a record, or name it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from atlas.storage.damage import parse_row
from atlas.storage.history import Quote
from atlas.storage.sql.connection import Connection
from atlas.storage.sql.meta import GONE

SHORTEST = 20
"""Least length of a line or sentence to search for."""

MAX_WITHIN = 100
"""Maximum number of words to search for as substrings, which needs a full scan each."""

Key = tuple[str, str]
"""A collection, and the id of a record in it."""

_BREAK = re.compile(r"[.!?;:]\s+|[\n\r]+")
_TELLING = re.compile(r"[\d@]")
_WORD = re.compile(r"[\w@+./=-]{8,}")
_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")

NOW, DELETED, EARLIER, MARKED = "", "in the trash", "in an earlier version", "in its marks"


@dataclass(frozen=True, slots=True)
class QuotableTexts:
    """The texts to search for."""

    passages: frozenset[str]
    """Lines and sentences."""

    words: frozenset[str]
    """Words that look like a key, a URL or an identifier."""

    longest: tuple[str, ...]
    """The longest of the words, which are also matched as substrings."""

    names: tuple[str, ...]
    """Ids, quoted as in JSON, or as in `experience:ID`."""

    def shared(self, texts: Iterable[str]) -> set[str]:
        """Return which of the passages and words are in some texts."""
        every = list(texts)
        whole = "\n".join(every)
        found = {word for word in self.longest if word in whole}
        found |= self.words.intersection(words_of(whole))
        return found | self.passages.intersection(chain.from_iterable(map(passages_of, every)))


def collect_quotable(images: Sequence[dict[str, Any]], ids: Iterable[str]) -> QuotableTexts:
    """Return the passages to search for, from all versions of records and marks."""
    texts = list(dict.fromkeys(chain.from_iterable(map(texts_of, images))))
    trajectories = {parse_row(image["metadata"]).get("trajectory_id", "") for image in images if "metadata" in image}
    named = sorted({*ids, *map(str, trajectories)} - {""})
    words = frozenset(chain.from_iterable(map(words_of, texts)))
    return QuotableTexts(
        passages=frozenset(chain.from_iterable(map(passages_of, texts))),
        words=words,
        longest=tuple(sorted(words, key=len, reverse=True)[:MAX_WITHIN]),
        names=tuple(form for name in named for form in (f'"{name}"', f':{name}"')),
    )


def find_quotes(
    connection: Connection, what: QuotableTexts, without: set[Key], marks: Iterable[tuple[str, str, dict[str, Any]]]
) -> list[Quote]:
    """Return the records with shared passages, each once, rare passages first.

    Args:
        marks: People's marks on records, by collection and id.
    """
    found: dict[Key, Quote] = {}
    shared: dict[Key, set[str]] = {}
    marked = ((collection, record_id, MARKED, image) for collection, record_id, image in marks)
    for collection, record_id, where, image in chain(_records(connection), marked, _images(connection)):
        key = (collection, record_id)
        if key in without or key in found:
            continue
        pieces = what.shared(texts_of(image))
        if pieces or any(name in str(text) for text in image.values() for name in what.names):
            shared[key], title = pieces, _title(image)
            found[key] = Quote(
                collection=collection, record_id=record_id, title=title, where=where, n_shared=len(pieces)
            )
    n_holding = Counter(chain.from_iterable(shared.values()))
    telling = {key: sum(1 / n_holding[piece] for piece in pieces) for key, pieces in shared.items()}
    return [found[key] for key in sorted(found, key=lambda key: (-telling[key], key))]


def texts_of(image: dict[str, Any]) -> Iterator[str]:
    """Return the texts of a record or of its marks."""
    for value in image.values():
        yield from _leaves(value)


def passages_of(text: str) -> Iterator[str]:
    """Return the lines and sentences of a text that are long enough to identify it."""
    for part in _BREAK.split(text):
        if len(part) >= SHORTEST and len(passage := " ".join(part.split()).rstrip(".!?;:")) >= SHORTEST:
            yield passage


def words_of(text: str) -> Iterator[str]:
    """Return the words of a text that look like a key, a URL or an identifier."""
    for part in filter(_TELLING.search, text.split()):
        for found in _WORD.findall(part):
            word = found.strip(".-=/")
            if len(word) >= 8 and not word.isdigit() and _TELLING.search(word):
                yield word


def _leaves(value: Any) -> Iterator[str]:
    """Return the texts in a value, also inside JSON strings, without ids, hashes and times."""
    if isinstance(value, str):
        if value[:1] in "{[":
            with suppress(ValueError, RecursionError):
                yield from _leaves(json.loads(value))
                return
        if not _ID.fullmatch(value) and not _is_time(value):
            yield value
    elif isinstance(value, dict):
        yield from (name for name in value if any(map(str.isdigit, name)))  # others are the names of fields
        yield from chain.from_iterable(map(_leaves, value.values()))
    elif isinstance(value, list):
        yield from chain.from_iterable(map(_leaves, value))


def _is_time(text: str) -> bool:
    if len(text) > 40 or not text[:4].isdigit():
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _records(connection: Connection) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Return the current state of every record."""
    names = ("metadata", "document", "search_text", "content")
    for collection, record_id, *row in connection.execute(
        f"SELECT collection, id, {', '.join(names)} FROM records WHERE deleted = 0"
    ):
        yield collection, record_id, NOW, dict(zip(names, row, strict=True))


def _images(connection: Connection) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Return every record, and its marks, as it was before each change, the latest first."""
    for collection, record_id, aspect, is_live, before in connection.execute(
        "SELECT c.collection, c.record_id, c.aspect, r.deleted = 0, c.before FROM changes c JOIN records r "
        "ON r.collection = c.collection AND r.id = c.record_id WHERE c.before <> ? ORDER BY c.seq DESC",
        (GONE,),
    ):
        where = MARKED if aspect != "record" else EARLIER if is_live else DELETED
        yield collection, record_id, where, parse_row(before)


def _title(image: dict[str, Any]) -> str:
    return str(parse_row(image["metadata"]).get("title", "")) if "metadata" in image else ""
