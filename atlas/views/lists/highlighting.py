"""Highlighting of query words in a text, and the passage with most of them.

Words match as the store's keyword search matches them: by their stems, by the parts of identifiers in either spelling,
and in CJK, which has no spaces, by neighbouring characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice, pairwise

from atlas.core.words import first_sentences
from atlas.embedding.chunking import Span
from atlas.storage.text.analyzer import CJK_RUN, query_terms

PASSAGE_CHARACTERS = 320
LEAD_CHARACTERS = 80
"""Maximum characters before the first match, to begin the passage with a sentence."""

LOOKED_AT = 20_000
"""Maximum characters of a text to search, to bound the cost of a card."""

MAX_TRIED = 500
"""Largest number of candidate matches that are read in a text."""

LONG_WORD = 5
"""Least length of a word whose inflected forms may end differently: `study`, `studies`."""

TELL_NOTHING = frozenset(
    """
    a an and are as at be been but by can did do does for from had has have how i if in into is it its me my no not of
    on or our so such than that the their then there these they this to up was we were what when where which who why
    will with would you your d ll m re s t ve
    """.split()  # noqa: SIM905  (a list of it would fill the page)
)
"""Common words and endings such as `'s`, which are highlighted only if the query has no other words."""

_RUN = r"(?:[^\W_][\u0300-\u036f]*)+"
_WORD = re.compile(_RUN)
_TOKEN = re.compile(rf"{_RUN}(?:[_\-\u2010]+{_RUN})*")
_CHARACTER = re.compile(r".[\u0300-\u036f\u3099\u309a\uff9e\uff9f]*", re.S)
_ACCENTS = re.compile("[\u0300-\u036f]")
_MARKS = re.compile("[\u0300-\u036f\u3099\u309a]")
_SENTENCE_END = re.compile(r"[.!?:;](?=\s)|[。！？；]|\n")  # noqa: RUF001  (full width, as in CJK)


@dataclass(frozen=True, slots=True)
class Source:
    """A source text for the passage."""

    name: str
    """Our own word for the text: `Task`."""

    text: str
    is_part: bool = False
    """True if it is an excerpt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """An excerpt of an untrusted text with matches."""

    name: str
    """The name of its source."""

    text: str
    spans: tuple[Span, ...]
    """Disjoint spans of matches, in order."""

    is_cut_before: bool
    is_cut_after: bool

    @property
    def pieces(self) -> tuple[tuple[str, bool], ...]:
        """The text in pieces, each with whether it is a match."""
        bounds = [0, *(position for span in self.spans for position in span), len(self.text)]
        pieces = [(self.text[start:end], number % 2 == 1) for number, (start, end) in enumerate(pairwise(bounds))]
        return tuple(piece for piece in pieces if piece[0])


def matched_spans(text: str, query: str) -> tuple[Span, ...]:
    """Return the disjoint spans of query words at the beginning of a text, in order."""
    query_words = _query_words(query)
    if not query_words:
        return ()
    return tuple(
        _merge_spans(span for token in _TOKEN.finditer(text[:LOOKED_AT]) for span in _in_token(token, query_words))
    )


def beginning_of(source: Source, query: str) -> Passage:
    """Return the first sentences of a text on one line, with the words of a question."""
    text = first_sentences(" ".join(source.text.split()), PASSAGE_CHARACTERS)
    return Passage(
        name=source.name, text=text, spans=matched_spans(text, query), is_cut_before=False, is_cut_after=False
    )


def passage_of(sources: Sequence[Source], query: str) -> Passage:
    """Return the passage with the most words of a question, or else the beginning of the first text.

    Args:
        sources: At least one. The first one wins a tie.
    """
    passages = [_best_passage(source, query) for source in sources]
    return max(passages, key=_n_words)


def _best_passage(source: Source, query: str) -> Passage:
    first = _first_looked_at(source.text, query)
    part = source.text[first : first + 2 * LOOKED_AT]
    text = "\n".join(filter(None, (" ".join(line.split()) for line in part.split("\n"))))
    spans = matched_spans(text, query)
    start, end = _cut(text, _densest(text, spans))
    return Passage(
        name=source.name,
        text=text[start:end],
        spans=tuple((a - start, min(b, end) - start) for a, b in spans if start <= a < end),
        is_cut_before=first + start > 0 or source.is_part,
        is_cut_after=end < len(text) or source.is_part or len(source.text) > first + 2 * LOOKED_AT,
    )


def _first_looked_at(text: str, query: str) -> int:
    """Return the offset at which to start the search: 0, unless the first term occurs only later."""
    query_words = _query_words(query)
    if len(text) <= LOOKED_AT or not query_words or matched_spans(text, query):
        return 0
    for near in islice(_possible_matches(query_words).finditer(text, LOOKED_AT), MAX_TRIED):
        if matched_spans(text[near.start() - LEAD_CHARACTERS : near.end() + LEAD_CHARACTERS], query):
            return near.start() - PASSAGE_CHARACTERS
    return 0


