"""Names for domains: phrases and words that are common in a domain and rare in other domains."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import chain

import numpy as np

from atlas.core.words import STOP_WORDS, content_words
from atlas.maps.domains import UNCLUSTERED, Labels
from atlas.maps.subjects import subject_names

MAX_TERMS = 6
MIN_OWN_TERMS = 3
MAX_READ_PER_DOMAIN = 2_000
"""Maximum number of members of a domain whose words are counted."""

MAX_SAMPLED, MIN_SAMPLED, MAX_SAMPLED_IN_ALL = 500, 50, 12_000
"""Numbers of members whose phrases are counted: at most of a domain, at least of a domain, and at most in total."""

MIN_PAIRED_SHARE = 0.6
"""Minimum share of a word's capitalised uses next to another capitalised word for it to count as a person's name."""

MIN_PLACE_SHARE = 0.5
"""Minimum share of a capitalised word's uses after `from` or `to` for it to count as a place."""

MIN_COMMON_SHARE = 0.7
"""Minimum length of the common beginning of two forms of one word, as a share of the shorter: `sort` and `sorted`."""

MIN_MEMBER_SHARE = 0.08
"""Smallest share of a domain's members that must contain a word for it to name the domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainTerms:
    """The most distinctive words of a domain, and its possible names."""

    terms: tuple[str, ...]
    """Distinctive words and phrases, best first."""

    names: tuple[str, ...]
    """Candidate names of the domain, best first, such as `cancelling upcoming flights`. May be empty."""


def name_domains(texts: Sequence[str], labels: Labels) -> dict[int, DomainTerms]:
    """Return the most distinctive words and the possible names of each domain, keyed by the domain's number.

    Args:
        texts: One text for each record.
        labels: The domain of each record, shape (n,). Records without a domain serve for comparison.

    Source:
        c-TF-IDF (Grootendorst, arXiv 2203.05794) of the number of members with a word, so that a text counts once.
    """
    texts_by_domain, people = _read_domains(texts, labels)
    if not texts_by_domain:
        return {}
    weights = _weigh_terms(texts_by_domain)
    domain_by_word = _domains_by_word(weights)
    n_read = min(MAX_SAMPLED, max(MIN_SAMPLED, MAX_SAMPLED_IN_ALL // len(texts_by_domain)))
    sampled = {
        number: [text.text for text in domain_texts[:: _sampling_step(domain_texts, n_read)]]
        for number, domain_texts in texts_by_domain.items()
    }
    names = subject_names(sampled, people)
    return {
        number: DomainTerms(terms=_select_domain_terms(number, domain_weights, domain_by_word), names=names[number])
        for number, domain_weights in weights.items()
    }


def _weigh_terms(texts_by_domain: Mapping[int, Sequence[Prose]]) -> dict[int, dict[str, float]]:
    """Return the weight of each word in each domain, keyed by the domain's number and the word."""
    frequencies = Counter[str]()
    for text in chain.from_iterable(texts_by_domain.values()):
        frequencies.update(text.words)
    singulars = _singulars(frequencies)
    counts = {number: _count_members(texts, singulars) for number, texts in texts_by_domain.items()}
    n_records = sum(map(len, texts_by_domain.values()))
    total_counts = Counter[str]()
    for domain_counts in counts.values():
        total_counts.update(domain_counts)
    return {
        number: _term_weights(counts[number], len(texts), total_counts, n_records)
        for number, texts in texts_by_domain.items()
        if number != UNCLUSTERED
    }


def unique_names(terms_by_domain: Mapping[int, DomainTerms], reserved: Iterable[str] = ()) -> dict[int, str]:
    """Return a distinct name for each domain. If all possible names are taken, the first name gets a number.

    Args:
        terms_by_domain: Possible names of each domain, keyed by number. Earlier domains choose first.
        reserved: Names of other domains.
    """
    names: dict[int, str] = {}
    taken_names = set(reserved)
    for number, terms in terms_by_domain.items():
        candidates = terms.names or (" and ".join(terms.terms[:2]) or f"Domain {number + 1}",)
        numbered = (f"{candidates[0]} ({count})" for count in range(2, len(taken_names) + 3))
        names[number] = next(name for name in (*candidates, *numbered) if name not in taken_names)
        taken_names.add(names[number])
    return names


