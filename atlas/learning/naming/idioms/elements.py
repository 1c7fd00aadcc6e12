"""Idioms of single elements and places: reading, setting, pairing and going element by element."""

from __future__ import annotations

from atlas.learning.naming.idioms.idiom import idiom

_PAIRWISE = {
    "add_elementwise": ("+", "sums"),
    "subtract_elementwise": ("-", "differences"),
    "multiply_elementwise": ("*", "products"),
    "divide_elementwise": ("/", "quotients"),
    "floor_divide_elementwise": ("//", "quotients, rounded down,"),
    "modulo_elementwise": ("%", "remainders"),
}

ELEMENTS = (
    idiom(
        "items_at_two_indices",
        "Returns the items of {items} at indices {i} and {j} as a pair",
        "lambda items, i, j: (items[i], items[j])",
    ),
    idiom(
        "difference_from_previous",
        "Subtracts the item of {items} at {i} - 1 from the one at {i}",
        "lambda items, i: items[i] - items[i - 1]",
    ),
    idiom(
        "is_instance_of",
        "Tells whether {value} is of type {kind}",
        "lambda value, kind: isinstance(value, kind)",
    ),
    idiom(
        "is_no_instance_of",
        "Tells whether {value} is of another type than {kind}",
        "lambda value, kind: not isinstance(value, kind)",
    ),
    idiom(
        "is_instance_of_either",
        "Tells whether {value} is of type {kind} or {other}",
        "lambda value, kind, other: isinstance(value, (kind, other))",
    ),
    idiom("increment_each", "Lists {numbers}, each with 1 added", "lambda numbers: [number + 1 for number in numbers]"),
    idiom(
        "count_matching_positions count_equal_places",
        "Counts the places at which {items} and {others} are equal, as far as both go",
        "lambda items, others: sum(1 for i in range(len(items)) if items[i] == others[i])",
        "lambda items, others: sum(1 for one, other in zip(items, others) if one == other)",
    ),
    idiom(
        "select_values_at_least",
        "Returns a mapping of those pairs of {mapping} whose values are at least {least}",
        "lambda mapping, least: {key: value for key, value in mapping.items() if value >= least}",
    ),
    idiom(
        "sorted_common_items",
        "Lists the items that are both in {items} and in {others}, each once, sorted",
        "lambda items, others: sorted(set(items) & set(others))",
    ),
    idiom(
        "sums_of_adjacent_items",
        "Adds each of {numbers} but the last to the next one",
        "lambda numbers: [numbers[i] + numbers[i + 1] for i in range(len(numbers) - 1)]",
    ),
    idiom(
        "products_of_adjacent_items",
        "Multiplies each of {numbers} but the last by the next one",
        "lambda numbers: [numbers[i] * numbers[i + 1] for i in range(len(numbers) - 1)]",
    ),
    *(
        idiom(
            name,
            f"Returns the {word} of {{numbers}} and {{others}}, place by place, as far as both go",
            f"lambda numbers, others: [one {operator} other for one, other in zip(numbers, others)]",
            f"lambda numbers, others: [numbers[i] {operator} others[i] for i in range(len(numbers))]",
            f"lambda numbers, others: tuple(one {operator} other for one, other in zip(numbers, others))",
        )
        for name, (operator, word) in _PAIRWISE.items()
    ),
    idiom(
        "max_elementwise",
        "Lists the larger of each two of {numbers} and {others} at the same place, as far as both go",
        "lambda numbers, others: [max(one, other) for one, other in zip(numbers, others)]",
    ),
    idiom(
        "min_elementwise",
        "Lists the smaller of each two of {numbers} and {others} at the same place, as far as both go",
        "lambda numbers, others: [min(one, other) for one, other in zip(numbers, others)]",
    ),
    idiom(
        "add_to_each",
        "Lists {numbers}, each with {amount} added",
        "lambda numbers, amount: [number + amount for number in numbers]",
    ),
    idiom(
        "multiply_each scale",
        "Lists {numbers}, each times {factor}",
        "lambda numbers, factor: [number * factor for number in numbers]",
    ),
    idiom(
        "pair_up",
        "Pairs {items} and {others}, place by place, as far as both go",
        "lambda items, others: list(zip(items, others))",
        "lambda items, others: [(one, other) for one, other in zip(items, others)]",
    ),
    idiom(
        "all_pairs",
        "Lists all pairs of one of {items} and one of {others}",
        "lambda items, others: [(one, other) for one in items for other in others]",
        "lambda items, others: list(itertools.product(items, others))",
    ),
    idiom(
        "cell_at",
        "Returns the cell of {grid} at {row} and {column}",
        "lambda grid, row, column: grid[row][column]",
        "lambda grid, row, column: grid[row, column]",
    ),
    idiom(
        "set_cell",
        "Sets the cell of {grid} at {row} and {column} to {cell}, in place",
        "def itself(grid, row, column, cell): grid[row][column] = cell",
    ),
    idiom(
        "set_item", "Sets {items} at {key} to {value}, in place", "def itself(items, key, value): items[key] = value"
    ),
    idiom(
        "are_equal_at",
        "Tells whether {items} has the same at {i} and at {j}",
        "lambda items, i, j: items[i] == items[j]",
    ),
    idiom(
        "are_equal_items",
        "Tells whether {items} at {i} and {others} at {j} are the same",
        "lambda items, i, others, j: items[i] == others[j]",
    ),
    idiom(
        "difference_at",
        "Subtracts the item of {items} at {j} from the one at {i}",
        "lambda items, i, j: items[i] - items[j]",
    ),
    idiom("sum_at", "Adds what {items} has at {i} and at {j}", "lambda items, i, j: items[i] + items[j]"),
    idiom("append_item", "Adds {item} to the end of {items}, in place", "def itself(items, item): items.append(item)"),
    idiom(
        "append_and_return",
        "Adds {item} to the end of {items}, in place",
        "def itself(items, item):\n    items.append(item)\n    return items",
    ),
    idiom(
        "append_if",
        "Adds {item} to the end of {items}, in place, if {test} counts as true",
        "def itself(items, item, test):\n    if test:\n        items.append(item)",
    ),
    idiom(
        "append_if_new",
        "Adds {item} to the end of {items} if it is not there",
        "def itself(items, item):\n    if item not in items:\n        items.append(item)",
    ),
    idiom(
        "append_all",
        "Adds each of {others} to the end of {items}, in place",
        "def itself(items, others):\n    for item in others:\n        items.append(item)",
    ),
    idiom(
        "with_mirror_image",
        "Returns {items} followed by themselves in reverse order",
        "lambda items: items + items[::-1]",
    ),
    idiom("prepend", "Returns {items} with {item} before them", "lambda item, items: [item] + items"),
    idiom(
        "without_index remove_at",
        "Returns {items} without the one at {i}, counted from 0 on",
        "lambda items, i: items[:i] + items[i + 1:]",
    ),
    idiom(
        "insert_at",
        "Returns {items} with {item} before the one at {i}",
        "lambda items, i, item: items[:i] + [item] + items[i:]",
    ),
    idiom(
        "with_replaced",
        "Returns {items} with {item} in place of the one at {i}, counted from 0 on",
        "lambda items, i, item: items[:i] + [item] + items[i + 1:]",
    ),
    idiom(
        "drop_last", "Returns {items} without the last {n}, or none of them if {n} is 0", "lambda items, n: items[:-n]"
    ),
    idiom("every_second_item", "Takes every second one of {items}, from the first on", "lambda items: items[::2]"),
    idiom(
        "every_other_from_second", "Takes every second one of {items}, from the second on", "lambda items: items[1::2]"
    ),
    idiom("every_nth_item", "Takes every {n}-th of {items}, from the first on", "lambda items, n: items[::n]"),
    idiom("nth_from_end", "Returns the {n}-th of {items}, counted from 1 at their end", "lambda items, n: items[-n]"),
    idiom(
        "middle_index",
        "Computes half the number of {items}, rounded down, which is the index in their middle",
        "lambda items: len(items) // 2",
    ),
    idiom("split_at", "Splits {items} before the one at {i}", "lambda items, i: (items[:i], items[i:])"),
    idiom(
        "split_in_half",
        "Splits {items} in the middle, the second part being longer if their number is odd",
        "lambda items: (items[:len(items) // 2], items[len(items) // 2:])",
    ),
    idiom("reverse_prefix", "Reverses the first {n} of {items}", "lambda items, n: items[:n][::-1] + items[n:]"),
    idiom("sorted_item_at", "Returns the item at index {i} of {items} sorted", "lambda items, i: sorted(items)[i]"),
    idiom(
        "smallest_n",
        "Returns the {n} smallest of {items}, smallest first",
        "lambda items, n: sorted(items)[:n]",
        "lambda items, n: heapq.nsmallest(n, items)",
    ),
    idiom(
        "largest_n",
        "Returns the {n} largest of {items}, largest first",
        *(f"lambda items, n: {value}" for value in ("sorted(items, reverse=True)[:n]", "heapq.nlargest(n, items)")),
    ),
    idiom(
        "largest_n_ascending",
        "Returns the {n} largest of {items}, the smallest of these first, or all of {items} if {n} is 0",
        "lambda items, n: sorted(items)[-n:]",
    ),
    idiom("zeros", "Makes a list of {n} zeros", "lambda n: [0] * n"),
    idiom("repeat_item", "Makes a list of {n} times {item}", "lambda item, n: [item] * n"),
    idiom(
        "lookup_or_default",
        "Returns the value of {key} in {mapping}, or {default}",
        "lambda mapping, key, default: mapping.get(key, default)",
    ),
    idiom(
        "value_or_zero",
        "Returns the value of {key} in {mapping}, or 0 if it is not there",
        "lambda mapping, key: mapping.get(key, 0)",
    ),
    idiom(
        "n_most_common",
        "Returns the {n} most frequent of {items}, with how often they stand there",
        "lambda items, n: collections.Counter(items).most_common(n)",
    ),
    idiom("largest_value", "Returns the largest value of {mapping}", "lambda mapping: max(mapping.values())"),
    idiom(
        "parse_integers",
        "Turns the parts of {text} between spaces into whole numbers",
        "lambda text: [int(part) for part in text.split()]",
    ),
    idiom(
        "contains_pattern",
        "Tells whether {pattern} is found in {text}",
        *(
            f"lambda pattern, text: {value}"
            for value in (
                "re.search(pattern, text) is not None",
                "bool(re.search(pattern, text))",
                "True if re.search(pattern, text) else False",
            )
        ),
    ),
    idiom(
        "starts_with_pattern",
        "Tells whether {text} begins with {pattern}",
        "lambda pattern, text: bool(re.match(pattern, text))",
        "lambda pattern, text: re.match(pattern, text) is not None",
    ),
    idiom("find_all_matches", "Lists what of {text} fits {pattern}", "lambda pattern, text: re.findall(pattern, text)"),
    idiom(
        "replace_matches",
        "Puts {replacement} in place of what fits {pattern} in {text}",
        "lambda pattern, replacement, text: re.sub(pattern, replacement, text)",
    ),
    idiom(
        "sort_characters",
        "Returns the characters of {text} in ascending order, as one text",
        "lambda text: ''.join(sorted(text))",
    ),
    idiom("reverse_text", "Returns {text} backwards", "lambda text: ''.join(reversed(text))"),
    idiom(
        "is_repeated_item",
        "Tells whether {item} stands more than once in {items}",
        "lambda items, item: items.count(item) > 1",
        "lambda items, item: items.count(item) >= 2",
    ),
    idiom(
        "largest",
        "Returns the largest of {items}",
        "lambda items: max(items)",
        *(
            f"""
        def itself(items):
            best = {start}
            for item in items{rest}:
                if item > best:
                    best = item
            return best
        """
            for start, rest in (("items[0]", ""), ("items[0]", "[1:]"))
        ),
    ),
    idiom(
        "largest_or_minus_infinity",
        "Returns the largest of {items}, or minus infinity if there are none",
        """
        def itself(items):
            best = float('-inf')
            for item in items:
                if item > best:
                    best = item
            return best
        """,
    ),
    idiom(
        "smallest",
        "Returns the smallest of {items}",
        "lambda items: min(items)",
        *(
            f"""
        def itself(items):
            best = {start}
            for item in items{rest}:
                if item < best:
                    best = item
            return best
        """
            for start, rest in (("items[0]", ""), ("items[0]", "[1:]"))
        ),
    ),
    idiom(
        "smallest_or_infinity",
        "Returns the smallest of {items}, or infinity if there are none",
        """
        def itself(items):
            best = float('inf')
            for item in items:
                if item < best:
                    best = item
            return best
        """,
    ),
    idiom(
        "as_list",
        "Returns {value} if it is a list, else a list that holds {value} alone",
        "lambda value: value if isinstance(value, list) else [value]",
    ),
    idiom(
        "as_list",
        "Returns the items of {value} as a list if it is a list or a tuple, else a list that holds {value} alone",
        "lambda value: list(value) if isinstance(value, (list, tuple)) else [value]",
    ),
    idiom(
        "apply_along_last_axis",
        "Calls {function} with {array} along its last axis",
        "lambda function, array: function(array, axis=-1)",
    ),
    idiom(
        "apply_along_first_axis",
        "Calls {function} with {array} along its first axis",
        "lambda function, array: function(array, axis=0)",
    ),
    idiom(
        "apply_along_second_axis",
        "Calls {function} with {array} along its second axis",
        "lambda function, array: function(array, axis=1)",
    ),
    idiom("n_rows", "Returns the number of rows of {array}", "lambda array: array.shape[0]"),
    idiom("n_columns", "Returns the number of columns of {array}", "lambda array: array.shape[1]"),
    idiom("last_dimension", "Returns the length of the last axis of {array}", "lambda array: array.shape[-1]"),
    idiom(
        "read_text_file",
        "Returns the text of the file at {path}",
        "def itself(path):\n    with open(path) as file:\n        return file.read()",
    ),
    idiom(
        "read_json_file",
        "Returns what the JSON file at {path} holds",
        "def itself(path):\n    with open(path) as file:\n        return json.load(file)",
    ),
)
