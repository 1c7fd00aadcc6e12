"""Names for groups of tasks: phrases that most tasks of a group contain, and few others."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from atlas.maps.clauses import EMPTY, Clause, clauses
from atlas.maps.grammar import LIGHT_VERBS, gerund, is_plural, plural, singular

NAMES_KEPT = 8
_ANY = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_WITHIN = re.compile(r"(?<=[\w,;] )[^\W_]+(?:['’-][^\W_]+)*")
"""Words that do not begin a sentence."""

_COUNTED = re.compile(r"\b(?:an?|another|each|every|following) ([^\W\d_]+)\b")
WITHIN = 20
"""Weight of how these are written."""

CHARACTERS = 38
"""Longest name."""

SAME_BEGINNING = 60
"""Number of first letters that identify a task: attempts that share them count once."""

FIRST_CLAUSES, LATER = 3, 0.25
"""Phrases at the beginning of a task, and the weight of later ones."""

SHARED_BY = 0.08
"""Share of a group's tasks that must have a phrase before it may name the group."""

LONGER = {1: 0.8, 2: 1.45, 3: 1.5}
"""Factor for phrases of more words, which are more specific."""

DOUBT = 1.5
"""Pseudocount of tasks in other groups that contain a phrase."""

AS_FREQUENT = 0.6
"""Smallest share of a phrase in a group, as a multiple of its share elsewhere."""

WITH_VERB = 1.15
"""Factor for phrases with a verb."""

MOSTLY = 0.35
"""Least share of a phrase's tasks with the same verb or preceding word for the phrase to include it."""

ENOUGH = 0.55
"""Smallest share of a group's tasks for which a phrase names the whole group."""

SECOND = 0.35
"""Least weight of a second phrase, as a share of the first phrase's weight, for the name to include both."""


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """A phrase as it is counted."""

    words: tuple[str, ...]
    """Words in lower case, with the noun last and in the singular."""

    verb: str = ""
    of: str = ""
    """Noun after `of`, in the singular."""

    @property
    def n_words(self) -> int:
        """Weight of the phrase: how specific it is."""
        words = [word for word in (*self.words, self.of) if word and word not in EMPTY]
        return min(3, max(1, len(words) + bool(self.verb)))