_CODE = re.compile(
    r"```.*?```|`[^`\n]*`|>>>[^\n]*|https?://\S+|\b(?:def|class)\s+\w+.*|\b\w*[a-z0-9]_\w+\b|\b\w+\([^)\n]*\)",
    re.DOTALL,
)
"""Code amid prose.

Fenced and quoted code, lines at a Python prompt, addresses, what follows a signature, names with underscores, calls.
"""

_CODED_PERSON = re.compile(r"\b([a-z]+)_([a-z]+)_\d+\b")
_CAPITALISED_PAIR = re.compile(r"\b(?=([A-Z][a-z]+) ([A-Z][a-z]+)\b)")
_CAPITALISED_PLAIN_WORD = re.compile(r"\b[A-Z][a-z]+\b")
_CAPITALISED_WORD = re.compile(r"\b[A-Z]\w+")
_LOWER_CASE_WORD = re.compile(r"\b[a-z]+\b")
_NON_LETTERS = re.compile(r"[\W\d_]+")
_PLACE = re.compile(r"\b(?:[Ff]rom|[Tt]o) (?:(?:New|San|Los|Las) )?([A-Z]\w+)")


@dataclass(frozen=True, slots=True)
class Prose:
    """A text without the code in it, or the text itself if it consists of code."""

    text: str
    words: set[str]
    """Words that may name the subject of the text."""


def prose(text: str) -> Prose:
    """Return a text without its code, or the text itself if it consists of code."""
    without_code = _CODE.sub(" ", text)
    subject_words = content_words(without_code)
    return Prose(without_code, subject_words) if subject_words else Prose(text, content_words(text))


def _person_names(texts: Iterable[str], texts_read: Iterable[Prose]) -> set[str]:
    """Return the words that are probably names of people, judged by spelling.

    These are the words in user ids such as `anya_garcia_5901`, and capitalised words that mostly occur next to another
    capitalised word, as in `Anya Garcia`. A word that is also written in lower case does not count.
    """
    in_user_ids, lower_case = set[str](), set[str]()
    paired, capitalised = Counter[str](), Counter[str]()
    for text in texts:
        in_user_ids.update(chain.from_iterable(_CODED_PERSON.findall(text)))
        for first_name, second_name in _CAPITALISED_PAIR.findall(text):
            if first_name.lower() not in STOP_WORDS:  # not "The Postgres"
                paired.update((first_name.lower(), second_name.lower()))
        capitalised.update(word.lower() for word in _CAPITALISED_PLAIN_WORD.findall(text))
    for prose_text in texts_read:
        lower_case.update(_LOWER_CASE_WORD.findall(prose_text.text))
    mostly_paired = {word for word, count in paired.items() if count > MIN_PAIRED_SHARE * capitalised[word]}
    return (in_user_ids | mostly_paired) - lower_case


def _place_names(texts: Iterable[str]) -> set[str]:
    """Return the words that are probably place names: capitalised words that mostly follow `from` and `to`."""
    after_preposition, capitalised = Counter[str](), Counter[str]()
    for text in texts:
        after_preposition.update(_PLACE.findall(text))
        capitalised.update(_CAPITALISED_WORD.findall(text))
    return {word.lower() for word, count in after_preposition.items() if count >= MIN_PLACE_SHARE * capitalised[word]}


def _read_domains(texts: Sequence[str], labels: Labels) -> tuple[dict[int, list[Prose]], set[str]]:
    """Return a sample of each domain's texts, keyed by number, and the words that name people or places.

    Names of people are removed from `Prose.words`.
    """
    rows = {int(number): np.flatnonzero(labels == number) for number in np.unique(labels)}
    sampled = {
        number: [texts[row] for row in domain_rows[:: _sampling_step(domain_rows, MAX_READ_PER_DOMAIN)]]
        for number, domain_rows in rows.items()
    }
    parsed = {number: [prose(text) for text in domain_texts] for number, domain_texts in sampled.items()}
    people = _person_names(chain.from_iterable(sampled.values()), chain.from_iterable(parsed.values()))
    proses = {number: [Prose(part.text, part.words - people) for part in parts] for number, parts in parsed.items()}
    return proses, people | _place_names(chain.from_iterable(sampled.values()))


