"""Idioms of parts of sequences: their indices, their ends, slices, and the largest and smallest of them."""

from __future__ import annotations

from atlas.learning.naming.idioms.idiom import idiom

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
    idiom("zero_to", "Returns the range of whole numbers from 0 to {n}, {n} included", "lambda n: range(n + 1)"),
    idiom("one_to", "Returns the range of whole numbers from 1 to {n}, {n} included", "lambda n: range(1, n + 1)"),
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
    idiom("first_item", "Returns the first of {items}", "lambda items: items[0]"),
    idiom("last_item", "Returns the last of {items}", "lambda items: items[-1]"),
    idiom("without_first", "Returns {items} without the first one", "lambda items: items[1:]"),
    idiom("without_last", "Returns {items} without the last one", "lambda items: items[:-1]"),
    idiom("without_ends", "Returns {items} without the first and the last one", "lambda items: items[1:-1]"),
    idiom("take_first", "Returns the first {n} of {items}", "lambda items, n: items[:n]"),
    idiom("drop_first", "Returns {items} without the first {n}", "lambda items, n: items[n:]"),
    idiom("take_last", "Returns the last {n} of {items}", "lambda items, n: items[-n:]"),
    idiom("slice_between", "Returns {items} from {start} up to {stop}", "lambda items, start, stop: items[start:stop]"),
    idiom(
        "slice_of_length",
        "Returns {length} of {items} from {start} on",
        "lambda items, start, length: items[start:start + length]",
    ),
    idiom("middle_item", "Returns the middle one of {items}", "lambda items: items[len(items) // 2]"),
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
        "Returns the second largest of {items}",
        *(f"lambda items: {value}" for value in ("sorted(set(items))[-2]", "sorted(set(items), reverse=True)[1]")),
    ),
    idiom(
        "second_smallest",
        "Returns the second smallest of {items}",
        "lambda items: sorted(set(items))[1]",
    ),
    idiom(
        "value_range max_minus_min",
        "Computes by how much the largest of {numbers} exceeds the smallest",
        "lambda numbers: max(numbers) - min(numbers)",
    ),
    idiom(
        "index_of_max",
        "Returns the index of the largest of {items}",
        *(
            f"lambda items: {value}"
            for value in ("items.index(max(items))", "max(range(len(items)), key=lambda i: items[i])")
        ),
    ),
    idiom(
        "index_of_min",
        "Returns the index of the smallest of {items}",
        *(
            f"lambda items: {value}"
            for value in ("items.index(min(items))", "min(range(len(items)), key=lambda i: items[i])")
        ),
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
