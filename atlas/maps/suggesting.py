"""Names for domains that a language model suggests from their typical tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.llm.prompts.domain_names import DOMAIN_NAMES
from atlas.llm.prompts.records import as_fields
from atlas.llm.structured_output import Question, as_data, ask
from atlas.maps.map import MemoryMap
from atlas.protocols.infra import LLMClient

MAX_DOMAINS = 20
"""Largest number of domains in one prompt. The model can contrast several domains, but many make answers too long."""

MAX_NAME_CHARACTERS = 40
TASK_CHARACTERS = 300
DOMAIN_CHARACTERS = 1_600
TOKENS_PER_NAME = 40


def build_schema(numbers: Sequence[int]) -> Mapping[str, Any]:
    """Return the JSON schema of an answer with a name for each of the domains with these numbers."""
    name = {
        "type": "object",
        "properties": {
            "group": {"enum": list(numbers)},
            "name": {"type": "string", "minLength": 2, "maxLength": MAX_NAME_CHARACTERS},
        },
        "required": ["group", "name"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"names": {"type": "array", "items": name}},
        "required": ["names"],
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class UnnamedDomain:
    """A domain to be named by a language model, as the prompt describes it."""

    number: int
    terms: tuple[str, ...]
    tasks: tuple[str, ...]
    """The domain's most typical tasks: untrusted text."""


def unnamed_domains(memory_map: MemoryMap, titles: Mapping[str, str]) -> tuple[UnnamedDomain, ...]:
    """Return the domains that no person has named, with their typical tasks.

    Args:
        memory_map: The map, with the names that people gave.
        titles: The task of each typical record, keyed by id.
    """
    unnamed = list[UnnamedDomain]()
    for domain in memory_map.domains:
        if not domain.is_named_by_person:
            known_titles = [titles[record_id] for record_id in domain.typical if record_id in titles]
            tasks = tuple(title[:TASK_CHARACTERS] for title in known_titles)
            unnamed.append(UnnamedDomain(number=domain.number, terms=domain.terms, tasks=tasks))
    return tuple(unnamed)


async def suggest_names(
    llm: LLMClient, domains: Sequence[UnnamedDomain], reserved: Iterable[str] = ()
) -> dict[int, str]:
    """Return a name for each domain, keyed by the domain's number. No two names are equal, ignoring case.

    Args:
        llm: Called once for every `MAX_DOMAINS` domains.
        domains: The domains to name.
        reserved: Names that other domains have.

    Raises:
        LLMError: The model could not be called, or gave no valid names.
    """
    names: dict[int, str] = {}
    taken_names = list(reserved)
    for start in range(0, len(domains), MAX_DOMAINS):
        batch = domains[start : start + MAX_DOMAINS]
        answer = await _ask_for_names(llm, batch, [*taken_names, *names.values()])
        names.update(answer)
    return names


async def _ask_for_names(llm: LLMClient, domains: Sequence[UnnamedDomain], reserved: Sequence[str]) -> dict[int, str]:
    numbers = [domain.number for domain in domains]
    groups = {f"group {domain.number}": _describe_domain(domain) for domain in domains}
    prompt = f"The {len(domains)} groups:\n{as_data(groups, limit=DOMAIN_CHARACTERS * len(domains))}"
    if reserved:
        prompt += f"\n\nNames that are taken:\n{as_data({'names': chr(10).join(reserved)}, limit=4_000)}"
    question = Question(
        system=DOMAIN_NAMES.text,
        prompt=prompt,
        schema=build_schema(numbers),
        validate=lambda answer: _parse_names(answer["names"], numbers, reserved),
        prose=frozenset({"name"}),
        max_tokens=256 + TOKENS_PER_NAME * len(domains),
    )
    return await ask(llm, question)


def _describe_domain(domain: UnnamedDomain) -> str:
    tasks = {f"task {number}": task for number, task in enumerate(domain.tasks, start=1)}
    return as_fields({"frequent words": ", ".join(domain.terms), **tasks})


_QUESTION_WORDS = frozenset(("frequent", "group", "groups", "name", "names", "task", "tasks", "word", "words"))


def _words(name: str) -> set[str]:
    """Return the words of a name in lower case, including words that are joined as in `flightChanges`."""
    return {word.casefold() for word in re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+", name)}


def _parse_names(
    answer: Sequence[Mapping[str, Any]], numbers: Sequence[int], reserved: Iterable[str]
) -> dict[int, str]:
    """Return the names in an answer, keyed by the domain's number.

    Raises:
        InvalidInput: A group has not exactly one name, or a name repeats a word, has line breaks or is repeated.
    """
    names = {entry["group"]: " ".join(entry["name"].split()) for entry in answer}
    named_numbers = sorted(entry["group"] for entry in answer)
    if named_numbers != sorted(numbers):
        raise InvalidInput(
            f"expected exactly one name for each of the groups {sorted(numbers)}, got names for {named_numbers}"
        )
    if vague := [name for name in names.values() if not _words(name) - _QUESTION_WORDS]:
        raise InvalidInput(f"a name should describe the subject of its tasks, but these names do not: {vague}")
    if repetitive := [name for name in names.values() if max(Counter(name.casefold().split()).values(), default=0) > 2]:
        raise InvalidInput(f"a name should not repeat a word, but these do: {repetitive}")
    if not_printable := [name for name in names.values() if not name or not name.isprintable()]:
        raise InvalidInput(f"expected plain text on one line for each name, got {not_printable}")
    case_folded = [name.casefold() for name in (*reserved, *names.values())]
    if repeated := sorted({name for name in names.values() if case_folded.count(name.casefold()) > 1}):
        raise InvalidInput(f"expected each name once, got these twice: {repeated}")
    return names
