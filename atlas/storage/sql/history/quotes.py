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
from atlas.storage.history import QuotingRecord
from atlas.storage.sql.connection import Connection
from atlas.storage.sql.meta import PURGED_IMAGE

MIN_PASSAGE = 20
"""Minimum length of a line or sentence to search for."""

MAX_SUBSTRINGS = 100
"""Maximum number of words to search for as substrings, which needs a full scan each."""

Key = tuple[str, str]
"""A collection, and the id of a record in it."""

_BREAK = re.compile(r"[.!?;:]\s+|[\n\r]+")
_DISTINCTIVE = re.compile(r"[\d@]")
_WORD = re.compile(r"[\w@+./=-]{8,}")
_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")

CURRENT, DELETED, EARLIER, MARKED = "", "in the trash", "in an earlier version", "in its marks"


@dataclass(frozen=True, slots=True)
class QuotableTexts:
    """Texts of purged records to look for in other records."""

    passages: frozenset[str]
    """Lines and sentences."""

    words: frozenset[str]
    """Words that look like a key, a URL or an identifier."""

    substrings: tuple[str, ...]
    """The longest words, which are also searched as substrings."""

    names: tuple[str, ...]
    """Names of records: ids as quoted in JSON, or as in `experience:ID`."""

    def find_in(self, texts: Iterable[str]) -> set[str]:
        """Return the passages and words that occur in these texts."""
        all_texts = list(texts)
        joined = "\n".join(all_texts)
        matches = {word for word in self.substrings if word in joined}
        matches |= self.words.intersection(iterate_words(joined))
        return matches | self.passages.intersection(chain.from_iterable(map(iterate_passages, all_texts)))


def collect_quotable(images: Sequence[dict[str, Any]], ids: Iterable[str]) -> QuotableTexts:
    """Return the passages to search for, from all versions of records and marks."""
    texts = list(dict.fromkeys(chain.from_iterable(map(iterate_texts, images))))
    trajectories = {parse_row(image["metadata"]).get("trajectory_id", "") for image in images if "metadata" in image}
    ids_to_find = sorted({*ids, *map(str, trajectories)} - {""})
    words = frozenset(chain.from_iterable(map(iterate_words, texts)))
    return QuotableTexts(
        passages=frozenset(chain.from_iterable(map(iterate_passages, texts))),
        words=words,
        substrings=tuple(sorted(words, key=len, reverse=True)[:MAX_SUBSTRINGS]),
        names=tuple(form for name in ids_to_find for form in (f'"{name}"', f':{name}"')),
    )


def find_quotes(
    connection: Connection,
    quotable: QuotableTexts,
    excluded: set[Key],
    marks: Iterable[tuple[str, str, dict[str, Any]]],
) -> list[QuotingRecord]:
    """Return the records that quote or name a purged record, each once, those with the rarest passages first.

    Args:
        excluded: The purged records themselves.
        marks: Collection, id and marks of each marked record.
    """
    quotes: dict[Key, QuotingRecord] = {}
    quoted_texts: dict[Key, set[str]] = {}
    mark_images = ((collection, record_id, MARKED, image) for collection, record_id, image in marks)
    for collection, record_id, where, image in chain(
        _read_records(connection), mark_images, _read_before_images(connection)
    ):
        key = (collection, record_id)
        if key in excluded or key in quotes:
            continue
        texts = quotable.find_in(iterate_texts(image))
        if texts or any(name in str(text) for text in image.values() for name in quotable.names):
            quoted_texts[key] = texts
            quotes[key] = QuotingRecord(
                collection=collection, record_id=record_id, title=_title(image), where=where, n_shared=len(texts)
            )
    frequencies = Counter(chain.from_iterable(quoted_texts.values()))
    weights = {key: sum(1 / frequencies[text] for text in texts) for key, texts in quoted_texts.items()}
    return [quotes[key] for key in sorted(quotes, key=lambda key: (-weights[key], key))]


def iterate_texts(image: dict[str, Any]) -> Iterator[str]:
    """Yield the texts of a record or of its marks."""
    for value in image.values():
        yield from _iterate_leaves(value)


def iterate_passages(text: str) -> Iterator[str]:
    """Yield the lines and sentences of a text that are long enough to identify the text."""
    for part in _BREAK.split(text):
        if len(part) >= MIN_PASSAGE and len(passage := " ".join(part.split()).rstrip(".!?;:")) >= MIN_PASSAGE:
            yield passage


def iterate_words(text: str) -> Iterator[str]:
    """Yield the words of a text that look like a key, a URL or an identifier."""
    for part in filter(_DISTINCTIVE.search, text.split()):
        for match in _WORD.findall(part):
            word = match.strip(".-=/")
            if len(word) >= 8 and not word.isdigit() and _DISTINCTIVE.search(word):
                yield word


def _iterate_leaves(value: Any) -> Iterator[str]:
    """Yield the texts in a value, also inside JSON strings, without ids, hashes and times."""
    if isinstance(value, str):
        if value[:1] in "{[":
            with suppress(ValueError, RecursionError):
                yield from _iterate_leaves(json.loads(value))
                return
        if not _ID.fullmatch(value) and not _is_time(value):
            yield value
    elif isinstance(value, dict):
        yield from (name for name in value if any(map(str.isdigit, name)))  # other names are names of fields
        yield from chain.from_iterable(map(_iterate_leaves, value.values()))
    elif isinstance(value, list):
        yield from chain.from_iterable(map(_iterate_leaves, value))


def _is_time(text: str) -> bool:
    """Return whether a text is a time in ISO 8601."""
    if len(text) > 40 or not text[:4].isdigit():
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _read_records(connection: Connection) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield the current state of every record."""
    names = ("metadata", "document", "search_text", "content")
    for collection, record_id, *row in connection.execute(
        f"SELECT collection, id, {', '.join(names)} FROM records WHERE deleted = 0"
    ):
        yield collection, record_id, CURRENT, dict(zip(names, row, strict=True))


def _read_before_images(connection: Connection) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield the before-images of all records and their marks, latest first."""
    for collection, record_id, aspect, is_live, image_text in connection.execute(
        "SELECT c.collection, c.record_id, c.aspect, r.deleted = 0, c.before FROM changes c JOIN records r "
        "ON r.collection = c.collection AND r.id = c.record_id WHERE c.before <> ? ORDER BY c.seq DESC",
        (PURGED_IMAGE,),
    ):
        where = (EARLIER if is_live else DELETED) if aspect == "record" else MARKED
        yield collection, record_id, where, parse_row(image_text)


def _title(image: dict[str, Any]) -> str:
    return str(parse_row(image["metadata"]).get("title", "")) if "metadata" in image else ""
