"""Idioms of sequences: their order, what they repeat, and their parts."""

from __future__ import annotations

from atlas.learning.naming.idioms.idiom import idiom

_ALL_ITEMS = ("set(items)", "{item for item in items}")
_RISING = "all(items[i] {} items[i + 1] for i in range(len(items) - 1))"

_HOLDS_RUN = (
    "any(items[i:i + len(run)] == run for i in range(len(items) - len(run) + 1))",
    "not run or any(items[i:i + len(run)] == run for i in range(len(items) - len(run) + 1))",
)

_COLLECTIONS = (("set()", "add"), ("[]", "append"))
_SEEN = """
def itself(items):
    seen = {empty}
    for item in items:
        if item in seen:
            return {early}
        seen.{add}(item)
    return {late}
"""

SEQUENCES = (
    idiom(
        "reverse_items",
        "Returns {items} in reverse order",
        "lambda items: items[::-1]",
    ),
    idiom(
        "reverse_items",
        "Lists {items} in reverse order",
        "lambda items: list(reversed(items))",
        "lambda items: [items[i] for i in range(len(items) - 1, -1, -1)]",
    ),
    idiom(
        "are_all_distinct has_no_duplicates all_distinct",
        "Tells whether no item occurs more than once in {items}",
        *(f"lambda items: len(items) == len({distinct})" for distinct in _ALL_ITEMS),
        *(_SEEN.format(empty=empty, add=add, early=False, late=True) for empty, add in _COLLECTIONS),
    ),
    idiom(
        "has_duplicates",
        "Tells whether an item occurs more than once in {items}",
        *(f"lambda items: len(items) != len({distinct})" for distinct in _ALL_ITEMS),
        "lambda items: len(set(items)) < len(items)",
        *(_SEEN.format(empty=empty, add=add, early=True, late=False) for empty, add in _COLLECTIONS),
    ),
    idiom(
        "count_distinct",
        "Counts the distinct items of {items}",
        *(f"lambda items: len({distinct})" for distinct in _ALL_ITEMS),
    ),
    idiom(
        "are_all_equal all_equal",
        "Tells whether all of {items} are equal to each other",
        "lambda items: all(item == items[0] for item in items)",
        "lambda items: all(item == items[0] for item in items[1:])",
        "lambda items: len(set(items)) <= 1",
        "lambda items: len(set(items)) < 2",
        "lambda items: items.count(items[0]) == len(items)",
        "lambda items: all(items[i] == items[i + 1] for i in range(len(items) - 1))",
    ),
    idiom(
        "are_all_equal all_equal",
        "Tells whether {items} consist of one item alone, once or more often",
        "lambda items: len(set(items)) == 1",
    ),
    idiom(
        "is_sorted",
        "Tells whether {items}, a list, is in ascending order",
        "lambda items: items == sorted(items)",
    ),
    idiom(
        "is_sorted",
        "Tells whether {items} are in ascending order",
        "lambda items: list(items) == sorted(items)",
        f"lambda items: {_RISING.format('<=')}",
        "lambda items: all(items[i - 1] <= items[i] for i in range(1, len(items)))",
        "lambda items: all(one <= other for one, other in zip(items, items[1:]))",
    ),
    idiom(
        "is_sorted_descending",
        "Tells whether {items}, a list, is in descending order",
        "lambda items: items == sorted(items, reverse=True)",
    ),
    idiom(
        "is_sorted_descending",
        "Tells whether {items} are in descending order",
        f"lambda items: {_RISING.format('>=')}",
        "lambda items: all(items[i - 1] >= items[i] for i in range(1, len(items)))",
    ),
    idiom(
        "is_strictly_increasing",
        "Tells whether each of {items} is larger than the one before it",
        f"lambda items: {_RISING.format('<')}",
        "lambda items: all(items[i - 1] < items[i] for i in range(1, len(items)))",
        "lambda items: all(one < other for one, other in zip(items, items[1:]))",
    ),
    idiom(
        "is_strictly_decreasing",
        "Tells whether each of {items} is smaller than the one before it",
        f"lambda items: {_RISING.format('>')}",
        "lambda items: all(items[i - 1] > items[i] for i in range(1, len(items)))",
    ),
    idiom(
        "is_monotonic",
        "Tells whether {items} never rise, or never fall",
        f"lambda items: {_RISING.format('<=')} or {_RISING.format('>=')}",
        """
        def itself(items):
            if len(items) < 2:
                return True
            step = items[1] - items[0]
            for i in range(2, len(items)):
                if step == 0:
                    step = items[i] - items[i - 1]
                    continue
                if (items[i] - items[i - 1]) * step < 0:
                    return False
            return True
        """,
    ),
    idiom(
        "unique_in_order remove_duplicates",
        "Lists {items} in their order without those that are equal to one before",
        "lambda items: list(dict.fromkeys(items))",
        """
        def itself(items):
            kept = []
            for item in items:
                if item not in kept:
                    kept.append(item)
            return kept
        """,
        *(
            f"""
            def itself(items):
                seen = set()
                kept = []
                for item in items:
                    if item not in seen:
                        {first}
                        {second}
                return kept
            """
            for first, second in (
                ("seen.add(item)", "kept.append(item)"),
                ("kept.append(item)", "seen.add(item)"),
            )
        ),
    ),
    idiom(
        "distinct_items",
        "Keeps one of the equal ones of {items}, in any order",
        "lambda items: list(set(items))",
    ),
    idiom("sorted_distinct", "Lists the distinct items of {items}, sorted", "lambda items: sorted(set(items))"),
    idiom(
        "flatten",
        "Joins the items of each of {lists} into one list",
        "lambda lists: [item for inner in lists for item in inner]",
        "lambda lists: sum(lists, [])",
        "lambda lists: list(itertools.chain(*lists))",
        "lambda lists: list(itertools.chain.from_iterable(lists))",
    ),
    idiom(
        "flatten_nested",
        "Joins the items of {items}, of the lists in it and of those in them into one list",
        """
        def itself(items):
            flat = []
            for item in items:
                if isinstance(item, list):
                    flat.extend(itself(item))
                else:
                    flat.append(item)
            return flat
        """,
        """
        def itself(items):
            flat = []
            for item in items:
                if isinstance(item, list):
                    flat += itself(item)
                else:
                    flat.append(item)
            return flat
        """,
    ),
    idiom(
        "chunks",
        "Cuts {items} into pieces of {size} items, of which the last may be shorter",
        "lambda items, size: [items[i:i + size] for i in range(0, len(items), size)]",
    ),
    idiom(
        "windows",
        "Lists the runs of {size} items that follow each other in {items}",
        "lambda items, size: [items[i:i + size] for i in range(len(items) - size + 1)]",
    ),
    idiom(
        "adjacent_pairs",
        "Yields each of {items} but the last together with the next one",
        "lambda items: zip(items, items[1:])",
    ),
    idiom(
        "adjacent_pairs",
        "Pairs each of {items} but the last with the next one",
        "lambda items: list(zip(items, items[1:]))",
        "lambda items: [(items[i], items[i + 1]) for i in range(len(items) - 1)]",
    ),
    idiom(
        "adjacent_differences",
        "Lists by how much each of {numbers} is more than the one before it",
        "lambda numbers: [numbers[i + 1] - numbers[i] for i in range(len(numbers) - 1)]",
        "lambda numbers: [numbers[i] - numbers[i - 1] for i in range(1, len(numbers))]",
    ),
    idiom(
        "running_sums running_totals",
        "Lists the sums of {numbers} up to each of them",
        "lambda numbers: list(itertools.accumulate(numbers))",
        "lambda numbers: [sum(numbers[:i + 1]) for i in range(len(numbers))]",
        """
        def itself(numbers):
            total = 0
            sums = []
            for number in numbers:
                total += number
                sums.append(total)
            return sums
        """,
    ),
    idiom(
        "running_maxima running_maximums",
        "Lists the largest of {numbers} up to each of them",
        "lambda numbers: [max(numbers[:i + 1]) for i in range(len(numbers))]",
        "lambda numbers: list(itertools.accumulate(numbers, max))",
    ),
    idiom(
        "move_first_to_end",
        "Returns {items} with the first {n} of them moved to the end",
        "lambda items, n: items[n:] + items[:n]",
    ),
    idiom(
        "rotate_left",
        "Returns {items} moved by {n} places to the left, those at the front going to the end",
        "lambda items, n: items[n % len(items):] + items[:n % len(items)]",
    ),
    idiom(
        "move_last_to_front",
        "Returns {items} with the last {n} of them moved to the front",
        "lambda items, n: items[-n:] + items[:-n]",
    ),
    idiom(
        "interleave",
        "Lists items of {items} and {others} in turns, as long as both have more",
        "lambda items, others: [item for pair in zip(items, others) for item in pair]",
    ),
    idiom(
        "swap_items",
        "Swaps the items at indices {i} and {j} of {items}, in place",
        "def itself(items, i, j): items[i], items[j] = items[j], items[i]",
        "def itself(items, i, j): items[j], items[i] = items[i], items[j]",
        """
        def itself(items, i, j):
            held = items[i]
            items[i] = items[j]
            items[j] = held
        """,
    ),
    idiom(
        "swap_first_and_last",
        "Swaps the first and the last of {items}, in place",
        "def itself(items): items[0], items[-1] = items[-1], items[0]",
        "def itself(items): items[-1], items[0] = items[0], items[-1]",
        """
        def itself(items):
            held = items[0]
            items[0] = items[-1]
            items[-1] = held
        """,
    ),
    idiom(
        "first_and_last_swapped",
        "Returns {items} with the first and the last one swapped",
        "lambda items: items[-1:] + items[1:-1] + items[:1]",
        "lambda items: [items[-1]] + items[1:-1] + [items[0]]",
    ),
    idiom(
        "contains_sublist contains_run",
        "Tells whether {items} holds the items of {run} next to each other and in the same order",
        *(f"lambda items, run: {test}" for test in _HOLDS_RUN),
    ),
    idiom(
        "is_sublist",
        "Tells whether the items of {run} occur in {items} next to each other and in the same order",
        *(f"lambda run, items: {test}" for test in _HOLDS_RUN),
    ),
    idiom(
        "is_subset all_contained",
        "Tells whether all of {items} are in {others}",
        "lambda items, others: all(item in others for item in items)",
        "lambda items, others: set(items).issubset(others)",
        "lambda items, others: set(items).issubset(set(others))",
        "lambda items, others: set(items) <= set(others)",
    ),
    idiom(
        "have_common_item any_contained",
        "Tells whether any of {items} is in {others}",
        "lambda items, others: any(item in others for item in items)",
    ),
    idiom(
        "have_no_common_item is_disjoint",
        "Tells whether none of {items} is in {others}",
        "lambda items, others: all(item not in others for item in items)",
        "lambda items, others: set(items).isdisjoint(others)",
    ),
    idiom(
        "common_items",
        "Lists those of {items} that are in {others}, in their order",
        "lambda items, others: [item for item in items if item in others]",
    ),
    idiom(
        "common_items intersection",
        "Returns what is both in {items} and in {others}, each item once and in any order",
        "lambda items, others: list(set(items) & set(others))",
        "lambda items, others: set(items) & set(others)",
        "lambda items, others: list(set(items).intersection(others))",
        "lambda items, others: set(items).intersection(set(others))",
    ),
    idiom(
        "items_not_in difference",
        "Lists those of {items} that are not in {others}, in their order",
        "lambda items, others: [item for item in items if item not in others]",
    ),
    idiom(
        "items_not_in difference",
        "Returns what is in {items} and not in {others}, each item once and in any order",
        "lambda items, others: list(set(items) - set(others))",
        "lambda items, others: set(items) - set(others)",
    ),
    idiom(
        "without_item remove_item",
        "Lists those of {items} that do not equal {item}",
        "lambda items, item: [one for one in items if one != item]",
    ),
    idiom(
        "merge_sorted",
        "Merges {items} and {others}, which are sorted, into one sorted list",
        "lambda items, others: list(heapq.merge(items, others))",
        *(
            f"""
            def itself(items, others):
                merged = []
                i = j = 0
                while i < len(items) and j < len(others):
                    if items[i] {operator} others[j]:
                        merged.append(items[i])
                        i += 1
                    else:
                        merged.append(others[j])
                        j += 1
                {rest}
            """
            for operator in ("<=", "<")
            for rest in (
                "return merged + items[i:] + others[j:]",
                "merged.extend(items[i:])\n                merged.extend(others[j:])\n                return merged",
                "merged += items[i:]\n                merged += others[j:]\n                return merged",
            )
        ),
    ),
    idiom("sort_descending", "Sorts {items} in place, largest first", "def itself(items): items.sort(reverse=True)"),
    idiom("sort_ascending", "Sorts {items} in place", "def itself(items): items.sort()"),
    idiom(
        "sorted_descending",
        "Lists {items}, sorted, largest first",
        *(f"lambda items: {value}" for value in ("sorted(items, reverse=True)", "sorted(items)[::-1]")),
    ),
)
