"""Words for expressions: adjectives for tests such as `x % 2 == 0`, nouns for values such as `len(x)`.

An expression without a word of its own has none: nothing is guessed.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache

from atlas.core.words import words
from atlas.learning.naming.matching import Hole, Match, Pattern, matched_of, pattern_of
from atlas.learning.search.forms.canonical import form_of
from atlas.learning.terms.names import RESERVED

MAX_WORDS = 6
"""Words for one expression. What takes more is not named."""

_UNNAMED = re.compile(r"(?:fn|concept)_\d+")
_NUMBERS = {0: "zero", 1: "one", 2: "two", 3: "three", 10: "ten", 100: "hundred"}

_ADJECTIVES = """
even              OF(it) % 2 == 0
even              not OF(it) % 2
odd               OF(it) % 2 == 1
odd               OF(it) % 2 != 0
{OF}multiple_of_{P}   OF(it) % P == 0
{OF}divisible_by         OF(it) % P == 0
{OF}not_divisible_by     OF(it) % P != 0
divisor           P % OF(it) == 0
empty             len(OF(it)) == 0
empty             OF(it) == ''
empty             OF(it) == []
nonempty          len(OF(it)) > 0
nonempty          len(OF(it)) != 0
nonempty          len(OF(it)) >= 1
uniform               len(set(OF(it))) == 1
{OF}of_length_{P}     len(OF(it)) == P
of_length         len(OF(it)) == P
{OF}longer_than_{P}   len(OF(it)) > P
{OF}longer_than            len(OF(it)) > P
{OF}shorter_than_{P}  len(OF(it)) < P
{OF}shorter_than           len(OF(it)) < P
palindrome        OF(it) == OF(it)[::-1]
{OF}zero              OF(it) == 0
nonzero           OF(it) != 0
positive          OF(it) > 0
negative          OF(it) < 0
non_negative      OF(it) >= 0
non_positive      OF(it) <= 0
{OF}none              OF(it) is None
{OF}not_none          OF(it) is not None
{OF}equal_to_{P}      OF(it) == P
{OF}equal_to             OF(it) == P
{OF}different_from_{P}  OF(it) != P
{OF}different_from         OF(it) != P
{OF}above_{P}         OF(it) > P
{OF}above             OF(it) > P
{OF}below_{P}         OF(it) < P
{OF}below             OF(it) < P
{OF}at_least_{P}      OF(it) >= P
{OF}at_least          OF(it) >= P
{OF}at_most_{P}       OF(it) <= P
{OF}at_most           OF(it) <= P
{OF}between           P <= OF(it) and OF(it) <= Q
{OF}strictly_between  P < OF(it) and OF(it) < Q
lowercase_vowel   OF(it) in 'aeiou'
vowel             OF(it) in 'aeiouAEIOU'
{OF}containing_{P}    P in OF(it)
{OF}containing        P in OF(it)
{OF}not_containing    P not in OF(it)
uppercase         OF(it).isupper()
lowercase         OF(it).islower()
numeric           OF(it).isdigit()
numeric           OF(it).isnumeric()
alphabetic        OF(it).isalpha()
alphanumeric      OF(it).isalnum()
blank             OF(it).isspace()
{OF}starting_with_{P}  OF(it).startswith(P)
{OF}starting_with     OF(it).startswith(P)
{OF}ending_with_{P}   OF(it).endswith(P)
{OF}ending_with       OF(it).endswith(P)
integer           isinstance(OF(it), int)
integer           type(OF(it)) == int
float             isinstance(OF(it), float)
number            isinstance(OF(it), (int, float))
text              isinstance(OF(it), str)
list              isinstance(OF(it), list)
tuple             isinstance(OF(it), tuple)
mapping           isinstance(OF(it), dict)
sorted            OF(it) == sorted(OF(it))
"""

_NOUNS = """
word_count        len(OF(it).split())
line_count        len(OF(it).splitlines())
distinct_count    len(set(OF(it)))
length            len(OF(it))
square            OF(it) ** 2
cube              OF(it) ** 3
square_root       OF(it) ** 0.5
power             OF(it) ** P
power_of_two      2 ** OF(it)
absolute_value    abs(OF(it))
integer           int(OF(it))
float             float(OF(it))
text              str(OF(it))
rounded           round(OF(it))
rounded           round(OF(it), P)
first_item        OF(it)[0]
second_item       OF(it)[1]
last_item         OF(it)[-1]
lowercase         OF(it).lower()
uppercase         OF(it).upper()
capitalized       OF(it).capitalize()
stripped          OF(it).strip()
reversed          OF(it)[::-1]
words             OF(it).split()
lines             OF(it).splitlines()
sum               sum(OF(it))
max               max(OF(it))
min               min(OF(it))
sorted            sorted(OF(it))
sorted_descending sorted(OF(it), reverse=True)
distinct          set(OF(it))
distinct          list(set(OF(it)))
character_code    ord(OF(it))
character         chr(OF(it))
binary_text       bin(OF(it))
remainder_by_{P}  OF(it) % P
double            OF(it) * 2
triple            OF(it) * 3
floor_half        OF(it) // 2
half              OF(it) / 2
negation          -OF(it)
digit_sum         sum(int(d) for d in str(OF(it)))
digits            [int(d) for d in str(OF(it))]
occurrences       P.count(OF(it))
occurrences       OF(it).count(P)
tuple             tuple(OF(it))
list              list(OF(it))
keys              OF(it).keys()
values            OF(it).values()
keys              list(OF(it).keys())
values            list(OF(it).values())
{OF}plus_one      OF(it) + 1
{OF}minus_one     OF(it) - 1
factorial         math.factorial(OF(it))
"""

_LIKE_ADJECTIVES = frozenset(
    "capitalized distinct lowercase reversed rounded sorted stripped uppercase".split()  # noqa: SIM905
)
"""Nouns that stand before another one without `of`: `reversed_text`."""

_SEVERAL = frozenset({"words", "lines", "digits", "keys", "values", "occurrences"})
"""Nouns of which a test would be taken for one of each of them."""

_OPERATORS: dict[type[ast.operator], str] = {
    **{ast.Add: "plus", ast.Sub: "minus", ast.Mult: "times", ast.Div: "over", ast.FloorDiv: "floor_over"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    words: str
    pattern: Pattern


@cache
def _rows(table: str) -> tuple[_Row, ...]:
    rows = []
    for line in table.strip().splitlines():
        said, source = line.split(maxsplit=1)
        tree = ast.parse(f"def itself(it, OF, P, Q):\n    return {source}")
        function = tree.body[0]
        assert isinstance(function, ast.FunctionDef)
        rows.append(_Row(words=said, pattern=pattern_of(form_of(function))))
    return tuple(rows)


def adjective(test: ast.expr, subject: str) -> str:
    """Return a word for what a test says of a variable, such as `even` or `above_zero`, empty where there is none."""
    match test:
        case ast.BoolOp(values=[one, other]):
            first, second = adjective(one, subject), adjective(other, subject)
            joined = f"{first}_{'and' if isinstance(test.op, ast.And) else 'or'}_{second}"
            whole = _from_rows(_ADJECTIVES, test, subject)
            return whole or (_short(joined) if first and second and first != second else "")
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            whole = _from_rows(_ADJECTIVES, test, subject)
            word = adjective(inner, subject)
            return whole or (_short(f"not_{word}") if word and "_and_" not in word and "_or_" not in word else "")
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=given)], keywords=[]) if given == subject:
            known = re.fullmatch(r"(?:is|has|are)_(\w+)", name)
            return known[1] if known else _from_rows(_ADJECTIVES, test, subject)
    return _from_rows(_ADJECTIVES, test, subject)


def noun(value: ast.expr, subject: str) -> str:
    """Return a word for a value that is made of a variable, such as `length`, empty where there is none."""
    known = _from_rows(_NOUNS, value, subject)
    if known:
        return known
    match value:
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            sides = [_side(side, subject) for side in (left, right)]
            return _short(f"{sides[0]}_{_OPERATORS[type(operator)]}_{sides[1]}") if all(sides) else ""
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=given)], keywords=[]) if given == subject:
            return name.strip("_") if _is_telling(name) else ""
    return ""


def has_noun(said: str) -> bool:
    """Return whether the words for a test are about a value made of its variable, such as `even_length`."""
    return any(f"_{word}_" in f"_{said}_" for word in _heads(_NOUNS) - _heads(_ADJECTIVES))


def _heads(table: str) -> frozenset[str]:
    return frozenset(line.split()[0] for line in table.strip().splitlines() if "{" not in line.split()[0])


def several(word: str) -> str:
    """Return the word for several things of which a test is true: `integers` for `integer`, but `even` for `even`."""
    return f"{word}s" if word in _KINDS else word


_KINDS = frozenset(
    {
        "integer",
        "float",
        "number",
        "text",
        "list",
        "tuple",
        "mapping",
        "vowel",
        "lowercase_vowel",
        "palindrome",
        "divisor",
    }
)


def plural(words_of_it: str) -> str:
    """Return `lengths_of_first_item` for `length_of_first_item`."""
    head, of, rest = words_of_it.partition("_of_")
    last = head.rpartition("_")[2]
    if not last or last in _UNCOUNTED or last.endswith("s"):
        return words_of_it
    ending = "es" if last.endswith(("x", "ch", "sh")) else "s"
    return f"{head}{ending}{of}{rest}"


_UNCOUNTED = frozenset(
    "max min one sorted reversed lowercase uppercase capitalized stripped rounded distinct descending".split()  # noqa: SIM905
)


def _side(value: ast.expr, subject: str) -> str:
    match value:
        case ast.Constant(value=int(number)) if type(number) is int:
            return _NUMBERS.get(number, "")
    return noun(value, subject)


def _is_telling(name: str) -> bool:
    """Return whether the name of a function that is called is a word for what it returns."""
    is_noun = name.islower() and not re.match(r"_*(is|has|are|to|get|make)_", name)
    return is_noun and bool(words(name)) and not _UNNAMED.match(name) and name not in RESERVED


def _from_rows(table: str, value: ast.expr, subject: str) -> str:
    found = ((row, matched_of(row.pattern, value, subject)) for row in _rows(table))
    joint = "_" if table == _ADJECTIVES else "_of_"
    said = (_said(row.words, match, subject, joint) for row, match in found if match is not None)
    return next((text for text in said if text), "")


def _said(template: str, match: Match, subject: str, joint: str) -> str:
    """Return a row's words with those of the value that it is said of: `even_length`, but `square_of_length`."""
    has_number = "{P}" in template
    if has_number:
        number = _constant(match.holes.get("P"))
        template = template.replace("{P}", number) if number else ""
    elif not all(isinstance(hole.value, ast.Name) for name, hole in match.holes.items() if name != "OF"):
        return ""  # `above` says enough of a parameter, and too little of anything else
    inner = match.holes["OF"].value
    if not template or (isinstance(inner, ast.Name) and inner.id == subject):
        return template.replace("{OF}", "")
    what = noun(inner, subject)
    is_unclear = "{OF}" in template and not has_number and len(match.holes) > 1
    if is_unclear or template.removeprefix("{OF}") in ("none", "not_none"):
        return ""
    if what in _SEVERAL and (joint == "_" or template == "length"):
        return ""  # `empty_words` would be words that are empty, and `length_of_lines` that of each
    if joint == "_" and (template in _KINDS or what.partition("_")[0] in _LIKE_ADJECTIVES):
        return ""  # `even_length` is clear, and `vowel_lowercase_first_item` is not
    joint = "_" if template in _LIKE_ADJECTIVES else joint
    whole = template if "{OF}" in template else f"{template}{joint}{{OF}}"
    return _short(whole.replace("{OF}", f"{what}_" if "{OF}" in template else what)) if what else ""


def _constant(hole: Hole | None) -> str:
    match hole:
        case Hole(value=ast.Constant(value=int(number))) if type(number) is int and 0 <= number < 10_000:
            return _NUMBERS.get(number, str(number))
        case Hole(value=ast.Name(id=name)) if len(name) > 1 and name.isupper():  # a constant of the programs
            return name.lower()
        case Hole(value=ast.Constant(value=str(text))) if re.fullmatch(r"[a-z][a-z0-9]{0,11}", text):
            return text
    return ""


def _short(text: str) -> str:
    return text if len(text.split("_")) <= MAX_WORDS else ""
