"""Idioms of records and of lists that are read by value: rows of a table, pairs, thresholds, and parts of texts."""

from __future__ import annotations

from atlas.learning.naming.idioms.idiom import idiom

RECORDS = (
    idiom(
        "select_by_field",
        "Lists those of {rows} that have {value} at {key}",
        "lambda rows, key, value: [row for row in rows if row[key] == value]",
    ),
    idiom(
        "field_of_each",
        "Lists what each of {rows} has at {key}",
        "lambda rows, key: [row[key] for row in rows]",
    ),
    idiom(
        "index_by_field",
        "Returns a mapping from what each of {rows} has at {key} to that row, the last where several have the same",
        "lambda rows, key: {row[key]: row for row in rows}",
    ),
    idiom(
        "sum_by_field",
        "Adds up what {rows} have at {amount}, separately for each value that they have at {key}",
        """
        def itself(rows, key, amount):
            totals = {}
            for row in rows:
                totals[row[key]] = totals.get(row[key], 0) + row[amount]
            return totals
        """,
    ),
    idiom(
        "contains_both",
        "Tells whether both {item} and {other} are in {items}",
        "lambda items, item, other: item in items and other in items",
    ),
    idiom(
        "without_none_values",
        "Returns a mapping of those pairs of {mapping} whose value is not None",
        "lambda mapping: {key: value for key, value in mapping.items() if value is not None}",
    ),
    idiom(
        "without_keys",
        "Returns a mapping of those pairs of {mapping} whose key is not in {keys}",
        "lambda mapping, keys: {key: value for key, value in mapping.items() if key not in keys}",
    ),
    idiom(
        "only_keys",
        "Returns a mapping of those pairs of {mapping} whose key is in {keys}",
        "lambda mapping, keys: {key: value for key, value in mapping.items() if key in keys}",
        "lambda mapping, keys: {key: mapping[key] for key in keys if key in mapping}",
    ),
    idiom(
        "keys_with_value",
        "Lists the keys of {mapping} whose value equals {wanted}",
        "lambda mapping, wanted: [key for key, value in mapping.items() if value == wanted]",
    ),
    idiom(
        "values_in_key_order",
        "Lists the values of {mapping}, sorted by their keys",
        "lambda mapping: [mapping[key] for key in sorted(mapping)]",
    ),
    idiom(
        "map_values",
        "Returns a mapping from the keys of {mapping} to what {function} gives for their values",
        "lambda mapping, function: {key: function(value) for key, value in mapping.items()}",
    ),
    idiom(
        "add_values_of",
        "Returns a copy of {counts} to which the values of {others} are added, key by key",
        """
        def itself(counts, others):
            total = dict(counts)
            for key, value in others.items():
                total[key] = total.get(key, 0) + value
            return total
        """,
    ),
    idiom(
        "parse_integers",
        "Turns the parts of {text} between each {separator} into whole numbers",
        "lambda text, separator: [int(part) for part in text.split(separator)]",
    ),
    idiom(
        "split_each_line",
        "Cuts each line of {text} at each {separator}, and lists the lists of its parts",
        "lambda text, separator: [line.split(separator) for line in text.splitlines()]",
    ),
    idiom(
        "strip_each_line",
        "Lists the lines of {text} without space around them",
        "lambda text: [line.strip() for line in text.splitlines()]",
    ),
    idiom(
        "lines_with_content",
        "Lists those lines of {text} that hold more than white space",
        "lambda text: [line for line in text.splitlines() if line.strip()]",
    ),
    idiom(
        "longest_word",
        "Returns the longest of the words between the blanks of {text}, the first one on ties",
        "lambda text: max(text.split(), key=len)",
    ),
    idiom(
        "repeat_each_character",
        "Returns {text} with each character {n} times",
        "lambda text, n: ''.join(c * n for c in text)",
    ),
    idiom(
        "has_all_letters is_pangram",
        "Tells whether each of the letters a to z occurs in {text}, as a small letter or a capital",
        "lambda text: set('abcdefghijklmnopqrstuvwxyz') <= set(text.lower())",
        "lambda text: set(string.ascii_lowercase) <= set(text.lower())",
    ),
    idiom(
        "starts_with_vowel",
        "Tells whether the first character of {text} is a vowel",
        *(f"lambda text: text[0].lower() in {vowels}" for vowels in ("'aeiou'", "['a', 'e', 'i', 'o', 'u']")),
        "lambda text: text[0] in 'aeiouAEIOU'",
    ),
    idiom(
        "collapse_runs",
        "Returns {text} with one character in place of several equal ones beside each other",
        """
        def itself(text):
            out = ''
            for c in text:
                if not out or out[-1] != c:
                    out += c
            return out
        """,
    ),
    idiom(
        "all_suffixes",
        "Lists the ends of {text} that are not empty, longest first",
        "lambda text: [text[i:] for i in range(len(text))]",
    ),
    idiom(
        "replace_equal",
        "Lists {items} with {new} in place of those that equal {old}",
        "lambda items, old, new: [new if item == old else item for item in items]",
    ),
    idiom(
        "drop_falsy",
        "Lists those of {items} that count as true",
        "lambda items: [item for item in items if item]",
    ),
    idiom(
        "partition_by",
        "Splits {items} into a list of those for which {test} is true and a list of the others",
        "lambda items, test: ([item for item in items if test(item)], [item for item in items if not test(item)])",
    ),
    idiom(
        "split_by_parity",
        "Splits {numbers} into a list of the even and a list of the odd ones",
        *(
            f"lambda numbers: ([n for n in numbers if n % 2 == 0], [n for n in numbers if {odd}])"
            for odd in ("n % 2 == 1", "n % 2 != 0")
        ),
    ),
    idiom(
        "items_at",
        "Lists the items of {items} at each of {indices}",
        "lambda items, indices: [items[i] for i in indices]",
    ),
    idiom(
        "indices_in_sorted_order",
        "Lists the indices of {items} in the order that would sort {items}",
        "lambda items: sorted(range(len(items)), key=lambda i: items[i])",
    ),
    idiom(
        "are_neighbours_different",
        "Tells whether each of {items} is different from the one before it",
        "lambda items: all(one != other for one, other in zip(items, items[1:]))",
        "lambda items: all(items[i] != items[i + 1] for i in range(len(items) - 1))",
    ),
    idiom(
        "has_equal_steps",
        "Tells whether all differences of neighbours in {numbers} are equal",
        "lambda numbers: len(set(other - one for one, other in zip(numbers, numbers[1:]))) <= 1",
        "lambda numbers: len({other - one for one, other in zip(numbers, numbers[1:])}) <= 1",
    ),
    idiom(
        "moving_sums",
        "Lists the sums of each {size} items that follow each other in {numbers}",
        "lambda numbers, size: [sum(numbers[i:i + size]) for i in range(len(numbers) - size + 1)]",
    ),
    idiom(
        "divide_by_sum normalize",
        "Divides each of {numbers} by the sum of all of them, and lists the results",
        """
        def itself(numbers):
            total = sum(numbers)
            return [number / total for number in numbers]
        """,
        "lambda numbers: [number / sum(numbers) for number in numbers]",
    ),
    idiom(
        "variance",
        "Computes the mean of the squared differences of {numbers} from their mean",
        """
        def itself(numbers):
            mean = sum(numbers) / len(numbers)
            return sum((number - mean) ** 2 for number in numbers) / len(numbers)
        """,
        "lambda numbers: statistics.pvariance(numbers)",
    ),
    idiom(
        "collatz_length",
        "Counts the steps from {n} to 1, where an even number is halved, and an odd one taken three times and one more",
        *(
            f"""
            def itself(n):
                steps = 0
                while n != 1:
                    n = {step}
                    steps += 1
                return steps
            """
            for step in ("n // 2 if n % 2 == 0 else 3 * n + 1", "3 * n + 1 if n % 2 == 1 else n // 2")
        ),
    ),
    idiom(
        "digits_in_base",
        "Lists the digits of {n}, which is not negative, in base {base}, or none of them if {n} is 0",
        """
        def itself(n, base):
            digits = []
            while n:
                digits.append(n % base)
                n //= base
            return digits[::-1]
        """,
    ),
    idiom(
        "multiples_up_to",
        "Lists the multiples of {factor} from itself up to {limit}",
        "lambda factor, limit: [n for n in range(factor, limit + 1) if n % factor == 0]",
        "lambda factor, limit: list(range(factor, limit + 1, factor))",
    ),
    idiom(
        "are_coprime",
        "Tells whether the greatest common divisor of {a} and {b}, which are not negative, is 1",
        "lambda a, b: math.gcd(a, b) == 1",
        """
        def itself(a, b):
            while b:
                a, b = b, a % b
            return a == 1
        """,
    ),
    idiom(
        "is_permutation_of_indices",
        "Tells whether {items} are the whole numbers from 0 to below their number, in any order",
        "lambda items: sorted(items) == list(range(len(items)))",
    ),
)