def _possible_matches(query_words: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern that matches where a form of a query word may start, ignoring its last letter."""
    stems = {word[:-1] if len(word) >= LONG_WORD and word.isascii() else word for word in query_words}
    return re.compile("|".join(map(re.escape, sorted(stems))), re.IGNORECASE)


def _n_words(passage: Passage) -> int:
    return len({passage.text[start:end].lower() for start, end in passage.spans})


def _densest(text: str, spans: Sequence[Span]) -> int:
    """Return the start of the window that covers the most distinct query words, or 0 if there are no spans."""
    words = [text[start:end].lower() for start, end in spans]
    reach = PASSAGE_CHARACTERS - LEAD_CHARACTERS
    best, most, last = 0, 0, 0
    for first, (start, _) in enumerate(spans):
        while last < len(spans) and spans[last][1] <= start + reach:
            last += 1
        n_words = len({*words[first:last]})
        if n_words > most:
            best, most = start, n_words
    return best


def _cut(text: str, position: int) -> Span:
    """Return the passage around a position, cut at sentences or at words."""
    if len(text) <= PASSAGE_CHARACTERS:
        return 0, len(text)
    start = 0 if position <= LEAD_CHARACTERS else _begin(text, position - LEAD_CHARACTERS, position)
    end = min(len(text), start + PASSAGE_CHARACTERS)
    return start, end if end == len(text) else _end(text, max(position, end - LEAD_CHARACTERS), end)


def _begin(text: str, earliest: int, latest: int) -> int:
    """Return the first start of a sentence, else of a word, else the earliest position."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text, earliest, latest)]
    position = ends[0] if ends else text.find(" ", earliest, latest)
    while 0 <= position < latest and text[position].isspace():
        position += 1
    return earliest if position < 0 else position


def _end(text: str, earliest: int, latest: int) -> int:
    """Return the last end of a sentence, else of a word, else the latest position."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text, earliest, latest)]
    position = ends[-1] if ends else text.rfind(" ", earliest, latest)
    return latest if position <= earliest else position


def _query_words(query: str) -> frozenset[str]:
    """Return the terms of a question, without stop words unless there are no others."""
    terms = frozenset(_fold(term.text) for term in query_terms(query) if " " not in term.text)
    return terms - _uninformative() or terms


@lru_cache(maxsize=1)
def _uninformative() -> frozenset[str]:
    """Return the stems of the common words, as a query contains stems: `ha` of `has`."""
    return TELL_NOTHING.union(*map(_terms, TELL_NOTHING))


def _in_token(token: re.Match[str], query_words: frozenset[str]) -> Iterator[Span]:
    """Return the terms of one word or identifier."""
    start, text = token.start(), token[0]
    words = [word.span() for word in _WORD.finditer(text)]
    if not text.isascii() and any(map(_is_cjk, text)):
        for first, last in words:
            yield from _spans_in_mixed_scripts(text[first:last], start + first, query_words)
    elif len(words) > 1 and _terms(text).difference(*(_terms(text[a:b]) for a, b in words)) & query_words:
        yield token.span()
    else:
        yield from ((start + a, start + b) for a, b in words if _terms(text[a:b]) & query_words)


def _spans_in_mixed_scripts(text: str, start: int, query_words: frozenset[str]) -> Iterator[Span]:
    """Yield the spans of query words in a run that may mix CJK and other characters without spaces."""
    if all(term.isascii() for term in query_words) and not any(letter.isascii() for letter in text):
        return
    in_run = _in_characters if _MARKS.search(text) or not unicodedata.is_normalized("NFKC", text) else _in_letters
    yield from ((start + a, start + b) for a, b in in_run(text, query_words))


def _in_letters(text: str, query_words: frozenset[str]) -> Iterator[Span]:
    """Return the result of `_in_characters`, faster, for a text that normalisation does not change.

    A long text has as many pairs as characters, hardly any of them twice, and `_terms` takes 20 µs for each.
    """
    yield from (match.span(1) for match in _in_cjk(query_words).finditer(text))
    if CJK_RUN.fullmatch(text):
        return
    ends = [position for run in CJK_RUN.finditer(text) for position in run.span()]
    for a, b in zip([0, *ends[1::2]], [*ends[::2], len(text)], strict=True):
        if a < b and _terms(text[a:b]) & query_words:
            yield a, b


def _in_characters(text: str, query_words: frozenset[str]) -> Iterator[Span]:
    characters = [match.span() for match in _CHARACTER.finditer(text)]
    for is_cjk, group in groupby(characters, key=lambda span: _is_cjk(text[span[0]])):
        run = list(group)
        pairs = [(a, b) for (a, _), (_, b) in pairwise(run)]
        candidates = [*run, *pairs] if is_cjk else [(run[0][0], run[-1][1])]
        yield from ((a, b) for a, b in candidates if _terms(text[a:b]) & query_words)


@lru_cache(maxsize=2**6)
def _in_cjk(query_words: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern for CJK terms, pairs before single characters, that also finds terms which overlap."""
    terms = sorted((term for term in query_words if CJK_RUN.fullmatch(term) and len(term) <= 2), key=len, reverse=True)
    return re.compile(f"(?=({'|'.join(terms)}))" if terms else "(?!)()")


@lru_cache(maxsize=2**14)
def _terms(text: str) -> frozenset[str]:
    """Return the index terms of a word."""
    return frozenset(_fold(term.text) for term in query_terms(text) if " " not in term.text)


@lru_cache(maxsize=2**16)
def _is_cjk(character: str) -> bool:
    """Return whether the store indexes each character of such a script as a term of its own, as for Chinese."""
    return not character.isascii() and any(term.is_prefix for term in query_terms(character))


def _fold(text: str) -> str:
    """Return a term without case and accents, as the store's tokenizer takes it."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text.lower())))


def _merge_spans(spans: Iterable[Span]) -> Iterator[Span]:
    """Return the sorted spans, with adjacent and overlapping spans joined."""
    current: Span | None = None
    for start, end in sorted(spans):
        if current and start <= current[1]:
            current = current[0], max(end, current[1])
            continue
        if current:
            yield current
        current = start, end
    if current:
        yield current
