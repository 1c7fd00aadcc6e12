"""English word forms for names of domains: `cancel` as `cancelling`, `query` as `queries`."""

from __future__ import annotations

from functools import lru_cache

VOWELS = "aeiou"
MAX_CACHED_STEMS = 50_000
"""Maximum number of cached stems. Most tasks share their words."""


def word_set(text: str) -> frozenset[str]:
    """Return the set of words in a string."""
    return frozenset(text.split())


LIGHT_VERBS = word_set("""
    ask compute calculate determine do find figure get give have help identify implement insist know let look make
    mention need print provide put return say see take tell try use want write
    """)
"""Verbs that describe a task less than their object, such as `find` or `return`."""

VERBS = LIGHT_VERBS | word_set("""
    abort accept activate add adjust administer align analyse analyze answer append apply approve arrange assign attach
    attend audit backfill balance batch benchmark block book boot bring build bump buy cache call cancel capture catch
    categorise categorize change charge chart check choose classify clean clear click clone close collect combine
    compare compile complain complete compose compress concatenate configure confirm connect consolidate construct
    contact convert cool copy correct count crawl create crop cut debug decide decode decrypt decorate deduplicate
    define delay delete deliver deploy describe design detect diagnose disable discount dispatch display divide document
    downgrade download draft draw drop edit eliminate email enable encode encrypt estimate evaluate examine exchange
    execute expand explain export extend extract fetch fill filter finish fix flatten flip fly follow forecast format
    forward free generate group grow handle harden heat highlight import improve increase index inline insert inspect
    install integrate interleave investigate join label launch learn link list load locate lock log lower maintain
    manage map mark match measure merge migrate mirror modify monitor mount move multiply name narrow navigate negate
    normalise normalize notify open optimise optimize order organise organize pack paint parallelise parse partition
    pass paste patch pay permute pick place plan plot predict prepare prevent process produce profile promote prove
    publish purchase push query rank read rebase rebook rebuild recognise recognize recommend recover recolour reconcile
    record recreate reduce refactor refund register release reload remind remove rename render renew reorder repair
    repeat replace reply report reproduce request reschedule reserve reset resize resolve restart restore restructure
    retrieve retry reverse revert review rewrite rotate round run save scale scan schedule scrape search secure select
    send separate serve set settle shift ship shorten shrink shuffle simplify simulate skip slice smooth solve sort
    speed split standardise start stop store strip submit subscribe subtract suggest sum summarise summarize swap switch
    sync synchronise tag test tidy toggle trace track train transfer transform translate transpose trim troubleshoot
    truncate tune turn unblock undo uninstall unify unsubscribe update upgrade upload validate vectorise verify view
    virtualise visualise visualize wash watch wrap
    """)
"""Verbs that tasks begin with. A word counts as a verb only in the position of a verb."""

DOUBLING_VERBS = word_set(
    """
    begin cancel chat clip crop cut debug drop flip format get grab label log map model plan plot program put reset run
    scan set ship shop shut skip split stop strip submit sum swap tag transfer travel trim wrap
    """
)
"""Verbs that double their last letter before -ing, as British English spells them."""


def gerund(verb: str) -> str:
    """Return the -ing form: `cancelling`, `moving`, `tying`."""
    if verb in DOUBLING_VERBS:
        return f"{verb}{verb[-1]}ing"
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return f"{verb[:-1]}ing"
    return f"{verb}ing"


def plural(noun: str) -> str:
    """Return the plural of a noun by its ending: `queries`, `boxes`. A plural stays as it is."""
    if is_plural(noun):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in VOWELS:
        return f"{noun[:-1]}ies"
    if noun.endswith("sis"):
        return f"{noun[:-2]}es"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def singular(noun: str) -> str:
    """Return the singular of a noun by its ending. A word that is not a plural stays as it is."""
    if not is_plural(noun):
        return noun
    if noun.endswith("ies") and len(noun) > 4:
        return f"{noun[:-3]}y"
    return noun[:-2] if noun.endswith(("ches", "shes", "sses", "xes", "zes")) else noun[:-1]


def is_plural(noun: str) -> bool:
    """Return whether a noun ends like a plural."""
    return len(noun) > 3 and noun.endswith("s") and not noun.endswith(("ss", "us", "is"))


@lru_cache(MAX_CACHED_STEMS)
def stem(word: str) -> str:
    """Return the stem that the forms of a word share: `cancel` for `cancels`, `cancelling` and `cancelled`."""
    word = singular(word)
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            word = word.removesuffix(ending)
            word = word[:-1] if word[-1] == word[-2] and word[-1] not in "sz" else word
            break
    return word[:-1] if word.endswith("e") else f"{word[:-1]}i" if word.endswith("y") else word
