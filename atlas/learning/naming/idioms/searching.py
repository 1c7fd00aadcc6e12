"""Idioms of searching, selecting, counting and folding by a test or a key."""

from __future__ import annotations

from atlas.learning.naming.idioms.idiom import idiom

_BISECTING = """
def itself(items, wanted):
    low, high = 0, len(items) - 1
    while low <= high:
        middle = {middle}
        {branches}
    return -1
"""
_BRANCHES = (
    """if items[middle] == wanted:
            return middle
        elif items[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1""",
    """if items[middle] == wanted:
            return middle
        elif items[middle] > wanted:
            high = middle - 1
        else:
            low = middle + 1""",
    """if items[middle] < wanted:
            low = middle + 1
        elif items[middle] > wanted:
            high = middle - 1
        else:
            return middle""",
    """if items[middle] > wanted:
            high = middle - 1
        elif items[middle] < wanted:
            low = middle + 1
        else:
            return middle""",
)
_LOWER = """
def itself(items, wanted):
    low, high = 0, len(items)
    while low < high:
        middle = {middle}
        if items[middle] {operator} wanted:
            low = middle + 1
        else:
            high = middle
    return low
"""
_UPPER = """
def itself(items, wanted):
    low, high = 0, len(items)
    while low < high:
        middle = {middle}
        if items[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low
"""
_MIDDLES = ("(low + high) // 2", "low + (high - low) // 2")

