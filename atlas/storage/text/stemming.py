"""Porter's stemmer for English.

Source:
    M. F. Porter, An algorithm for suffix stripping, Program 14 (3), 1980, with the two changes in his own program
    (-bli and -logi), which SQLite's tokenizer `porter` has too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = {
    **dict.fromkeys(("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou"), ""),
    **dict.fromkeys(("ism", "ate", "iti", "ous", "ive", "ize"), ""),
}
_LONGEST = 7
_VOWELS = str.maketrans("abcdefghijklmnopqrstuvwxz", "vcccvcccvcccccvcccccvcccc")  # y is either


@lru_cache(maxsize=2**15)
def stem(word: str) -> str:
    """Return the stem of a word in letters from a to z. Words of one or two letters are unchanged."""
    if len(word) < 3:
        return word
    word = _remove_plural(word)
    word = _remove_past(word)
    if word.endswith("y") and "v" in _letter_pattern(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_suffix(word, _STEP_2, measure_above=0)
    word = _replace_suffix(word, _STEP_3, measure_above=0)
    if not word.endswith("ion") or word.endswith(("sion", "tion")):
        word = _replace_suffix(word, _STEP_4, measure_above=1)
    return _remove_final_letter(word)


def _remove_plural(word: str) -> str:
    """Apply step 1a of the Porter stemmer: remove the ending of a plural."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _remove_past(word: str) -> str:
    """Apply step 1b: remove `-ed`, `-eed` and `-ing`."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        root = word.removesuffix(ending)
        if root != word:
            return _restore_base_form(root) if "v" in _letter_pattern(root) else word
    return word


def _restore_base_form(word: str) -> str:
    """Return the base form of a word whose -ed or -ing was removed."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if len(word) > 1 and word[-1] == word[-2] and _letter_pattern(word)[-1] == "c":
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_short(word) else word


def _replace_suffix(word: str, endings: Mapping[str, str], *, measure_above: int) -> str:
    """Apply one of steps 2 to 4: replace the longest suffix, if the measure of the stem exceeds a number."""
    for n_letters in range(_LONGEST, 1, -1):
        ending = word[-n_letters:]
        if ending in endings:
            root = word[: -len(ending)]
            return root + endings[ending] if _measure(root) > measure_above else word
    return word


def _remove_final_letter(word: str) -> str:
    """Apply step 5: remove a final `e`, and one `l` of two."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _letter_pattern(word: str) -> str:
    """Return a word's letters as c for consonants and v for vowels. Y is a vowel after a consonant."""
    shape = word.translate(_VOWELS)
    while "y" in shape:
        before, _, after = shape.partition("y")
        shape = f"{before}{'v' if before.endswith('c') else 'c'}{after}"
    return shape


def _measure(word: str) -> int:
    """Return the number of consonant groups after a vowel, about the number of closed syllables."""
    return _letter_pattern(word).count("vc")


def _ends_short(word: str) -> bool:
    """Return whether a word ends in consonant, vowel, consonant, where the last is not w, x or y."""
    return _letter_pattern(word).endswith("cvc") and word[-1] not in "wxy"
