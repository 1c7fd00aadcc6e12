"""Names for groups of tasks: the subject of most tasks of a group and of few others, in the words of the tasks."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations

from atlas.maps.clauses import VAGUE_NOUNS, Clause, find_clauses
from atlas.maps.grammar import LIGHT_VERBS, MAX_CACHED_STEMS, gerund, is_plural, plural, singular, stem

MAX_NAMES = 8
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_INNER_WORD = re.compile(r"(?<=[\w,;] )[^\W_]+(?:['’-][^\W_]+)*")
"""Words that do not begin a sentence."""

_COUNTED_NOUN = re.compile(
    r"\b(?:an?|another|each|every|following) (?=([^\W\d_]+)\b"
    r"(?: ([^\W\d_]+)(?=[.,;:)]|$| (?:and|at|by|for|from|in|is|of|on|that|to|where|which|with)\b))?)"
)
"""Nouns that are counted, with or without an adjective."""

INNER_WORD_WEIGHT = 20
"""Weight of an occurrence within a sentence for the spelling of a word. A word that begins a sentence has weight 1."""

MAX_NAME_CHARACTERS = 38
"""Maximum length of a name."""

MAX_NAME_WORDS = 5
TASK_KEY_CHARACTERS = 60
"""Number of first letters that identify a task. Attempts with the same letters count once."""

EARLY_WORDS, LATER_WEIGHT = 30, 0.4
"""Number of words that begin a task, and the weight of later words."""

MIN_TASK_SHARE = 0.08
"""Smallest share of a group's tasks that must contain a phrase for it to name the group."""

PSEUDOCOUNT = 1.5
"""Pseudocount of tasks in other groups that are about a subject."""

MIN_ADDED_SHARE = 0.2
"""Smallest share of a group's tasks that each of two phrases must add to the other."""

MIN_PAIR_SHARE = 0.5
"""Smallest share of a group's tasks that two phrases must describe."""

MIN_PRECISE_SHARE = 0.2
"""Smallest share of a group's tasks for a phrase that makes a single noun more precise."""

TASKS_PER_FORM = 8
"""Inverse of the smallest share of a group's tasks that must contain a phrase in exactly its form."""

MAX_TASKS_FOR_SINGLE_PHRASE = 3
"""Largest number of tasks of a group that is named by one phrase only. Two would merely list the tasks."""

MAX_PAIRED_PHRASES = 40
"""Number of best phrases that are joined in pairs."""

ENGLISH = frozenset({"the", "and", "of", "to"})
"""Words of which most English texts contain some."""

MIN_SHARE_BY_SPECIFICITY = {1: 0.55, 2: 0.33, 3: 0.33}
"""Smallest share of a group's tasks that suffices for a phrase to name the group, keyed by `Subject.specificity`."""

MIN_SHARE_OF_BEST_PAIR = 0.8
"""Smallest share of a group's tasks for which two phrases are better than a phrase in at most half of the tasks."""

SHARE_EXPONENT = 1.3
"""Exponent of the share of tasks in the distinctiveness of phrases."""

FACTOR_BY_SPECIFICITY = {1: 0.3, 2: 1.0, 3: 1.15}
"""Factor that favours specific phrases, keyed by `Subject.specificity`."""

VERB_FACTOR = 1.4
"""Factor for names with a verb, which say what is done."""

PAIR_FACTOR, SINGLE_WORD_FACTOR, TWO_VERBS_FACTOR = 0.8, 0.8, 1.0
"""Factors for two phrases, for each single word among them, and for two verbs of one noun."""


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """A noun phrase, perhaps with a verb, in the normal form in which occurrences are counted."""

    words: tuple[str, ...]
    """Words in lower case, with the noun last and in the singular."""

    verb: str = ""
    of_noun: str = ""
    """Noun after `of`, in the singular."""

    @property
    def stems(self) -> frozenset[str]:
        """The stems of the phrase. A task that contains all of them counts as being about the subject."""
        return _stems(*self.words, self.of_noun, *self.verb.split()[:1])

    @property
    def specificity(self) -> int:
        """Specificity of the phrase, from 1 to 3: roughly the number of meaningful words."""
        words = [word for word in (*self.words, self.of_noun) if word and word not in VAGUE_NOUNS]
        return min(3, max(1 + bool(self.of_noun), len(words) + bool(self.verb)))


