"""Conversion between concepts and rows of a store, and validation of concepts."""

from __future__ import annotations

import ast
import builtins
import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from atlas.core.codec import decode_concept, encode_concept
from atlas.core.errors import InvalidInput
from atlas.core.filters import scope_of
from atlas.core.json_values import check_text, dump
from atlas.core.operations import Usage
from atlas.core.types import RULES_AUTHOR, CodeConcept
from atlas.learning.rewrite import normal_forms
from atlas.learning.terms.names import bound_names
from atlas.learning.terms.parsing import InvalidPython, parse
from atlas.memory.base.merging import merged_record_ids
from atlas.memory.base.records import Entry, filterable_metadata
from atlas.storage.damage import decode_content

SOURCES = ("primitive", "learned", "composed", "imported")

NAME_CHARACTERS = 200

NO_NEEDS = "-"
"""Value of `needs` for code that calls no concept. Rows of earlier versions of ATLAS have no `needs`."""

_NUMBERED_NAME = re.compile(r"(?:concept|function|value|workflow)?_?\d*")

PYTHON = "python"
ALSO_PYTHON = ("py", "python3")


def validate(concept: CodeConcept) -> CodeConcept:
    """Return a concept after checking it, with the language in lower case.

    Raises:
        InvalidInput: The name, description or code is blank, the source is not in `SOURCES`, the examples are not pairs
            of strings, the lineage is not a list of ids, or the code does not parse.
    """
    if not isinstance(concept, CodeConcept):
        raise InvalidInput(
            f"expected a CodeConcept, got {concept!r:.80}; "
            "create one with atlas.CodeConcept(name=…, description=…, code=…)"
        )
    _check_texts(concept)
    _check_lists(concept)
    if concept.source not in SOURCES:
        raise InvalidInput(f"expected one of {', '.join(SOURCES)} for a concept's source, got {concept.source!r}")
    if not isinstance(concept.language, str):
        raise InvalidInput(f"expected a string such as 'python' for a concept's language, got {concept.language!r}")
    language = concept.language.strip().lower()
    concept = replace(concept, language=PYTHON if language in ALSO_PYTHON else language)
    normal_form(concept)  # raises unless the code parses
    return concept


def _check_texts(concept: CodeConcept) -> None:
    for name in ("id", "name", "description", "code"):
        text = getattr(concept, name)
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"expected a string that is not blank for a concept's {name}, got {text!r}")
        check_text(text, f"the concept's {name}")
    if len(concept.name) > NAME_CHARACTERS:
        raise InvalidInput(f"expected up to {NAME_CHARACTERS} characters for a concept's name, got {len(concept.name)}")


def _check_lists(concept: CodeConcept) -> None:
    for name in ("calls", "found_in", "composed_of"):
        ids = getattr(concept, name)
        if isinstance(ids, str) or not all(isinstance(item, str) for item in ids):
            raise InvalidInput(f"expected a list of ids for a concept's {name}, got {ids!r:.80}")
    for example in concept.examples:
        if not _is_pair(example):
            raise InvalidInput(f"expected pairs of strings (call, result) for examples, got {example!r:.120}")


def _is_pair(example: Any) -> bool:
    has_two_items = isinstance(example, tuple | list) and len(example) == 2
    return has_two_items and all(isinstance(text, str) for text in example)


def normal_form(concept: CodeConcept) -> str:
    """Return a normal form of a concept's code that does not depend on layout, comments and the function's name.

    Raises:
        InvalidInput: The code is Python and does not parse.
    """
    if concept.language != PYTHON:
        return "\n".join(line.rstrip() for line in concept.code.strip().splitlines())
    try:
        return normal_forms.normal_form(concept.code)
    except InvalidPython as error:
        raise InvalidInput(f"the code of concept {concept.name!r}: {error}; fix it, or set its language") from error


def undefined_calls(concept: CodeConcept) -> set[str]:
    """Return the names of the functions that a concept's code calls but does not define, except builtins and tools.

    Empty for other languages, and for code that only a newer Python parses.
    """
    if concept.language != PYTHON:
        return set()
    try:
        tree = parse(concept.code)
    except InvalidPython:
        return set()
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return called - bound_names(tree) - set(dir(builtins)) - set(concept.tools)


def defined_names(concept: CodeConcept) -> set[str]:
    """Return the names of the functions and classes that a concept's Python code defines.

    For code in other languages, return the concept's name.
    """
    if concept.language != PYTHON:
        return {concept.name}
    definition_types = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in parse(concept.code).body if isinstance(node, definition_types)} or {concept.name}


FIELDS = frozenset(
    [
        *("source", "language", "calls", "needs", "defines", "found_in", "composed_of", "merged_hashes"),
        *("content", "search_text"),
    ]
)
"""Metadata keys that `to_entry` writes, in addition to those of every memory."""