def _sampling_step(rows: Sized, limit: int) -> int:
    """Return the step of a slice that selects at most `limit` of the rows."""
    return math.ceil(len(rows) / limit)


def _singulars(frequencies: Counter[str]) -> dict[str, str]:
    """Return the singular of each plural whose singular occurs too, keyed by the plural."""
    singulars = dict[str, str]()
    for word in frequencies:
        for ending in ("s", "es"):
            stem = word.removesuffix(ending)
            if stem != word and len(stem) >= 3 and stem in frequencies and not stem.endswith("s"):
                singulars[word] = stem
    return singulars


def _count_members(texts: Sequence[Prose], singulars: Mapping[str, str]) -> Counter[str]:
    """Return the number of texts that contain each word, with plurals counted as their singular."""
    counts = Counter[str]()
    for text in texts:
        counts.update({singulars.get(word, word) for word in text.words})
    return counts


def _term_weights(counts: Counter[str], n_members: int, total_counts: Counter[str], n_records: int) -> dict[str, float]:
    """Return the c-TF-IDF weight of each word: the share of members with it, times its rarity in other domains.

    Args:
        counts: Number of the domain's members with each word.
        n_members: Number of the domain's members.
        total_counts: Number of records with each word, in all domains.
        n_records: Number of records in all domains.
    """
    min_members = max(2, MIN_MEMBER_SHARE * n_members)
    weights = {}
    for word, count in counts.items():
        share, share_elsewhere = count / n_members, (total_counts[word] - count + 0.5) / (n_records - n_members + 1)
        if count >= min_members and share > share_elsewhere:
            weights[word] = float(share * np.log(1 + share / share_elsewhere))
    return weights


def _domains_by_word(weights: Mapping[int, Mapping[str, float]]) -> dict[str, int]:
    """Return the number of the domain for which a word is most distinctive, keyed by word."""
    best_weights: dict[str, tuple[float, int]] = {}
    for number, domain_weights in weights.items():
        for word, weight in domain_weights.items():
            best_weights[word] = max(best_weights.get(word, (0.0, number)), (weight, number))
    return {word: number for word, (_, number) in best_weights.items()}


def _select_domain_terms(
    number: int, weights: Mapping[str, float], domain_by_word: Mapping[str, int]
) -> tuple[str, ...]:
    """Return the terms of a domain by weight. Words of other domains are included if it has too few of its own."""
    ordered = sorted(weights, key=lambda word: (-weights[word], word))
    own_words = [word for word in ordered if domain_by_word[word] == number]
    shared = [word for word in ordered if domain_by_word[word] != number]
    ordered = own_words + shared if len(own_words) < MIN_OWN_TERMS else own_words
    terms: list[str] = []
    for word in ordered:
        if len(terms) < MAX_TERMS and not any(_have_common_beginning(word, term) for term in terms):
            terms.append(word)
    return tuple(terms)


def _have_common_beginning(word: str, other: str) -> bool:
    shorter = min(len(word), len(other))
    n_common = round(MIN_COMMON_SHARE * shorter + 0.5)
    return shorter >= 4 and word[:n_common] == other[:n_common]


def number_by_template(texts: Sequence[str], labels: Labels) -> dict[int, int]:
    """Return a new number for each domain, keyed by the old number. It is shared by domains that differ in digits only.

    `Household task env_37` and `Household task env_112` differ in nothing that could tell two domains apart.
    """
    number_by_form: dict[str, int] = {}
    numbers = {}
    for number in (int(number) for number in np.unique(labels) if number != UNCLUSTERED):
        forms = {_NON_LETTERS.sub("", texts[row]) for row in np.flatnonzero(labels == number).tolist()}
        numbers[number] = number_by_form.setdefault(forms.pop(), number) if len(forms) == 1 else number
    return numbers
