"""Content checks of an answer: no echo, loop or copy, and only names that occur in the data."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from atlas.core.errors import InvalidInput

ECHO_WORDS = 8
"""Number of consecutive words from a prompt or an error that make an answer an echo."""

COPY_WORDS = 24
"""Number of consecutive words from one source that make a copy rather than a quotation."""

LOOP_CHARACTERS = 45
"""Minimum total length in characters of a repeated phrase that counts as a loop."""

MIN_DISTINCT_SHARE, MIN_PHRASES = 0.5, 30
"""Smallest share of distinct four-word phrases in a text that is not repetitive, if it has so many phrases."""

MAX_EQUAL_WORDS = 3
"""Largest number of words of a text that two fields may share."""

_WORD = re.compile(r"\w+")
_LONG_WORD = re.compile(r"[a-zà-ÿ]{4,}")
_STEM_CHARACTERS = 5
_COMMON_WORDS = frozenset(
    [
        *("about", "after", "also", "been", "before", "could", "each", "from", "have", "into", "more", "most", "only"),
        *("other", "over", "should", "some", "such", "than", "that", "their", "them", "then", "there", "these", "they"),
        *("this", "those", "very", "were", "what", "when", "where", "which", "while", "will", "with", "would", "your"),
    ]
)
"""Common words, which any two texts may share."""

_LOOP = re.compile(r"(.{2,80}?)\1{2,}", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,:/-]*\d(?!\w)")
_IDENTIFIER = re.compile(r"\b(?=\w*[^\W\d_])(?:\w*[^\W_]_\w+|\w*[a-z][A-Z]\w*|(?=\w*\d)\w{5,})\b")
"""Words with an underscore, an inner capital letter, or both letters and digits."""

_QUOTATION = re.compile(r'"([^"\n]+)"')
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class ComparisonTexts:
    """The texts with which an answer is compared to find echoes and copies."""

    instructions: str
    """The rules for the model."""

    question: str = ""
    """The words of the prompt that are not data."""

    sources: Sequence[str]
    """The texts in the prompt's data."""

    fault: str = ""
    """Reason why an earlier answer was rejected."""

    earlier: str = ""
    """The earlier answer, which the fault may quote. Quotations may be repeated."""

    may_copy: bool = False
    """True if an answer may copy long parts of its sources."""

    @cached_property
    def echoes(self) -> set[tuple[str, ...]]:
        """Word n-grams of the prompt that do not occur in the data. An answer that contains one of them is an echo."""
        fault_runs = _word_runs(self.fault, ECHO_WORDS) - _word_runs(self.earlier, ECHO_WORDS)
        prompt_runs = _word_runs(self.instructions, ECHO_WORDS) | _word_runs(self.question, ECHO_WORDS) | fault_runs
        return prompt_runs.difference(*(_word_runs(text, ECHO_WORDS) for text in self.sources))

    @cached_property
    def examples(self) -> set[tuple[str, ...]]:
        """The words of each quoted text in the instructions' example answer, unless the text occurs in the data."""
        data = "\n".join(f" {' '.join(_words(source))} " for source in self.sources)
        texts = {tuple(_words(text)) for text in _QUOTATION.findall(self.instructions)}
        return {words for words in texts if words and f" {' '.join(words)} " not in data}

    @cached_property
    def copies(self) -> set[tuple[str, ...]]:
        """Word n-grams of the data. An answer that contains one of them is a copy. Empty if answers may copy."""
        sources = () if self.may_copy else self.sources
        return set[tuple[str, ...]]().union(*(_word_runs(source, COPY_WORDS) for source in sources))


def check_substance(
    answer: Any, schema: Mapping[str, Any], prose: Collection[str], comparison: ComparisonTexts
) -> None:
    """Raise `InvalidInput` if an answer's prose is missing, repeats the prompt or itself, or copies the data.

    Args:
        answer: An object that conforms to the schema.
        schema: Schema whose required fields may not be empty.
        prose: Names of the prose fields, at any depth.
        comparison: The texts to compare with.
    """
    for fields in _prose_fields(answer, schema, prose):
        empty = [field.name for field in fields if field.is_required and not all(map(_has_words, field.texts))]
        if empty:
            raise InvalidInput(f"expected words for {' and '.join(empty)}, got none")
        texts = list(chain.from_iterable(field.texts for field in fields))
        if any(len(_words(text)) > MAX_EQUAL_WORDS and texts.count(text) > 1 for text in texts):
            raise InvalidInput("expected a different text for each field, got the same text twice; rewrite one")
        for field in fields:
            for text in field.texts:
                _check_text(field.name, text, comparison)


