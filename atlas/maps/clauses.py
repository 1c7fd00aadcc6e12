"""Noun phrases of tasks, each with its verb, found by a few rules over words and punctuation."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from atlas.core.words import FUNCTION_WORDS, STOP_WORDS
from atlas.maps.grammar import VERBS, is_plural, singular, word_set

MAX_PHRASE_WORDS = 3
"""Maximum number of words of a noun phrase."""

WORDS_BEFORE_VERBS = word_set("and can could help i let may must or please should shall then to us we will would you")
"""Words after which a task's verb can stand."""

RELATIVE_PRONOUNS = frozenset({"that", "which"})
"""Words after which a task's verb can stand in the third person: `a function that matches a string`."""

NEGATIONS = word_set("never not no without don't doesn't didn't can't won't don doesn didn won")
FORM_NOUNS = word_set(
    "agent assistant code example function input method output problem program question script solution str"
)
"""Nouns that name the form of a task and never its subject."""

VAGUE_NOUNS = word_set("""
    amount anybody array case check condition data day detail dollar element euro example hour id index information
    integer issue item kind line list message minute month note number option order pair people person place problem
    process reason rest result side start state step string system task text thing total type user value variable
    way week word year
    """)
"""Nouns that name a subject only together with other words."""

ADVERBS = word_set("anyway earlier sooner today tomorrow tonight twice yesterday")
ORDINALS = word_set("second third fourth fifth")
QUANTITIES = word_set("""
    amount beginning count end half kind length majority maximum minimum number occurrence rest size start total type
    """)
"""Nouns before `of` that only state an amount."""

MEASURES = word_set("form length order size")
"""Nouns after `of` that only describe another noun."""

DETERMINERS = word_set("a an every her his its my our the their these this those your")
"""Words before an object, and after its verb."""

NOT_NOUNS = word_set("""
    agrees alive alphanumeric appears available becomes begins belongs black blue coincides consider consists contains
    divisible empty equal equals even except exists expects fails false finishes follows free green happens invalid
    keeps less necessary needs negative occurs odd positive prefer prime red represents returns satisfies starts strange
    takes true unique valid wants white works worth
    """)
"""Words that can end a phrase as a noun does, but are no nouns: `check whether it is valid`."""

NOUNS_IN_EST = word_set(
    "chest contest digest forest guest harvest interest invest manifest quest request rest test west"
)
NOUNS_IN_ED = word_set("bed breed embed feed hundred need seed shed sled speed weed")

CODE_WORDS = word_set("arr arrs dict int ints lst md nums obj str strs")
NOT_BEFORE_NOUNS = word_set("""
    also am are be been being can could did do does had has have he i is it may might must not really she should so that
    there they to too very was we were which who will would you
    """)
"""Words after which a word that stands alone is an adjective or a verb."""

NOUNS_IN_ING = word_set("building ceiling listing meeting morning pricing rating setting spring string training")

PARTICLES = word_set("about off out up")
"""Words that belong to the verb that they follow: `complain about`."""

PREPOSITIONS = word_set("at between by for from if in into on over through to under when where with within without")
"""Words after which nothing is the verb's object."""

CONDITIONS = frozenset({"if", "whether"})
"""Words between a verb and what it examines: `check whether the number is prime`."""

_SENTENCE = re.compile(r"[.,;:!?()\[\]{}\n\"“”…|=<>*#]+|\s[-–—/]\s|\b'|'\b(?![a-z]\b)")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CODE_WORD = re.compile(r".*\d.*|[A-Z]{5,}|(?i:abc)\w*|.")
"""Words that are codes, such as `HXDUBJ`, letters in alphabetical order, or single letters."""


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with the words before it that belong to it, such as `upcoming flights`."""

    words: tuple[str, ...]
    """The words in their order, the noun last."""

    of_noun: str = ""
    """The noun after `of`, if one follows."""

    @property
    def head(self) -> str:
        """The noun in the singular, in lower case."""
        return singular(self.words[-1].lower())


@dataclass(frozen=True, slots=True)
class Clause:
    """A noun phrase with the verb whose object it is."""

    phrase: NounPhrase
    verb: str = ""
    """Empty if the phrase is not the object of a verb."""


def find_clauses(text: str, excluded: Container[str]) -> Iterator[Clause]:
    """Yield the noun phrases of a text in their order, each with its verb.

    Args:
        text: Prose.
        excluded: Words in lower case to ignore, such as names of people.
    """
    for sentence in _SENTENCE.split(text):
        yield from _sentence_clauses(_WORD.findall(sentence), excluded)


def _sentence_clauses(words: Sequence[str], excluded: Container[str]) -> Iterator[Clause]:
    """Yield the clauses of a sentence, given its words. A negated sentence yields none."""
    if not NEGATIONS.isdisjoint(word.lower() for word in words):
        return
    state = _SentenceState()
    for previous_word, word in pairwise(["", *words, ""]):
        verb = "" if state.noun_words else _infinitive_of_verb(previous_word.lower(), word.lower())
        if verb:
            state.verb = state.word_before = verb
        elif _may_belong_to_noun_phrase(word, excluded):
            state.noun_words.append(word)
        elif state.noun_words:
            yield from state.end_noun_phrase(word.lower())
        else:
            state.skip_word(word.lower())


def _infinitive_of_verb(previous_word: str, word: str) -> str:
    """Return a word's infinitive, such as `match` for `that matches`, or an empty string if it is no verb there."""
    if previous_word in RELATIVE_PRONOUNS and is_plural(word) and singular(word) in VERBS:
        return singular(word)
    return word if (not previous_word or previous_word in WORDS_BEFORE_VERBS) and word in VERBS else ""


