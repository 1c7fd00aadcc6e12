"""Idioms of dicts: counting, grouping, inverting and looking up."""

from __future__ import annotations

from atlas.learning.naming.idioms.idiom import idiom

_GROUPING = (
    """
    def itself({given}):
        groups = {{}}
        for {each}:
            groups.setdefault({key}, []).append({value})
        return groups
    """,
    """
    def itself({given}):
        groups = collections.defaultdict(list)
        for {each}:
            groups[{key}].append({value})
        return groups
    """,
    """
    def itself({given}):
        groups = {{}}
        for {each}:
            if {key} not in groups:
                groups[{key}] = []
            groups[{key}].append({value})
        return groups
    """,
    """
    def itself({given}):
        groups = {{}}
        for {each}:
            if {key} in groups:
                groups[{key}].append({value})
            else:
                groups[{key}] = [{value}]
        return groups
    """,
    """
    def itself({given}):
        groups = {{}}
        for {each}:
            group = {key}
            if group not in groups:
                groups[group] = []
            groups[group].append({value})
        return groups
    """,
    """
    def itself({given}):
        groups = {{}}
        for {each}:
            group = {key}
            if group in groups:
                groups[group].append({value})
            else:
                groups[group] = [{value}]
        return groups
    """,
)


def _grouped(given: str, each: str, key: str, value: str) -> list[str]:
    return [source.format(given=given, each=each, key=key, value=value) for source in _GROUPING]


MAPPINGS = (
    idiom(
        "count_frequencies histogram",
        "Returns a mapping from each of {items} to how often it occurs",
        "lambda items: collections.Counter(items)",
        "lambda items: dict(collections.Counter(items))",
        "lambda items: {item: items.count(item) for item in items}",
        "lambda items: {item: items.count(item) for item in set(items)}",
        """
        def itself(items):
            counts = {}
            for item in items:
                counts[item] = counts.get(item, 0) + 1
            return counts
        """,
        """
        def itself(items):
            counts = collections.defaultdict(int)
            for item in items:
                counts[item] += 1
            return counts
        """,
        """
        def itself(items):
            counts = collections.defaultdict(int)
            for item in items:
                counts[item] += 1
            return dict(counts)
        """,
    ),
    idiom(
        "add_to_counts update_counts",
        "Adds 1 in {counts} for each of {items}, in place",
        """
        def itself(counts, items):
            for item in items:
                counts[item] = counts.get(item, 0) + 1
        """,
        """
        def itself(counts, items):
            for item in items:
                counts[item] += 1
        """,
    ),
    idiom(
        "increment_count",
        "Adds 1 to the count of {key} in {counts}, in place",
        "def itself(counts, key): counts[key] = counts.get(key, 0) + 1",
    ),
    idiom(
        "most_common most_frequent",
        "Returns an item of {items} that no other one occurs more often than",
        "lambda items: max(set(items), key=items.count)",
        "lambda items: max(items, key=items.count)",
        "lambda items: collections.Counter(items).most_common(1)[0][0]",
    ),
    idiom(
        "invert_mapping invert_dict",
        "Returns a mapping from the values of {mapping} to their keys, the last key where several have one value",
        "lambda mapping: {value: key for key, value in mapping.items()}",
    ),
    idiom(
        "group_by",
        "Groups {items} by what {key} gives for each",
        *_grouped("items, key", "item in items", "key(item)", "item"),
    ),
    idiom(
        "group_by_{VALUE}",
        "Groups {items} by {VALUE}",
        *_grouped("items, VALUE", "item in items", "VALUE(item)", "item"),
    ),
    idiom(
        "group_pairs",
        "Returns a mapping from each first part of {pairs} to the list of its second parts",
        *_grouped("pairs", "first, second in pairs", "first", "second"),
    ),
    idiom(
        "add_edges_both_ways",
        "Adds to {neighbours}, for each pair of {edges}, each of the two to what the other one has there, in place",
        """
        def itself(neighbours, edges):
            for one, other in edges:
                neighbours[one].append(other)
                neighbours[other].append(one)
        """,
    ),
    idiom(
        "merge_mappings merge_dicts",
        "Joins {mapping} and {other}; where both have a key, the second one's value counts",
        *(f"lambda mapping, other: {value}" for value in ("{**mapping, **other}", "dict(mapping, **other)")),
    ),
    idiom(
        "zip_to_mapping map_keys_to_values",
        "Maps each of {keys} to the value at its place in {values}",
        *(
            f"lambda keys, values: {value}"
            for value in ("dict(zip(keys, values))", "{key: value for key, value in zip(keys, values)}")
        ),
    ),
    idiom(
        "key_of_max_value",
        "Returns the key of {mapping} with the largest value, the first one on ties",
        *(
            f"lambda mapping: {value}"
            for value in ("max(mapping, key=mapping.get)", "max(mapping, key=lambda key: mapping[key])")
        ),
    ),
    idiom(
        "key_of_min_value",
        "Returns the key of {mapping} with the smallest value, the first one on ties",
        "lambda mapping: min(mapping, key=mapping.get)",
    ),
    idiom(
        "pairs_sorted_by_value",
        "Lists the pairs of keys and values of {mapping}, sorted by their values",
        "lambda mapping: sorted(mapping.items(), key=lambda pair: pair[1])",
    ),
    idiom(
        "pairs_sorted_by_value_descending",
        "Lists the pairs of keys and values of {mapping}, those with the largest values first",
        *(
            f"lambda mapping: sorted(mapping.items(), key=lambda pair: {rest})"
            for rest in ("pair[1], reverse=True", "-pair[1]")
        ),
    ),
    idiom(
        "items_occurring_once",
        "Lists those of {items} that occur there exactly once",
        "lambda items: [item for item in items if items.count(item) == 1]",
    ),
    idiom(
        "items_occurring_repeatedly",
        "Lists those of {items} that occur there more than once",
        "lambda items: [item for item in items if items.count(item) > 1]",
    ),
)