def check_grounded(answer: Any, schema: Mapping[str, Any], prose: Collection[str], comparison: ComparisonTexts) -> None:
    """Raise `InvalidInput` if prose has names that are not in the data, or shares no word with the data.

    Names in braces are parameters, and may be new.
    """
    all_fields = chain.from_iterable(_prose_fields(answer, schema, prose))
    prose_text = "\n".join(chain.from_iterable(field.texts for field in all_fields))
    data = _normalise("\n".join([comparison.question, *comparison.sources, *_PLACEHOLDER.findall(prose_text)]))
    names = dict.fromkeys([*_NUMBER.findall(prose_text), *_IDENTIFIER.findall(prose_text)])
    unknown = [name for name in names if _normalise(name) not in data]
    if unknown:
        raise InvalidInput(
            f"the answer mentions names that are not in the data: {', '.join(unknown[:5])}; use only names from the "
            "data"
        )
    words, source_words = significant_words(prose_text), significant_words("\n".join(comparison.sources))
    if words and source_words and words.isdisjoint(source_words):
        raise InvalidInput("the answer shares no words with the data; write about the data")


def is_loop(text: str) -> bool:
    """Return whether a text repeats a phrase over and over."""
    if any(
        len(match[0]) >= LOOP_CHARACTERS and any(character.isalnum() for character in match[1])
        for match in _LOOP.finditer(text)
    ):
        return True
    n_phrases = len(_words(text)) - 3
    return n_phrases >= MIN_PHRASES and len(_word_runs(text, 4)) < MIN_DISTINCT_SHARE * n_phrases


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    texts: tuple[str, ...]
    is_required: bool


def _prose_fields(answer: Any, schema: Mapping[str, Any], prose: Collection[str]) -> Iterator[list[_Field]]:
    """Yield the prose fields of each object in an answer, outer objects first."""
    if isinstance(answer, Mapping):
        required = schema.get("required", ())
        yield [
            _Field(name, tuple(value) if isinstance(value, list) else (value,), name in required)
            for name, value in answer.items()
            if name in prose and _is_prose(value)
        ]
        for name, value in answer.items():
            yield from _prose_fields(value, schema.get("properties", {}).get(name, {}), prose)
    elif isinstance(answer, list):
        for value in answer:
            yield from _prose_fields(value, schema.get("items", {}), prose)


def _is_prose(value: Any) -> bool:
    texts = value if isinstance(value, list) else [value]
    return all(isinstance(text, str) for text in texts)


def _check_text(name: str, text: str, comparison: ComparisonTexts) -> None:
    if is_loop(text):
        raise InvalidInput(f"{name} repeats itself; shorten it")
    if tuple(_words(text)) in comparison.examples or not comparison.echoes.isdisjoint(_word_runs(text, ECHO_WORDS)):
        raise InvalidInput(f"{name} repeats the question; answer it")
    if not comparison.copies.isdisjoint(_word_runs(text, COPY_WORDS)):
        raise InvalidInput(f"{name} copies a long part of the data; paraphrase and shorten it")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _word_runs(text: str, n: int) -> set[tuple[str, ...]]:
    """Return all word n-grams of a text."""
    words = _words(text)
    return {tuple(words[start : start + n]) for start in range(len(words) - n + 1)}


def _normalise(text: str) -> str:
    """Return a string in lower case and without thousands separators, so that names and numbers can be looked up."""
    return text.casefold().replace(",", "")


def significant_words(text: str) -> set[str]:
    """Return the stems of the content words of a text."""
    return {word[:_STEM_CHARACTERS] for word in _LONG_WORD.findall(text.casefold()) if word not in _COMMON_WORDS}


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)
