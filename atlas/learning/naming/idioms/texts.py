"""Idioms of texts: letters, words and brackets."""

from __future__ import annotations

from atlas.learning.naming.idioms.idiom import idiom

_SMALL_VOWELS = ("'aeiou'", "['a', 'e', 'i', 'o', 'u']", "{'a', 'e', 'i', 'o', 'u'}", "set('aeiou')")
_VOWELS = ("'aeiouAEIOU'", "'AEIOUaeiou'")
_IS_VOWEL = (
    *(f"letter in {vowels}" for vowels in _VOWELS),
    *(f"letter.lower() in {vowels}" for vowels in (*_SMALL_VOWELS, *_VOWELS)),
)
_IS_SMALL_VOWEL = tuple(f"letter in {vowels}" for vowels in _SMALL_VOWELS)
_DEPTH = """
def itself({given}):
    depth = 0
    for character in text:
        if character == {opening}:
            depth += 1
        {closes}
    return depth == 0
"""
_CLOSES = (
    "elif character == {closing}:\n            depth -= 1\n        if depth < 0:\n            return False",
    "if character == {closing}:\n            depth -= 1\n        if depth < 0:\n            return False",
    "elif character == {closing}:\n            depth -= 1\n            if depth < 0:\n                return False",
)
_STACK = """
def itself({given}):
    stack = []
    for character in text:
        if character == {opening}:
            stack.append(character)
        elif character == {closing}:
            {closes}
    return {closed}
"""
_POPS = (
    "if {empty} or stack.pop() != {opening}:\n                return False",
    "if {empty}:\n                return False\n            stack.pop()",
)


def _balanced(given: str, opening: str, closing: str) -> list[str]:
    """Return the ways to check brackets: by how deep they are nested, or by a stack of the open ones."""
    names = {"given": given, "opening": opening, "closing": closing}
    by_depth = [_DEPTH.format(closes=closes.format(**names), **names) for closes in _CLOSES]
    by_stack = [
        _STACK.format(closes=pops.format(empty=empty, **names), closed=closed, **names)
        for pops in _POPS
        for empty in ("not stack", "len(stack) == 0")
        for closed in ("len(stack) == 0", "not stack", "stack == []")
    ]
    return [*by_depth, *by_stack]