@dataclass(slots=True)
class Group:
    """The phrases of the tasks of one group."""

    n: int = 0
    """Tasks."""

    weights: dict[Subject, float] = field(default_factory=dict)
    """How many tasks have each phrase. Later phrases of a task count for less."""

    tasks: dict[Subject, set[int]] = field(default_factory=lambda: defaultdict(set))
    spellings: dict[Subject, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def subject_names(texts: Mapping[int, Sequence[str]], excluded: Container[str]) -> dict[int, tuple[str, ...]]:
    """Return names for each group of tasks, best first: `cancelling upcoming flights`, `surface areas and volumes`.

    Args:
        texts: The tasks of each group, without code.
        excluded: Words in lower case to ignore, such as names of people.
    """
    groups = {number: _read(domain_texts, excluded) for number, domain_texts in texts.items()}
    nouns = _Nouns.of(chain.from_iterable(texts.values()))
    total, n_total = Counter[Subject](), sum(group.n for group in groups.values())
    for group in groups.values():
        total.update(group.weights)
    names = {}
    for number, group in groups.items():
        fewest = max(2, SHARED_BY * group.n) if group.n > 3 else 1
        shared, any_phrase = (nouns.common(_scores(group, total, n_total, min_count)) for min_count in (fewest, 1))
        candidates = chain(_names(group, shared, nouns), _names(group, any_phrase, nouns))
        names[number] = tuple(dict.fromkeys(candidates))[:NAMES_KEPT]
    return names


def _read(texts: Sequence[str], excluded: Container[str]) -> Group:
    group = Group()
    for text in {re.sub(r"[\W\d_]+", "", text)[:SAME_BEGINNING].lower(): text for text in texts}.values():
        for rank, clause in enumerate(clauses(text, excluded)):
            weight = 1.0 if rank < FIRST_CLAUSES else LATER
            for subject in _subjects(clause):
                if group.n not in group.tasks[subject]:
                    group.tasks[subject].add(group.n)
                    group.weights[subject] = group.weights.get(subject, 0.0) + weight
                group.spellings[replace(subject, verb="")][clause.phrase.words[-1]] += 1
        group.n += 1
    return group


def _subjects(clause: Clause) -> Iterator[Subject]:
    """Yield what a clause is counted as: its noun, alone and with the words before and after it, and with its verb."""
    head = clause.phrase.head
    before = [word.lower() for word in clause.phrase.words[:-1] if not is_plural(word)]  # not `refunds files`
    phrases = [(head,), *((word, head) for word in before)]
    if len(before) > 1:
        phrases.append((*before, head))
    is_light = clause.verb.split(" ")[0] in {"", *LIGHT_VERBS}
    for verb in {"", "" if is_light else clause.verb}:
        for words in phrases:
            if head not in EMPTY or len(words) > 1 or clause.phrase.of or verb:
                yield Subject(words, verb, singular(clause.phrase.of.lower()))


def _scores(group: Group, total: Mapping[Subject, float], n_total: int, fewest: float) -> dict[Subject, float]:
    """Return how well each phrase names a group: how many tasks have it, times how much rarer it is elsewhere.

    Args:
        fewest: Tasks that must have a phrase.
    """
    scores = {}
    for subject, weight in group.weights.items():
        share = weight / group.n
        elsewhere = (total[subject] - weight + DOUBT) / (n_total - group.n + 2 * DOUBT)
        if len(group.tasks[subject]) >= fewest and share > AS_FREQUENT * elsewhere:
            scores[subject] = share * math.log(1 + share / elsewhere) * LONGER[subject.n_words]
            scores[subject] *= WITH_VERB if subject.verb else 1.0
    return scores


def _names(group: Group, scores: Mapping[Subject, float], nouns: _Nouns) -> Iterator[str]:
    """Yield names, best first. A single word is joined with a second phrase if possible, because it is unspecific."""
    ranked = sorted(scores, key=lambda subject: (-scores[subject], subject))
    single = list[str]()
    for first in ranked[:NAMES_KEPT]:
        full = _complete(first, group, ranked)
        is_short, name = full.n_words == 1, nouns.spell(full, group)
        if is_short or len(group.tasks[first]) < ENOUGH * group.n:
            min_score = 0.0 if is_short else SECOND * scores[first]
            for second in _find_second_phrases(first, full, group, scores, ranked, min_score):
                verb = "" if second.verb == full.verb else second.verb
                combined_name = f"{name} and {nouns.spell(replace(second, verb=verb), group)}"
                if len(combined_name) <= CHARACTERS:
                    yield combined_name
                    break
        if len(name) > CHARACTERS:
            continue
        if is_short:
            single.append(name)
        else:
            yield name
    yield from single


def _find_second_phrases(
    first: Subject,
    full: Subject,
    group: Group,
    scores: Mapping[Subject, float],
    ranked: Sequence[Subject],
    min_score: float,
) -> list[Subject]:
    """Return phrases that most of the other tasks have, best first."""
    covered_tasks, used = group.tasks[first], {*full.words, full.of, full.verb}
    gains = {
        subject: scores[subject]
        / LONGER[subject.n_words]
        * len(group.tasks[subject] - covered_tasks)
        / len(group.tasks[subject])
        for subject in ranked[:40]
        if not used & {*subject.words, subject.of} - {""} and bool(subject.verb) == bool(full.verb)
    }
    return sorted(
        (subject for subject, gain in gains.items() if gain > min_score), key=lambda subject: (-gains[subject], subject)
    )


def _complete(subject: Subject, group: Group, ranked: Sequence[Subject]) -> Subject:
    """Extend a phrase by the words and the verb that it mostly occurs with."""
    n = len(group.tasks[subject])
    longer = [
        longer_subject
        for longer_subject in ranked
        if longer_subject.n_words > subject.n_words
        and longer_subject.words[-1] == subject.words[-1]
        and set(subject.words) <= set(longer_subject.words)
        and subject.verb in ("", longer_subject.verb)
        and subject.of in ("", longer_subject.of)
        and len(group.tasks[longer_subject] & group.tasks[subject]) >= MOSTLY * n
    ]
    return max(longer, key=lambda other: (other.n_words, len(group.tasks[other]), other), default=subject)


@dataclass(frozen=True, slots=True)
class _Nouns:
    """How nouns are spelled in all texts."""

    forms: Mapping[str, Counter[str]]
    """How often each word, in lower case, is written in which way."""

    countable: Container[str]
    """Nouns that follow `a` or `an`, or that have a plural in the texts."""

    @classmethod
    def of(cls, texts: Iterator[str]) -> _Nouns:
        forms, countable = defaultdict[str, Counter[str]](Counter), set[str]()
        for text in texts:
            for word in _ANY.findall(text):
                forms[word.lower()][word] += 1
            for word in _WITHIN.findall(text):
                forms[word.lower()][word] += WITHIN
            countable.update(singular(word.lower()) for word in _ANY.findall(text) if is_plural(word))
            countable.update(word.lower() for word in _COUNTED.findall(text))
        return cls(forms, countable)

    def spell(self, subject: Subject, group: Group) -> str:
        """Return a phrase as it is written: `cancelling upcoming flights`."""
        spellings = group.spellings[replace(subject, verb="")]
        head = self._noun(max(spellings, key=lambda word: (spellings[word], word)))
        words = [*map(self._usual_spelling, subject.words[:-1]), head]
        if subject.of:
            words += ["of", self._noun(subject.of)]
        if subject.verb:
            verb, *particle = subject.verb.split()
            words = [gerund(verb), *particle, *words]
        return " ".join(words)

    def common(self, scores: Mapping[Subject, float]) -> Mapping[Subject, float]:
        """Return the phrases without single proper nouns, such as places, or all phrases if none would be left."""
        common = {subject: score for subject, score in scores.items() if not self._is_proper(subject)}
        return common or scores

    def _is_proper(self, subject: Subject) -> bool:
        return subject.n_words == 1 and self._usual_spelling(subject.words[-1])[:2].istitle()

    def _noun(self, word: str) -> str:
        cased = self._usual_spelling(word)
        return plural(cased) if singular(word.lower()) in self.countable and cased.islower() else cased

    def _usual_spelling(self, word: str) -> str:
        """Return a word as it is mostly written within sentences."""
        forms = self.forms.get(word.lower())
        return max(forms, key=lambda form: (forms[form], form)) if forms else word.lower()