def to_entry(concept: CodeConcept) -> Entry:
    """Return a concept as an entry for a store. The metadata has keys to filter and sort by, and the whole concept."""
    if concept.created_at is None:
        raise InvalidInput(f"expected a time for the created_at of concept {concept.name!r}, got None; set it")
    metadata = {
        "title": concept.name,
        "source": concept.source,
        "language": concept.language,
        "created_at": concept.created_at.astimezone(UTC).isoformat(timespec="microseconds"),
        "calls": list(concept.calls),
        "needs": sorted(undefined_calls(concept)) or [NO_NEEDS],
        "defines": sorted(defined_names(concept) - {concept.name}),
        "found_in": list(concept.found_in),
        "composed_of": list(concept.composed_of),
        "merged_from": merged_record_ids(concept.metadata),
        **filterable_metadata(concept.metadata),
        "merged_hashes": merged_hashes(concept),
        "content": dump(encode_concept(concept)),
        "content_hash": content_hash(concept),
        "search_text": "\n".join(part for part in (concept.signature, concept.guidance, concept.code) if part),
    }
    non_empty = {name: value for name, value in metadata.items() if value not in ("", [])}
    return Entry(concept.id, embedded_text(concept), non_empty)


def embedded_text(concept: CodeConcept) -> str:
    """Return the text that is embedded for a concept.

    If no person or model has described the concept, the text consists of its uses and the words of its code and tools.
    Descriptions that rules derived are left out, because they share sentences, which would make all such concepts
    similar.
    """
    if concept.metadata.get("documented_by") != RULES_AUTHOR:
        return f"{_split_identifier(concept.name)}: {concept.description}"
    words = dict.fromkeys(_split_identifier(name) for name in (*concept.tools, *_significant_names(concept)))
    return " ".join(part for part in (concept.guidance, ", ".join(words)) if part) or concept.description


def _significant_names(concept: CodeConcept) -> list[str]:
    """Return the names in a concept's Python code, in order, without numbered names and single letters."""
    if concept.language != PYTHON:
        return []
    nodes = ast.walk(parse(concept.code))
    names = (getattr(node, key, None) for node in nodes for key in ("name", "id", "attr", "arg"))
    return [name for name in names if isinstance(name, str) and len(name) > 2 and not _NUMBERED_NAME.fullmatch(name)]


def content_hash(concept: CodeConcept) -> str:
    """Return a hash of a concept's language, code and, if there is one, scope."""
    parts = [concept.language, normal_form(concept)]
    if scope := scope_of(concept.metadata):
        parts.append(dump(scope))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def merged_hashes(concept: CodeConcept) -> list[str]:
    """Return the content hashes of the concepts merged into a concept. Code with such a hash is not added again."""
    hashes = concept.metadata.get("merged_hashes")
    if isinstance(hashes, list | tuple):
        return [text for text in hashes if isinstance(text, str)]
    return []


def from_row(row: Mapping[str, Any], usage: Usage) -> CodeConcept:
    """Return the concept of a row, with the given usage."""
    concept = decode_content(decode_concept, row["metadata"])
    rate = usage.n_successes / usage.n_uses if usage.n_uses else 0.0
    return replace(concept, usage_count=usage.n_uses, success_rate=rate)


def undefined_calls_of_row(row: Mapping[str, Any], concept: CodeConcept) -> set[str]:
    """Return the `undefined_calls` of a concept, as stored in its row, or else computed."""
    needs = row["metadata"].get("needs")
    if needs is None:
        return undefined_calls(concept)
    return {needs} - {NO_NEEDS} if isinstance(needs, str) else {*needs} - {NO_NEEDS}


def usage_from_fields(concept: CodeConcept) -> Usage:
    """Return the fields `usage_count` and `success_rate` of a concept as usage.

    Raises:
        InvalidInput: The count or the rate is out of range.
    """
    if concept.usage_count < 0:
        raise InvalidInput(f"expected 0 or more for usage_count, got {concept.usage_count}")
    if not 0 <= concept.success_rate <= 1:
        raise InvalidInput(f"expected a number from 0 to 1 for success_rate, got {concept.success_rate}")
    return Usage(n_uses=concept.usage_count, n_successes=round(concept.usage_count * concept.success_rate))


def with_time(concept: CodeConcept, now: datetime) -> CodeConcept:
    """Return a concept with `created_at` set to now if it is None."""
    return concept if concept.created_at else replace(concept, created_at=now)


def _split_identifier(name: str) -> str:
    """Return the words of an identifier, separated by blanks, which embedding models understand better."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_+", " ", name).strip().lower() or name
