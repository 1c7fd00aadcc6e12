"""Detection of a text's language by its script or its function words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

ENGLISH = "en"

MIN_SHARE = 0.05
"""Minimum share of texts in a language for the language to count. Single names and quotations do not suffice."""

_SCRIPTS = {
    "ja": re.compile("[\u3041-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7a3]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "ar": re.compile("[\u0600-\u06ff]"),
}
"""Characters that identify a language, in order of precedence: Japanese texts contain Chinese characters too."""

_MIN_SCRIPT_SHARE = 0.2
"""Minimum share of a text's letters in a script. A Chinese word has fewer letters than an English one."""

_FUNCTION_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        ENGLISH: "the of and to is are was were that this it for with on not be by from at or an have has which when "
        "how what why where does do did should my we they their its would could than into as if a i in you your can "
        "need some any please there about been make",
        "de": "der die das und ist nicht ein eine einen einem einer den dem des mit auf für von zu im ich wir sie "
        "er es wie was wird werden wurde aber auch sich als bei nach aus kann oder wenn noch nur zur zum beim "
        "vor über",
        "fr": "le la les des du et est un une dans pour pas que qui sur avec au aux nous vous il elle sont ce cette "
        "ces mais ou où par plus se sa son ne je leur été comme quand faut sans sous peut après",
        "es": "el la los las de y es un una en por para que no con del al se lo su sus como pero más este esta qué "
        "cómo cuando cuándo donde si muy ya son fue sin sobre mi me puede cada porque",
        "it": "il lo la gli le di e è un una che non per con del della dei delle nel nella sul da si sono come ma "
        "più anche questo questa quando dopo ha ho al alla ai perché dove quanto senza ogni può",
        "pt": "o a os as de e é um uma que não com para por em no na nos nas do da dos das ao se mais como mas foi "
        "são pelo pela onde quando sem ou sua seu qual você depois já pode",
        "nl": "de het een en is niet van in op te dat die voor met zijn er aan ook als maar om bij ik we wij je "
        "naar uit hoe wat waar waarom wordt werd kan door nog geen deze over hun was",
        "pl": "i w na z do nie się jest to że jak o po od za przez dla czy ale lub są był była było tym jego jej "
        "które który która przy bez gdy już może oraz ze we ile kiedy gdzie kto",
    }.items()
}
"""Frequent words of languages in the Latin script. A word that two of them share counts for both."""

_LATIN = re.compile(r"[^\W\d_]+")


def detect_languages(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the languages of some texts, the most frequent first. English if none is recognised."""
    counts = Counter(filter(None, map(language_of, texts)))
    min_count = MIN_SHARE * len(texts)
    return tuple(language for language, count in counts.most_common() if count >= min_count) or (ENGLISH,)


def language_of(text: str) -> str:
    """Return the code of a text's language, such as `de`, or an empty string if it is not recognised."""
    n_letters = sum(map(str.isalpha, text))
    for language, script in _SCRIPTS.items():
        if len(script.findall(text)) > _MIN_SCRIPT_SHARE * n_letters:
            return language
    words = [word.lower() for word in _LATIN.findall(text)]
    counts = {
        language: sum(word in function_words for word in words) for language, function_words in _FUNCTION_WORDS.items()
    }
    highest, second_highest = sorted(counts.values(), reverse=True)[:2]
    return max(counts, key=lambda language: counts[language]) if highest > second_highest else ""
