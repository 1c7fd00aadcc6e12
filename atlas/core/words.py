"""The content words of a text, and texts cut at a word."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|[。\uff01\uff1f]")

STOP_WORDS = frozenset(
    """
    a about above after again against all also although always am among an and another any anybody anyone anything are
    args around as ask asked asks at away back be because been before behind being below best better between both but
    by called came can cannot case come comes could current currently def did different do does doesn doing don done
    down during each either else end ends even ever every everything example expected false few find finds first
    following for found from full further gave get gets getting give given gives giving go goes going good got had
    happens has have having he help her here hers herself him himself his how however if in inside instead int into is
    isn it its itself just keep keeps kept knew know known knows kwargs last later least less let lets like likely
    long look looking looks lot made main make makes making many may maybe me mean means might more most much must my
    myself name named near need needed needs never new next no nobody none nor not nothing now of off often old on
    once one ones only onto or other others otherwise our ours out outside over own part per perhaps please possible
    provide provided put quite rather really reply return returned returning returns right said same say saying says
    see seems seen self several shall she should show shown shows since single so some somebody someone something soon
    still str such sure take taken takes taking tell than thank thanks that the their theirs them themselves then
    there these they thing things this those though three through thus time times to together told too took toward
    true try trying two under unless until up upon us use used user uses using usual usually value values various very
    via want wanted wants was wasn way ways we well went were what whatever when whenever where whether which while
    who whole whom whose why will wish wishes with within without won work working works would write writing written
    wrote yes yet you your yours yourself
    """.split()  # noqa: SIM905  (a list of it would fill the page)
)


FUNCTION_WORDS = frozenset(
    """
    a about above across after again against all almost along already also although always am among an and another any
    anybody anyone anything are around as at away be because been before behind being below beneath beside besides
    between beyond both but by can cannot could did do does doing done down during each either else enough etc even ever
    every everybody everyone everything few for from further had has have having he her here hers herself him himself
    his how however i if in indeed instead into is it its itself just least less many may maybe me might mine more most
    much must my myself near neither never no nobody none nor not nothing now of off often on once one ones only onto or
    other others otherwise ought our ours ourselves out over own perhaps please quite rather really shall she should
    since so some somebody someone something sometimes soon still such than that the their theirs them themselves then
    there therefore these they this those though through throughout thus till to together too toward towards under
    unless until up upon us very was we well were what whatever when whenever where wherever whether which while who
    whoever whom whose why will with within without would yet you your yours yourself yourselves
    ain aren couldn didn doesn don hadn hasn haven isn ll mustn needn re shan shouldn ve wasn weren won wouldn s t d m
    """.split()  # noqa: SIM905  (a list of it would fill the page)
)
"""English words of the closed classes, such as pronouns, and the parts of contractions, such as `ll`."""


def content_words(text: str) -> set[str]:
    """Return the content words of a text in lower case. Stop words and words with digits, such as ids, are left out."""
    words = set[str]()
    for token in _WORD.findall(text):
        if any(character.isdigit() for character in token):
            continue
        for part in _CAMEL.sub("_", token).lower().split("_"):
            if 3 <= len(part) <= 24 and part not in STOP_WORDS:
                words.add(part)
    return words


def shortened(text: str, limit: int) -> str:
    """Return a string truncated to at most `limit` characters, with `…` after the last whole word."""
    if len(text) <= limit:
        return text
    word_end = text.rfind(" ", limit // 2, limit)  # a word of more than half the text is cut itself
    return f"{text[: limit - 1 if word_end < 0 else word_end].rstrip(' ·,;:')}…"


def first_sentences(text: str, limit: int) -> str:
    """Return the whole sentences within the first `limit` characters, or the first words if one sentence is longer.

    `…` stands for what is left out.
    """
    ends = [match.end() for match in _SENTENCE_END.finditer(text[: limit + 1]) if match.end() <= limit]
    return f"{text[: ends[-1]]} …" if ends and len(text) > limit else shortened(text, limit)
