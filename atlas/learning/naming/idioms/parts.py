"""Idioms of parts of sequences: their indices, their ends, slices, and the largest and smallest of them."""

from __future__ import annotations

from atlas.learning.naming.idioms.idiom import idiom

_BEST_INDEX = """
def itself(items):
    best = 0
    for i in range(1, len(items)):
        if items[i] {operator} items[best]:
            best = i
    return best
"""

PARTS = (
    idiom(
        "indices_from",
        "Returns the range of the indices of {items} from {start} on",
        "lambda items, start: range(start, len(items))",
    ),
    idiom(
        "every_second_index_from",
        "Returns the range of every second index of {items}, beginning with {start}",
        "lambda items, start: range(start, len(items), 2)",
    ),
    idiom(
        "indices_by_step",
        "Returns the range of every {step}-th index of {items}, beginning with {start}",
        "lambda items, start, step: range(start, len(items), step)",
    ),
    idiom(
        "sum_of_slice",
        "Adds up {numbers} from index {start} up to {stop}, which is left out",
        "lambda numbers, start, stop: sum(numbers[start:stop])",
    ),
    idiom(
        "map_range",
        "Calls {function} with each whole number from 0 to below {n}, and lists the results",
        "lambda n, function: [function(i) for i in range(n)]",
    ),
    idiom(
        "zip_with",
        "Lists what {function} gives for each of {items} and the one of {others} at its place, as far as both go",
        "lambda items, others, function: [function(one, other) for one, other in zip(items, others)]",
    ),
    idiom(
        "zip_with",
        "Returns a tuple of what {function} gives for each of {items} and the one of {others} at its place",
        "lambda items, others, function: tuple(function(one, other) for one, other in zip(items, others))",
    ),
    idiom(
        "map_with_index",
        "Calls {function} with each of {items} and its index, and lists the results",
        "lambda items, function: [function(item, i) for i, item in enumerate(items)]",
    ),
    idiom(
        "map_index_and_item",
        "Calls {function} with each index of {items} and the item there, and lists the results",
        "lambda items, function: [function(i, item) for i, item in enumerate(items)]",
    ),
    idiom(
        "append_results",
        "Calls {function} with each of {others}, and adds the results to the end of {items}, in place",
        "def itself(items, others, function):\n    for item in others:\n        items.append(function(item))",
    ),
    idiom(
        "absolute_difference_at",
        "Computes the difference of what {items} has at {i} and at {j}, without its sign",
        "lambda items, i, j: abs(items[i] - items[j])",
    ),
    idiom(
        "range_after",
        "Returns the range of whole numbers above {start} and below {stop}",
        "lambda start, stop: range(start + 1, stop)",
    ),
    idiom(
        "set_items_to_results",
        "Sets {items} at each of {keys} to what {function} gives for it, in place",
        "def itself(items, keys, function):\n    for key in keys:\n        items[key] = function(key)",
    ),
    idiom(
        "append_item_from",
        "Adds the item at {i} of {others} to the end of {items}, in place",
        "def itself(items, others, i): items.append(others[i])",
    ),
    idiom(
        "sort_in_place_by",
        "Sorts {items} in place by what {key} gives for each",
        "def itself(items, key): items.sort(key=key)",
        "def itself(items, key): items.sort(key=lambda item: key(item))",
    ),
    idiom(
        "even_indices",
        "Returns the range of the even indices of {items}",
        "lambda items: range(0, len(items), 2)",
    ),
    idiom(
        "indices_but_last_n",
        "Returns the range of the indices of {items} without the last {n}",
        "lambda items, n: range(len(items) - n)",
    ),
    idiom(
        "last_index",
        "Returns the index of the last of {items}, or -1 if there are none",
        "lambda items: len(items) - 1",
    ),
    idiom("all_indices index_range", "Returns the range of all indices of {items}", "lambda items: range(len(items))"),
    idiom(
        "indices_but_last",
        "Returns the range of the indices of {items} without the last one",
        "lambda items: range(len(items) - 1)",
    ),
    idiom(
        "indices_but_first",
        "Returns the range of the indices of {items} from the second on",
        "lambda items: range(1, len(items))",
    ),
    idiom(
        "reversed_indices",
        "Returns the range of the indices of {items}, the last one first",
        "lambda items: range(len(items) - 1, -1, -1)",
    ),
    idiom("zero_to_n", "Returns the range of whole numbers from 0 to {n}, {n} included", "lambda n: range(n + 1)"),
    idiom("one_to_n", "Returns the range of whole numbers from 1 to {n}, {n} included", "lambda n: range(1, n + 1)"),
    idiom(
        "inclusive_range",
        "Returns the range of whole numbers from {start} to {stop}, {stop} included",
        "lambda start, stop: range(start, stop + 1)",
    ),
    idiom(
        "index_pairs",
        "Lists the pairs of indices under {n}, the smaller first",
        *(f"lambda n: [(i, j) for i in range({to}) for j in range(i + 1, n)]" for to in ("n", "n - 1")),
    ),
    *(
        idiom(
            "count_index_pairs_if",
            f"Counts the pairs of indices under {{n}} for which {{test}}, called with the {first} first, is true",
            *(
                f"lambda n, test: sum(1 for i in range({to}) for j in range(i + 1, n) if test({pair}))"
                for to in ("n", "n - 1")
            ),
        )
        for first, pair in (("smaller", "i, j"), ("larger", "j, i"))
    ),
    idiom("first_item", "Returns the first of {items}", "lambda items: items[0]"),
    idiom("last_item", "Returns the last of {items}", "lambda items: items[-1]"),
    idiom("without_first", "Returns {items} without the first one", "lambda items: items[1:]"),
    idiom("without_last", "Returns {items} without the last one", "lambda items: items[:-1]"),
    idiom("without_ends", "Returns {items} without the first and the last one", "lambda items: items[1:-1]"),
    idiom("take_first", "Returns the first {n} of {items}", "lambda items, n: items[:n]"),
    idiom("drop_first", "Returns {items} without the first {n}", "lambda items, n: items[n:]"),
    idiom("take_last", "Returns the last {n} of {items}, or all of them if {n} is 0", "lambda items, n: items[-n:]"),
    idiom("slice_between", "Returns {items} from {start} up to {stop}", "lambda items, start, stop: items[start:stop]"),
    idiom(
        "slice_of_length",
        "Returns {length} of {items} from index {start} on",
        "lambda items, start, length: items[start:start + length]",
    ),
    idiom(
        "middle_item",
        "Returns the middle one of {items}, the second of the two in the middle if their number is even",
        "lambda items: items[len(items) // 2]",
    ),
    idiom(
        "median",
        "Computes the median of {numbers}",
        "lambda numbers: statistics.median(numbers)",
        """
        def itself(numbers):
            ordered = sorted(numbers)
            n = len(ordered)
            if n % 2 == 0:
                return (ordered[n // 2 - 1] + ordered[n // 2]) / 2
            return ordered[n // 2]
        """,
    ),
    idiom(
        "second_largest",
        "Returns the second largest of the distinct {items}",
        *(f"lambda items: {value}" for value in ("sorted(set(items))[-2]", "sorted(set(items), reverse=True)[1]")),
    ),
    idiom(
        "second_smallest",
        "Returns the second smallest of the distinct {items}",
        "lambda items: sorted(set(items))[1]",
    ),
    idiom(
        "max_minus_min value_range",
        "Computes by how much the largest of {numbers} exceeds the smallest",
        "lambda numbers: max(numbers) - min(numbers)",
    ),
    idiom(
        "index_of_max",
        "Returns the index of the largest of {items}, the first one on ties",
        *(
            f"lambda items: {value}"
            for value in ("items.index(max(items))", "max(range(len(items)), key=lambda i: items[i])")
        ),
        _BEST_INDEX.format(operator=">"),
    ),
    idiom(
        "index_of_min",
        "Returns the index of the smallest of {items}, the first one on ties",
        *(
            f"lambda items: {value}"
            for value in ("items.index(min(items))", "min(range(len(items)), key=lambda i: items[i])")
        ),
        _BEST_INDEX.format(operator="<"),
    ),
    idiom(
        "dot_product",
        "Adds up the products of {numbers} and {others}, pair by pair",
        *(
            f"lambda numbers, others: {value}"
            for value in (
                "sum(one * other for one, other in zip(numbers, others))",
                "sum(numbers[i] * others[i] for i in range(len(numbers)))",
            )
        ),
    ),
    idiom(
        "max_subarray_sum",
        "Computes the largest sum of a run of {numbers}",
        *(
            f"""
        def itself(numbers):
            best = current = numbers[0]
            for number in numbers[1:]:
                current = {step}
                best = max(best, current)
            return best
        """
            for step in ("max(number, current + number)",)
        ),
    ),
)