SEARCHING = (
    idiom(
        "binary_search",
        "Finds the index of {wanted} in {items}, which are sorted, by halving; -1 if it is not there",
        *(_BISECTING.format(middle=middle, branches=branches) for middle in _MIDDLES for branches in _BRANCHES),
    ),
    idiom(
        "bisect_left first_index_not_below",
        "Finds where {wanted} goes into {items}, which are sorted, before equal ones",
        *(_LOWER.format(middle=middle, operator="<") for middle in _MIDDLES),
        "lambda items, wanted: bisect.bisect_left(items, wanted)",
    ),
    idiom(
        "bisect_right first_index_above",
        "Finds where {wanted} goes into {items}, which are sorted, behind equal ones",
        *(_LOWER.format(middle=middle, operator="<=") for middle in _MIDDLES),
        *(_UPPER.format(middle=middle) for middle in _MIDDLES),
        "lambda items, wanted: bisect.bisect_right(items, wanted)",
    ),
    idiom(
        "index_of find_index",
        "Returns the index of the first of {items} that equals {wanted}, or -1 if there is none",
        "lambda items, wanted: next((i for i in range(len(items)) if items[i] == wanted), -1)",
    ),
    idiom(
        "count_occurrences",
        "Counts those of {items} that equal {wanted}",
        "lambda items, wanted: sum(1 for item in items if item == wanted)",
    ),
    idiom(
        "count_occurrences",
        "Counts how often {wanted} occurs in {items}",
        "lambda items, wanted: items.count(wanted)",
    ),
    idiom(
        "count_items_in",
        "Counts those of {items} that are in {others}",
        "lambda items, others: sum(1 for item in items if item in others)",
    ),
    idiom(
        "count_items_not_in",
        "Counts those of {items} that are not in {others}",
        "lambda items, others: sum(1 for item in items if item not in others)",
    ),
    idiom(
        "count_if",
        "Counts those of {items} for which {test} is true",
        "lambda items, test: sum(1 for item in items if test(item))",
    ),
    idiom(
        "count_{TESTS}",
        "Counts those of {items} for which {TEST} holds",
        "lambda items, TEST: sum(1 for item in items if TEST(item))",
    ),
    idiom(
        "add_index_pair_count count_plus_index_pairs",
        "Returns {count} plus the number of pairs of indices under {n}, the smaller first, for which {test} is true",
        """
        def itself(count, n, test):
            for i in range(n):
                for j in range(i + 1, n):
                    if test(i, j):
                        count += 1
            return count
        """,
    ),
    idiom(
        "count_inversions",
        "Counts the pairs of {items} of which the first is larger",
        "lambda items: sum(1 for i in range(len(items)) for j in range(i + 1, len(items)) if items[i] > items[j])",
    ),
    idiom(
        "select_if",
        "Lists those of {items} for which {test} is true",
        "lambda items, test: [item for item in items if test(item)]",
    ),
    idiom(
        "select_{TESTS} keep_{TESTS}",
        "Lists those of {items} for which {TEST} holds",
        "lambda items, TEST: [item for item in items if TEST(item)]",
    ),
    idiom(
        "map_items apply_to_each",
        "Calls {function} with each of {items}, and lists the results",
        "lambda items, function: [function(item) for item in items]",
    ),
    idiom(
        "map_lazily iterate_results",
        "Yields the result of {function} for each of {items}, which it is called with only when that is asked for",
        "lambda items, function: (function(item) for item in items)",
    ),
    idiom("sort_each", "Lists each of {items} sorted", "lambda items: [sorted(item) for item in items]"),
    idiom("first_item_of_each", "Lists the first item of each of {items}", "lambda items: [item[0] for item in items]"),
    idiom("last_item_of_each", "Lists the last item of each of {items}", "lambda items: [item[-1] for item in items]"),
    idiom(
        "map_to_{VALUE}",
        "Lists {VALUE} for each of {items}",
        "lambda items, VALUE: [VALUE(item) for item in items]",
    ),
    idiom(
        "map_to_{VALUE}",
        "Yields {VALUE} for each of {items}, which is computed only when it is asked for",
        "lambda items, VALUE: (VALUE(item) for item in items)",
    ),
    idiom(
        "map_selected",
        "Calls {function} with those of {items} for which {test} is true, and lists the results",
        "lambda items, test, function: [function(item) for item in items if test(item)]",
    ),
    idiom(
        "all_satisfy",
        "Tells whether {test} is true for all of {items}",
        "lambda items, test: all(test(item) for item in items)",
    ),
    idiom(
        "are_all_{TESTS}",
        "Tells whether {TEST} holds for all of {items}",
        "lambda items, TEST: all(TEST(item) for item in items)",
    ),
    idiom(
        "any_satisfies",
        "Tells whether {test} is true for any of {items}",
        "lambda items, test: any(test(item) for item in items)",
    ),
    idiom(
        "is_any_{TEST}",
        "Tells whether {TEST} holds for any of {items}",
        "lambda items, TEST: any(TEST(item) for item in items)",
    ),
    idiom(
        "first_matching",
        "Returns the first of {items} for which {test} is true",
        "lambda items, test: next(item for item in items if test(item))",
    ),
    idiom(
        "first_matching",
        "Returns the first of {items} for which {test} is true, or {OTHERWISE} if there is none",
        "lambda items, test, OTHERWISE: next((item for item in items if test(item)), OTHERWISE)",
    ),
    idiom(
        "first_{TEST}",
        "Returns the first of {items} for which {TEST} holds",
        "lambda items, TEST: next(item for item in items if TEST(item))",
    ),
    idiom(
        "first_{TEST}",
        "Returns the first of {items} for which {TEST} holds, or {OTHERWISE} if there is none",
        "lambda items, TEST, OTHERWISE: next((item for item in items if TEST(item)), OTHERWISE)",
    ),
    idiom(
        "sum_if",
        "Adds up those of {items} for which {test} is true",
        "lambda items, test: sum(item for item in items if test(item))",
    ),
    idiom(
        "sum_{TESTS}",
        "Adds up those of {items} for which {TEST} holds",
        "lambda items, TEST: sum(item for item in items if TEST(item))",
    ),
    idiom(
        "sum_by sum_of_function_results",
        "Calls {function} with each of {items}, and adds up the results",
        "lambda items, function: sum(function(item) for item in items)",
    ),
    idiom(
        "count_occurrences_of_all",
        "Adds up how often each of {items} occurs in {others}",
        "lambda others, items: sum(others.count(item) for item in items)",
    ),
    idiom(
        "sum_of_{VALUES}",
        "Adds up {VALUES} for each of {items}",
        "lambda items, VALUES: sum(VALUES(item) for item in items)",
    ),
    idiom(
        "sum_at_even_indices",
        "Adds up those of {numbers} at even indices",
        "lambda numbers: sum(numbers[::2])",
        "lambda numbers: sum(numbers[i] for i in range(0, len(numbers), 2))",
    ),
    idiom(
        "sum_{TESTS}_at_every_second_index",
        "Adds up every second one of {numbers} from index {start} on for which {TEST} holds",
        "lambda numbers, start, TEST: sum(numbers[i] for i in range(start, len(numbers), 2) if TEST(numbers[i]))",
    ),
    idiom("total", "Adds up {numbers}", "lambda numbers: sum(numbers)"),
    idiom(
        "product_of",
        "Returns the product of {numbers}",
        *(
            f"lambda numbers: {value}"
            for value in (
                "math.prod(numbers)",
                "functools.reduce(lambda a, b: a * b, numbers)",
                "functools.reduce(operator.mul, numbers)",
            )
        ),
    ),
    idiom(
        "sum_of_squares", "Adds up the squares of {numbers}", "lambda numbers: sum(number ** 2 for number in numbers)"
    ),
    idiom(
        "max_by",
        "Returns the one of {items} for which {key} is largest",
        "lambda items, key: max(items, key=key)",
        "lambda items, key: max(items, key=lambda item: key(item))",
    ),
    idiom(
        "min_by",
        "Returns the one of {items} for which {key} is smallest",
        "lambda items, key: min(items, key=key)",
        "lambda items, key: min(items, key=lambda item: key(item))",
        "lambda items, key: sorted(items, key=key)[0]",
    ),
    idiom(
        "longest",
        "Returns the longest of {items}",
        "lambda items: max(items, key=len)",
        """
        def itself(items):
            best = items[0]
            for item in items:
                if len(item) > len(best):
                    best = item
            return best
        """,
    ),
    idiom(
        "longest_text",
        "Returns the longest of {texts}, or an empty text if there are none",
        """
        def itself(texts):
            best = ''
            for text in texts:
                if len(text) > len(best):
                    best = text
            return best
        """,
    ),
    idiom("shortest", "Returns the shortest of {items}", "lambda items: min(items, key=len)"),
    idiom(
        "max_by_{VALUE}",
        "Returns the one of {items} with the largest {VALUE}",
        "lambda items, VALUE: max(items, key=lambda item: VALUE(item))",
    ),
    idiom(
        "min_by_{VALUE}",
        "Returns the one of {items} with the smallest {VALUE}",
        "lambda items, VALUE: min(items, key=lambda item: VALUE(item))",
    ),
    idiom(
        "length_and_longest max_length_and_item",
        "Returns the length of the longest of {items} together with that item, or 0 and an empty list",
        """
        def itself(items):
            length = 0
            longest = []
            for item in items:
                if length < len(item):
                    length = len(item)
                    longest = item
            return length, longest
        """,
    ),
    idiom(
        "max_length",
        "Returns the length of the longest of {items}",
        "lambda items: max(len(item) for item in items)",
        "lambda items: len(max(items, key=len))",
    ),
    idiom(
        "max_length",
        "Returns the length of the longest of {items}, or 0 if there are none",
        *(
            f"""
        def itself(items):
            length = 0
            for item in items:
                {step}
            return length
        """
            for step in (
                "if len(item) > length:\n                    length = len(item)",
                "length = max(length, len(item))",
            )
        ),
    ),
    idiom(
        "min_length",
        "Returns the length of the shortest of {items}",
        "lambda items: min(len(item) for item in items)",
        "lambda items: len(min(items, key=len))",
    ),
    idiom(
        "sorted_by",
        "Lists {items}, sorted by what {key} gives for each",
        *(f"lambda items, key: sorted(items, key={key})" for key in ("key", "lambda item: key(item)")),
    ),
    idiom("sorted_by_length", "Lists {items}, sorted by their lengths", "lambda items: sorted(items, key=len)"),
    idiom(
        "sorted_by_{VALUE}",
        "Lists {items}, sorted by {VALUE}",
        "lambda items, VALUE: sorted(items, key=lambda item: VALUE(item))",
    ),
    idiom(
        "sorted_by_{VALUE}_descending",
        "Lists {items}, sorted by {VALUE}, largest first",
        "lambda items, VALUE: sorted(items, key=lambda item: VALUE(item), reverse=True)",
        "lambda items, VALUE: sorted(items, key=lambda item: -VALUE(item))",
    ),
    idiom(
        "max_of_{VALUES}",
        "Returns the largest {VALUES} of all of {items}",
        "lambda items, VALUES: max(VALUES(item) for item in items)",
    ),
    idiom(
        "min_of_{VALUES}",
        "Returns the smallest {VALUES} of all of {items}",
        "lambda items, VALUES: min(VALUES(item) for item in items)",
    ),
    idiom(
        "indices_where",
        "Lists the indices of {items} at which {test} is true",
        "lambda items, test: [i for i in range(len(items)) if test(items[i])]",
    ),
    idiom(
        "indices_of_{TEST}",
        "Lists the indices of {items} at which {TEST} holds",
        "lambda items, TEST: [i for i in range(len(items)) if TEST(items[i])]",
    ),
    idiom(
        "indices_of_item positions_of",
        "Lists the indices at which {items} hold {wanted}",
        "lambda items, wanted: [i for i in range(len(items)) if items[i] == wanted]",
    ),
)