@lru_cache(MAX_CACHED_STEMS)
def _stems(*words: str) -> frozenset[str]:
    return frozenset(map(stem, filter(None, words)))


Subjects = tuple[Subject, ...]
"""One phrase, or two phrases that make a name together."""


@dataclass(frozen=True, slots=True)
class Index:
    """An index of stems: a bit mask of the tasks that contain each stem. Bit `i` stands for task `i`."""

    early: dict[str, int]
    """Tasks with the stem among their first `EARLY_WORDS` words."""

    anywhere: dict[str, int]

    def tasks(self, stems: Iterable[str]) -> tuple[int, int]:
        """Return two bit masks of the tasks that contain all stems: near the beginning, and anywhere."""
        early = anywhere = -1
        for word_stem in stems:
            early &= self.early.get(word_stem, 0)
            anywhere &= self.anywhere.get(word_stem, 0)
        return early, anywhere


@dataclass(slots=True)
class Group:
    """The phrases in the tasks of one group, with their counts."""

    tasks: int = 0
    """Bit mask of the group's tasks."""

    n: int = 0
    counts: Counter[Subject] = field(default_factory=Counter)
    """Number of tasks that contain each phrase in exactly this form."""

    spellings: dict[tuple[str, ...], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Number of occurrences of each spelling of a phrase's noun, keyed by `Subject.words`."""


def subject_names(texts: Mapping[int, Sequence[str]], excluded: Container[str]) -> dict[int, tuple[str, ...]]:
    """Return names for each group of tasks, best first: `cancelling upcoming flights`, `surface areas and volumes`.

    Args:
        texts: The tasks of each group, without code.
        excluded: Words in lower case to ignore, such as names of people.
    """
    distinct = {number: _distinct_tasks(domain_texts) for number, domain_texts in texts.items()}
    index = _build_index(list(chain.from_iterable(distinct.values())))
    nouns = _Nouns.from_texts(chain.from_iterable(texts.values()))
    names, start = {}, 0
    for number, domain_texts in distinct.items():
        group = _read_group(domain_texts, start, excluded)
        start += len(domain_texts)
        names[number] = tuple(_Namer(group, index, nouns, sum(map(len, distinct.values()))).names())[:MAX_NAMES]
    return names


def _distinct_tasks(texts: Sequence[str]) -> list[str]:
    """Return the texts without those that begin with the same letters as another."""
    return [*{re.sub(r"[\W\d_]+", "", text)[:TASK_KEY_CHARACTERS].lower(): text for text in texts}.values()]


def _build_index(texts: Sequence[str]) -> Index:
    """Return an index of the stems in texts. Bit `i` of a mask stands for text `i`."""
    early, anywhere = Counter[str](), Counter[str]()
    for number, text in enumerate(texts):
        stems = [stem(word.lower()) for word in _WORD.findall(text)]
        for word_stem in {*stems[:EARLY_WORDS]}:
            early[word_stem] |= 1 << number
        for word_stem in {*stems}:
            anywhere[word_stem] |= 1 << number
    return Index(early, anywhere)


def _read_group(texts: Sequence[str], start: int, excluded: Container[str]) -> Group:
    """Return the phrases of a group's tasks. The group's first task is task `start` of the index."""
    group = Group(tasks=((1 << len(texts)) - 1) << start, n=len(texts))
    for text in texts:
        subjects = set[Subject]()
        for clause in find_clauses(text, excluded):
            for subject in _subjects_of_clause(clause):
                subjects.add(subject)
                group.spellings[subject.words][clause.phrase.words[-1]] += 1
        group.counts.update(subjects)
    return group


def _subjects_of_clause(clause: Clause) -> Iterator[Subject]:
    """Yield the subjects of a clause: the noun alone, with the words next to it, and with the verb."""
    head = clause.phrase.head
    modifiers = [word.lower() for word in clause.phrase.words[:-1] if not is_plural(word)]  # not `refunds files`
    phrases = [(head,), *((word, head) for word in modifiers if word != "case")]  # as in `snake case strings`
    if len(modifiers) > 1:
        phrases.append((*modifiers, head))
    has_light_verb = clause.verb.split(" ")[0] in {"", *LIGHT_VERBS}
    for verb in {"", "" if has_light_verb else clause.verb}:
        for words in phrases:
            for of_noun in {"", singular(clause.phrase.of_noun.lower())}:
                subject = Subject(words, verb, of_noun)
                is_vague = head in VAGUE_NOUNS and len(words) == 1 and not of_noun and not verb
                if not is_vague and len(subject.stems) == len(words) + bool(of_noun) + bool(verb):
                    yield subject


@dataclass(frozen=True, slots=True)
class _Namer:
    """A search for names of one group of tasks."""

    group: Group
    index: Index
    nouns: _Nouns
    n_total: int

    def names(self) -> Iterator[str]:
        """Yield names, best first. Names from subjects of at least `MIN_TASK_SHARE` of the tasks come before others."""
        common = self._rank(max(2, MIN_TASK_SHARE * self.group.n))
        spelled = (self.nouns.spell(subjects, self.group) for subjects in chain(common, self._rank(1)))
        yield from dict.fromkeys(
            name for name in spelled if len(name) <= MAX_NAME_CHARACTERS and len(name.split()) <= MAX_NAME_WORDS
        )

    def _rank(self, min_tasks: float) -> Iterator[Subjects]:
        """Yield names, which are one or two phrases, best first. More precise names come before a single noun.

        Args:
            min_tasks: Number of tasks that must be about a phrase.
        """
        scores = self._score_phrases(min_tasks)
        ranked = sorted(scores, key=lambda subject: (-scores[subject], subject))
        names = [*self._order_by_fit(scores, ranked)]
        if names and names[0] == (Subject(names[0][0].words[-1:]),):
            yield from self._more_precise_names(names[0][0], ranked)
        yield from names

    def _more_precise_names(self, noun: Subject, ranked: Sequence[Subject]) -> Iterator[Subjects]:
        """Yield frequent phrases that end in a noun, then combinations of the noun with another frequent phrase."""
        frequent = [subject for subject in ranked if self._task_share((subject,)) >= MIN_PRECISE_SHARE]
        yield from (
            (subject,) for subject in frequent if subject.specificity > 1 and subject.words[-1] == noun.words[-1]
        )
        others = (
            subject
            for subject in frequent[:MAX_PAIRED_PHRASES]
            if not subject.verb and subject.stems.isdisjoint(noun.stems)
        )
        yield from sorted(
            ((noun, other) for other in others), key=lambda pair: (-self._pair_distinctiveness(*pair), pair)
        )

    def _order_by_fit(self, scores: Mapping[Subject, float], ranked: Sequence[Subject]) -> Iterator[Subjects]:
        """Yield names, which are one or two phrases, sorted by how well they describe the group, best first."""
        sufficient = [
            (subject,)
            for subject in ranked
            if self._task_share((subject,)) >= MIN_SHARE_BY_SPECIFICITY[subject.specificity]
        ]
        pairs = self._rank_pairs(ranked[:MAX_PAIRED_PHRASES])
        if not sufficient or self._task_share(sufficient[0]) <= MIN_PAIR_SHARE:
            yield from filter(self._covers_most, pairs)
        yield from sufficient
        yield from pairs
        yield from (
            (subject,) for subject in sorted(ranked, key=lambda phrase: -scores[phrase] * self._task_share((phrase,)))
        )

    def _task_share(self, subjects: Subjects) -> float:
        """Return the share of the group's tasks that are about any of the subjects."""
        tasks = 0
        for subject in subjects:
            tasks |= self.index.tasks(subject.stems)[1]
        return (tasks & self.group.tasks).bit_count() / self.group.n

    def _covers_most(self, pair: Subjects) -> bool:
        return min(subject.specificity for subject in pair) > 1 and self._task_share(pair) >= MIN_SHARE_OF_BEST_PAIR

    def _score_phrases(self, min_tasks: float) -> dict[Subject, float]:
        """Return the score of each phrase as a name of the group. Phrases as common in other groups are left out."""
        scores = {}
        for subject, n_in_this_form in self.group.counts.items():
            n_about = (self.index.tasks(subject.stems)[1] & self.group.tasks).bit_count()
            if (
                n_about >= min_tasks
                and n_in_this_form >= min(min_tasks, self.group.n / TASKS_PER_FORM)
                and not self._is_proper(subject)
            ):
                score = (
                    self._distinctiveness((subject,))
                    * FACTOR_BY_SPECIFICITY[subject.specificity]
                    * (VERB_FACTOR if subject.verb else 1.0)
                )
                if score:
                    scores[subject] = score
        return scores

    def _is_proper(self, subject: Subject) -> bool:
        """Return whether a phrase is a single proper noun, such as a place."""
        return subject.specificity == 1 and self.nouns.spell((subject,), self.group)[:2].istitle()

    def _rank_pairs(self, ranked: Sequence[Subject]) -> list[Subjects]:
        """Return pairs of phrases that may be joined to a name, best first. Empty for a group of few tasks."""
        if self.group.n <= MAX_TASKS_FOR_SINGLE_PHRASE:
            return []
        scores: dict[Subjects, float] = {
            pair: self._pair_distinctiveness(*pair) for pair in combinations(ranked, 2) if self._may_be_joined(*pair)
        }
        return sorted(scores, key=lambda pair: (-scores[pair], pair))

    def _may_be_joined(self, first: Subject, second: Subject) -> bool:
        """Return whether two phrases differ in words and tasks, and cover enough tasks together, to make one name."""
        if bool(first.verb) != bool(second.verb):
            return False
        if not first.stems.isdisjoint(second.stems) and (
            not _is_same_noun(first, second) or stem(first.verb) == stem(second.verb)
        ):
            return False
        first_tasks, second_tasks = (
            self.index.tasks(subject.stems)[1] & self.group.tasks for subject in (first, second)
        )
        n_added = min((first_tasks & ~second_tasks).bit_count(), (second_tasks & ~first_tasks).bit_count())
        return (
            n_added >= MIN_ADDED_SHARE * self.group.n
            and (first_tasks | second_tasks).bit_count() >= MIN_PAIR_SHARE * self.group.n
        )

    def _pair_distinctiveness(self, first: Subject, second: Subject) -> float:
        n_single_words = (first.specificity == 1) + (second.specificity == 1)
        factor = TWO_VERBS_FACTOR if _is_same_noun(first, second) else PAIR_FACTOR * SINGLE_WORD_FACTOR**n_single_words
        return self._distinctiveness((first, second)) * factor * (VERB_FACTOR if first.verb else 1.0)

    def _distinctiveness(self, subjects: Subjects) -> float:
        """Return the share of the group's tasks about any of the subjects, weighted by its rarity in other groups."""
        early = anywhere = 0
        for subject in subjects:
            early_here, anywhere_here = self.index.tasks(subject.stems)
            early, anywhere = early | early_here, anywhere | anywhere_here
        share = self._weighted_count(early & self.group.tasks, anywhere & self.group.tasks) / self.group.n
        weighted_elsewhere = self._weighted_count(early & ~self.group.tasks, anywhere & ~self.group.tasks)
        share_elsewhere = (weighted_elsewhere + PSEUDOCOUNT) / (self.n_total - self.group.n + 2 * PSEUDOCOUNT)
        return share**SHARE_EXPONENT * math.log(1 + share / share_elsewhere) if share > 0.6 * share_elsewhere else 0.0

    @staticmethod
    def _weighted_count(early: int, anywhere: int) -> float:
        """Return the number of tasks in two bit masks, with tasks that are in both counted in full."""
        return (1 - LATER_WEIGHT) * early.bit_count() + LATER_WEIGHT * anywhere.bit_count()


@dataclass(frozen=True, slots=True)
class _Nouns:
    """The usual spellings of nouns in all texts."""

    forms: Mapping[str, Counter[str]]
    """Number of occurrences of each spelling, keyed by the word in lower case."""

    countable: Container[str]
    """Nouns that follow `a` or `an`, or that have a plural in the texts."""

    conjunction: str
    """Text between two phrases, such as ` and `."""

    @classmethod
    def from_texts(cls, texts: Iterator[str]) -> _Nouns:
        """Count how nouns are spelled in texts."""
        forms, countable, n_texts, n_english = defaultdict[str, Counter[str]](Counter), set[str](), 0, 0
        for text in texts:
            words = _WORD.findall(text)
            for word in words:
                forms[word.lower()][word] += 1
            for word in _INNER_WORD.findall(text):
                forms[word.lower()][word] += INNER_WORD_WEIGHT
            countable.update(singular(word.lower()) for word in words if is_plural(word))
            countable.update(word.lower() for pair in _COUNTED_NOUN.findall(text) for word in pair)
            n_texts += 1
            n_english += not ENGLISH.isdisjoint(map(str.lower, words))
        return cls(forms, countable, " and " if n_english > 0.3 * n_texts else ", ")

    def spell(self, subjects: Subjects, group: Group) -> str:
        """Return a name as it is written: `cancelling upcoming flights`, `sorting and filtering lists`."""
        first, *others = subjects
        if others and _is_same_noun(first, others[0]):
            verbs = self.conjunction.join(map(_gerund_with_particle, sorted(subject.verb for subject in subjects)))
            return f"{verbs} {self._spell_phrase(first, group)}"
        spelled = []
        for subject in subjects:
            is_repeated = subject is not first and subject.verb == first.verb
            verb = _gerund_with_particle(subject.verb) if subject.verb and not is_repeated else ""
            spelled.append(" ".join(filter(None, [verb, self._spell_phrase(subject, group)])))
        return self.conjunction.join(spelled)

    def _spell_phrase(self, subject: Subject, group: Group) -> str:
        """Return a phrase without its verb, in its usual spelling."""
        spellings = group.spellings[subject.words]
        head = self._spell_noun(max(spellings, key=lambda word: (spellings[word], word)))
        of_part = ["of", self._spell_noun(subject.of_noun)] if subject.of_noun else []
        return " ".join([*map(self._usual_spelling, subject.words[:-1]), head, *of_part])

    def _spell_noun(self, word: str) -> str:
        spelling = self._usual_spelling(word)
        return plural(spelling) if singular(word.lower()) in self.countable and spelling.islower() else spelling

    def _usual_spelling(self, word: str) -> str:
        """Return the most frequent spelling of a word. Occurrences within sentences count more than first words."""
        forms = self.forms.get(word.lower())
        return max(forms, key=lambda form: (forms[form], form)) if forms else word.lower()


def _gerund_with_particle(verb: str) -> str:
    first, *particle = verb.split()
    return " ".join([gerund(first), *particle])


def _is_same_noun(first: Subject, second: Subject) -> bool:
    return (first.words, first.of_noun) == (second.words, second.of_noun)