@dataclass(slots=True)
class _SentenceState:
    """The state of the parser of a sentence: the verb, the unfinished noun phrase, and the last clause."""

    verb: str = ""
    noun_words: list[str] = field(default_factory=list)
    """Consecutive words that may form a noun phrase."""

    word_before: str = ""
    """The word before `noun_words`."""

    latest_clause: Clause | None = None

    def skip_word(self, word: str) -> None:
        """Read a word that is not part of a noun phrase. Call it only if `noun_words` is empty."""
        if self.verb and self.word_before == self.verb and word in PARTICLES:
            self.verb = f"{self.verb} {word}"
        elif word in PREPOSITIONS and not (word in CONDITIONS and self.word_before == self.verb):
            self.verb = ""
        if self.word_before != "of" or word not in DETERMINERS:  # `area of a cube`
            self.word_before = word

    def end_noun_phrase(self, next_word: str) -> Iterator[Clause]:
        """Read the word after a noun phrase, and yield the clauses that end with the phrase."""
        ends_with_verb = len(self.noun_words) > 1 and is_plural(self.noun_words[-2]) and self.noun_words[-1] in VERBS
        if ends_with_verb or next_word in DETERMINERS or (next_word in CONDITIONS and is_plural(self.noun_words[-1])):
            self.noun_words.pop()  # `clients hammer the endpoint`, `goals generate`, `checks if`
        for clause in self._finish_noun_phrase():
            if next_word != "of" or clause.phrase.head not in QUANTITIES:
                yield clause
            self.latest_clause = clause
        if next_word not in ("and", "or", "of"):
            self.verb = ""
        self.noun_words, self.word_before = [], next_word

    def _finish_noun_phrase(self) -> Iterator[Clause]:
        """Yield the clause of the noun phrase. After `of`, first yield the phrase before it, with the noun."""
        words, previous, verb = self.noun_words, self.latest_clause, self.verb
        is_no_noun = len(words) == 1 and self.word_before in NOT_BEFORE_NOUNS and words[0].islower()
        if not words or is_no_noun or not _is_noun(words[-1].lower()):
            return
        if self.word_before == "of" and previous is not None and singular(words[-1].lower()) not in MEASURES:
            if previous.phrase.head in QUANTITIES:
                verb = previous.verb
            else:
                yield Clause(NounPhrase(previous.phrase.words, words[-1]), previous.verb)
        yield Clause(NounPhrase(tuple(words[-MAX_PHRASE_WORDS:])), verb)


def _is_noun(word: str) -> bool:
    """Return whether a word may be a noun, judged by its ending. `delayed`, `contacting` and `largest` are not."""
    is_past_form = word.endswith("ed") and word not in NOUNS_IN_ED
    is_participle = word.endswith("ing") and word not in NOUNS_IN_ING
    is_superlative = word.endswith("est") and word not in NOUNS_IN_EST
    if is_past_form or is_participle or is_superlative:
        return False
    return len(word) > 2 and word not in NOT_NOUNS and singular(word) not in FORM_NOUNS


def _may_belong_to_noun_phrase(word: str, excluded: Container[str]) -> bool:
    lower = word.lower()
    if not word or lower in excluded or _CODE_WORD.fullmatch(word) or lower.endswith("ly"):
        return False
    if lower in STOP_WORDS and lower != "case":  # `snake case strings`
        return False
    return not any(lower in word_list for word_list in (CODE_WORDS, ADVERBS, ORDINALS, FUNCTION_WORDS))