TEXTS = (
    idiom(
        "is_palindrome",
        "Tells whether {text} reads the same backwards",
        "lambda text: text == text[::-1]",
        "lambda text: text == ''.join(reversed(text))",
        """
        def itself(text):
            left, right = 0, len(text) - 1
            while left < right:
                if text[left] != text[right]:
                    return False
                left += 1
                right -= 1
            return True
        """,
        "lambda text: list(text) == list(reversed(text))",
        "lambda text: all(text[i] == text[-i - 1] for i in range(len(text) // 2))",
        "lambda text: all(text[i] == text[len(text) - 1 - i] for i in range(len(text) // 2))",
        "lambda text: all(text[i] == text[len(text) - i - 1] for i in range(len(text) // 2))",
    ),
    idiom(
        "is_palindromic_number",
        "Tells whether {n} reads the same backwards when it is written down",
        "lambda n: str(n) == str(n)[::-1]",
    ),
    idiom(
        "count_vowels",
        "Counts the vowels in {text}",
        *(f"lambda text: sum(1 for letter in text if {test})" for test in _IS_VOWEL),
        *(f"lambda text: sum(1 for letter in text.lower() if {test})" for test in _IS_SMALL_VOWEL),
    ),
    idiom(
        "count_lowercase_vowels",
        "Counts the vowels in {text} that are small letters",
        *(f"lambda text: sum(1 for letter in text if {test})" for test in _IS_SMALL_VOWEL),
    ),
    idiom(
        "remove_vowels",
        "Returns {text} without its vowels",
        *(f"lambda text: ''.join(letter for letter in text if not {test})" for test in _IS_VOWEL),
    ),
    idiom(
        "remove_lowercase_vowels",
        "Returns {text} without those vowels that are small letters",
        *(f"lambda text: ''.join(letter for letter in text if not {test})" for test in _IS_SMALL_VOWEL),
    ),
    idiom(
        "is_vowel",
        "Tells whether the character {letter} is a vowel",
        *(f"lambda letter: {test}" for test in _IS_VOWEL),
    ),
    idiom(
        "is_lowercase_vowel",
        "Tells whether the character {letter} is a vowel and a small letter",
        *(f"lambda letter: {test}" for test in _IS_SMALL_VOWEL),
    ),
    idiom(
        "swap_case",
        "Turns capitals of {text} into small letters, and small letters into capitals",
        "lambda text: text.swapcase()",
        "lambda text: ''.join(c.upper() if c.islower() else c.lower() for c in text)",
        "lambda text: ''.join(c.lower() if c.isupper() else c.upper() for c in text)",
        "lambda text: ''.join(c.lower() if c.isupper() else c.upper() if c.islower() else c for c in text)",
        "lambda text: ''.join(c.upper() if c.islower() else c.lower() if c.isupper() else c for c in text)",
    ),
    idiom(
        "reverse_words",
        "Returns the words of {text} in reverse order, with single spaces between them",
        *(f"lambda text: ' '.join({words})" for words in ("text.split()[::-1]", "reversed(text.split())")),
    ),
    idiom(
        "reverse_each_word",
        "Returns the words of {text}, each reversed, with single spaces between them",
        "lambda text: ' '.join(word[::-1] for word in text.split())",
    ),
    idiom("count_words", "Counts the words of {text}", "lambda text: len(text.split())"),
    idiom("count_lines", "Counts the lines of {text}", "lambda text: len(text.splitlines())"),
    idiom(
        "capitalize_words",
        "Returns the words of {text}, each with a first capital and then small letters, and single spaces between",
        *("lambda text: ' '.join(word.capitalize() for word in text.split())",),
    ),
    idiom("lowercase_words", "Lists the words of {text} in small letters", "lambda text: text.lower().split()"),
    idiom(
        "join_as_text",
        "Turns {items} into texts and joins them, with {separator} between them",
        "lambda separator, items: separator.join(str(item) for item in items)",
    ),
    idiom(
        "join_with_spaces",
        "Turns {items} into texts and joins them, with spaces between them",
        "lambda items: ' '.join(str(item) for item in items)",
    ),
    idiom(
        "concatenate_texts",
        "Turns {items} into texts and joins them",
        "lambda items: ''.join(str(item) for item in items)",
    ),
    idiom("join_texts", "Joins {texts} into one", "lambda texts: ''.join(texts)"),
    idiom(
        "join_with_commas",
        "Joins {texts}, with a comma and a space between them",
        "lambda texts: ', '.join(texts)",
    ),
    idiom(
        "join_with_commas",
        "Joins {texts}, with a comma between them",
        "lambda texts: ','.join(texts)",
    ),
    idiom(
        "digits_to_number",
        "Joins {digits}, in their order, into one whole number",
        *(f"lambda digits: int(''.join({value}))" for value in ("digits", "str(digit) for digit in digits")),
    ),
    idiom(
        "remove_from_text remove_substring",
        "Returns {text} without {unwanted}, wherever it stands in it",
        "lambda text, unwanted: text.replace(unwanted, '')",
    ),
    idiom(
        "replace_text",
        "Returns {text} with {new} in place of each {old}",
        "lambda text, old, new: text.replace(old, new)",
    ),
    idiom(
        "sort_letters_of_words",
        "Sorts the characters of each word of {text}",
        "lambda text: ' '.join(''.join(sorted(word)) for word in text.split(' '))",
    ),
    idiom("remove_spaces", "Returns {text} without spaces", "lambda text: text.replace(' ', '')"),
    idiom(
        "remove_characters",
        "Returns {text} without the characters that are in {unwanted}",
        "lambda text, unwanted: ''.join(c for c in text if c not in unwanted)",
    ),
    idiom(
        "remove_uppercase",
        "Returns {text} without its capital letters",
        "lambda text: ''.join(c for c in text if not c.isupper())",
    ),
    idiom(
        "keep_{TEST}_characters",
        "Returns those characters of {text} for which {TEST} holds, as one text",
        "lambda text, TEST: ''.join(c for c in text if TEST(c))",
    ),
    idiom(
        "are_anagrams",
        "Tells whether {text} and {other} have the same characters, each as often",
        "lambda text, other: sorted(text) == sorted(other)",
        "lambda text, other: collections.Counter(text) == collections.Counter(other)",
    ),
    idiom(
        "have_same_items",
        "Tells whether {items} and {others} have the same items, however often each occurs",
        "lambda items, others: set(items) == set(others)",
    ),
    idiom(
        "hamming_distance",
        "Counts the places at which {text} and {other} differ, as far as both go",
        "lambda text, other: sum(1 for a, b in zip(text, other) if a != b)",
        "lambda text, other: sum(1 for i in range(len(text)) if text[i] != other[i])",
    ),
    idiom(
        "letter_from_offset",
        "Returns the character {offset} places after {first}, going round after 26, as for a letter after 'a' or 'A'",
        "lambda offset, first: chr(offset % 26 + ord(first))",
    ),
    idiom(
        "offset_from_a",
        "Computes how far the character {letter} stands behind 'a', 0 for 'a' itself",
        "lambda letter: ord(letter) - ord('a')",
    ),
    idiom(
        "caesar_shift shift_letter",
        "Moves {letter}, a small letter, by {shift} places in the alphabet, going round after z",
        "lambda letter, shift: chr((ord(letter) - ord('a') + shift) % 26 + ord('a'))",
        "lambda letter, shift: chr((ord(letter) - 97 + shift) % 26 + 97)",
    ),
    idiom(
        "caesar_cipher",
        "Moves each letter of {text}, which holds small letters only, by {shift} places in the alphabet, going round",
        "lambda text, shift: ''.join(chr((ord(c) - ord('a') + shift) % 26 + ord('a')) for c in text)",
        "lambda text, shift: ''.join(chr((ord(c) - 97 + shift) % 26 + 97) for c in text)",
    ),
    idiom(
        "are_brackets_balanced is_balanced",
        "Tells whether every {opening} in {text} is closed by a later {closing}, and every {closing} closes one",
        *_balanced("text, opening, closing", "opening", "closing"),
    ),
    idiom(
        "are_parentheses_balanced",
        "Tells whether every ( in {text} is closed by a later ), and every ) closes one",
        *_balanced("text", "'('", "')'"),
    ),
    idiom(
        "are_brackets_balanced",
        "Tells whether every {OPENING} in {text} is closed by a later {CLOSING}, and every {CLOSING} closes one",
        *_balanced("text, OPENING, CLOSING", "OPENING", "CLOSING"),
    ),
    idiom(
        "snake_to_camel",
        "Joins the parts of {text} between underscores, each but the first with capitals at the start of its words",
        """
        def itself(text):
            parts = text.split('_')
            return parts[0] + ''.join(part.title() for part in parts[1:])
        """,
    ),
    idiom(
        "common_prefix",
        "Returns the longest beginning that {text} and {other} share",
        """
        def itself(text, other):
            i = 0
            while i < min(len(text), len(other)) and text[i] == other[i]:
                i += 1
            return text[:i]
        """,
        """
        def itself(text, other):
            i = 0
            while i < len(text) and i < len(other) and text[i] == other[i]:
                i += 1
            return text[:i]
        """,
    ),
    idiom(
        "prefixes all_prefixes",
        "Lists the beginnings of {text} that are not empty, shortest first",
        *(
            f"lambda text: {value}"
            for value in ("[text[:i] for i in range(1, len(text) + 1)]", "[text[:i + 1] for i in range(len(text))]")
        ),
    ),
    idiom(
        "all_substrings all_runs",
        "Lists all runs of one or more neighbours in {text}",
        *(
            "lambda text: [text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1)]",
            "lambda text: [text[i:j + 1] for i in range(len(text)) for j in range(i, len(text))]",
        ),
    ),
    idiom(
        "count_overlapping",
        "Counts where {part} stands in {text}, overlapping ones too",
        *(
            "lambda text, part: sum(1 for i in range(len(text) - len(part) + 1) if text[i:i + len(part)] == part)",
            "lambda text, part: sum(1 for i in range(len(text)) if text[i:].startswith(part))",
        ),
    ),
)
