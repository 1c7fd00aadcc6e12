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

BEFORE_VERBS = word_set("and can could help i let may must or please should shall then to us we will would you")
"""Words after which a task's verb can stand."""

RELATIVES = frozenset({"that", "which"})
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

    of: str = ""
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
    """Yield the clauses of words without punctuation between them. A negated sentence yields none."""
    if not NEGATIONS.isdisjoint(word.lower() for word in words):
        return
    state = _SentenceState()
    for before, word in pairwise(["", *words, ""]):
        verb = "" if state.run else _verb(before.lower(), word.lower())
        if verb:
            state.verb = state.link = verb
        elif _may_name(word, excluded):
            state.run.append(word)
        elif state.run:
            yield from state.end_run(word.lower())
        else:
            state.skip_word(word.lower())


def _verb(before: str, word: str) -> str:
    """Return a word's infinitive, such as `match` for `that matches`, or an empty string if it is no verb there."""
    if before in RELATIVES and is_plural(word) and singular(word) in VERBS:
        return singular(word)
    return word if (not before or before in BEFORE_VERBS) and word in VERBS else ""


@dataclass(slots=True)
class _SentenceState:
    """The state of the parser of a sentence: the verb, the unfinished noun phrase, and the last clause."""

    verb: str = ""
    run: list[str] = field(default_factory=list)
    """Consecutive words that may form a noun phrase."""

    link: str = ""
    """The word before the run."""

    latest: Clause | None = None

    def skip_word(self, word: str) -> None:
        """Read a word that is not part of a noun phrase. Call it only if `run` is empty."""
        if self.verb and self.link == self.verb and word in PARTICLES:
            self.verb = f"{self.verb} {word}"
        elif word in PREPOSITIONS and not (word in CONDITIONS and self.link == self.verb):
            self.verb = ""
        if self.link != "of" or word not in DETERMINERS:  # `area of a cube`
            self.link = word

    def end_run(self, word: str) -> Iterator[Clause]:
        """Read the word after the run, and yield the clauses that end with the run."""
        ends_with_verb = len(self.run) > 1 and is_plural(self.run[-2]) and self.run[-1] in VERBS
        if ends_with_verb or word in DETERMINERS or (word in CONDITIONS and is_plural(self.run[-1])):
            self.run.pop()  # `clients hammer the endpoint`, `goals generate`, `checks if`
        for clause in self._finish_run():
            if word != "of" or clause.phrase.head not in QUANTITIES:
                yield clause
            self.latest = clause
        if word not in ("and", "or", "of"):
            self.verb = ""
        self.run, self.link = [], word

    def _finish_run(self) -> Iterator[Clause]:
        """Yield the clause of the run. If the run follows `of`, first yield the phrase before `of`, with the noun."""
        run, latest, verb = self.run, self.latest, self.verb
        is_no_noun = len(run) == 1 and self.link in NOT_BEFORE_NOUNS and run[0].islower()
        if not run or is_no_noun or not _is_noun(run[-1].lower()):
            return
        if self.link == "of" and latest is not None and singular(run[-1].lower()) not in MEASURES:
            if latest.phrase.head in QUANTITIES:
                verb = latest.verb
            else:
                yield Clause(NounPhrase(latest.phrase.words, run[-1]), latest.verb)
        yield Clause(NounPhrase(tuple(run[-MAX_PHRASE_WORDS:])), verb)


def _is_noun(word: str) -> bool:
    """Return whether a word may be a noun, judged by its ending. `delayed`, `contacting` and `largest` are not."""
    is_past = word.endswith("ed") and word not in NOUNS_IN_ED
    is_participle = word.endswith("ing") and word not in NOUNS_IN_ING
    is_superlative = word.endswith("est") and word not in NOUNS_IN_EST
    if is_past or is_participle or is_superlative:
        return False
    return len(word) > 2 and word not in NOT_NOUNS and singular(word) not in FORM_NOUNS


def _may_name(word: str, excluded: Container[str]) -> bool:
    lower = word.lower()
    if not word or lower in excluded or _CODE_WORD.fullmatch(word) or lower.endswith("ly"):
        return False
    if lower in STOP_WORDS and lower != "case":  # `snake case strings`
        return False
    return not any(lower in words for words in (CODE_WORDS, ADVERBS, ORDINALS, FUNCTION_WORDS))
