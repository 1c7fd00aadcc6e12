"""Names for domains that a language model suggests, after the tasks that are typical of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.llm.structured_output import as_data, ask
from atlas.maps.map import MemoryMap
from atlas.protocols.infra import LLMClient

AT_ONCE = 20
"""Domains that one question shows, so that the model sees what tells them apart and still answers briefly."""

LONGEST = 40
TASK_CHARACTERS = 300
DOMAIN_CHARACTERS = 1_600
TOKENS_PER_NAME = 40

SYSTEM = f"""\
You name groups of tasks that an agent has worked on, for a person who looks at a map of them. Each group is shown by \
words that are frequent in it and by its most typical tasks. Give each group one name:
- two to four words of plain English, at most {LONGEST} characters, such as "Flight cancellations";
- what its tasks have in common and those of the other groups have not;
- no names of people, no ids, codes or file names, and never the same name twice."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "names": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "group": {"type": "integer"},
                    "name": {"type": "string", "minLength": 2, "maxLength": LONGEST},
                },
                "required": ["group", "name"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["names"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unnamed:
    """A domain as a language model is shown it."""

    number: int
    terms: tuple[str, ...]
    tasks: tuple[str, ...]
    """The tasks most typical of it: untrusted text."""


def unnamed_domains(memory_map: MemoryMap, titles: Mapping[str, str]) -> tuple[Unnamed, ...]:
    """Return the domains that no person has named, with their typical tasks.

    Args:
        memory_map: The map, with the names that people gave.
        titles: The task of each typical record, by id.
    """
    return tuple(
        Unnamed(
            number=domain.number,
            terms=domain.terms,
            tasks=tuple(titles[one][:TASK_CHARACTERS] for one in domain.typical if one in titles),
        )
        for domain in memory_map.domains
        if not domain.is_named_by_person
    )


async def suggest_names(llm: LLMClient, domains: Sequence[Unnamed], taken: Iterable[str] = ()) -> dict[int, str]:
    """Return a name for each domain. No two are the same, whatever their case.

    Args:
        llm: Asked once for every `AT_ONCE` domains.
        domains: What to name.
        taken: Names that other domains have.

    Raises:
        LLMError: The model could not be asked, or gave no usable names. None is given then.
    """
    names: dict[int, str] = {}
    held = list(taken)
    for start in range(0, len(domains), AT_ONCE):
        shown = domains[start : start + AT_ONCE]
        found = await _asked(llm, shown, [*held, *names.values()])
        names.update(found)
    return names


async def _asked(llm: LLMClient, shown: Sequence[Unnamed], taken: Sequence[str]) -> dict[int, str]:
    groups = {f"group {domain.number}": _told(domain) for domain in shown}
    prompt = f"The {len(shown)} groups:\n{as_data(groups, limit=DOMAIN_CHARACTERS * len(shown))}"
    if taken:
        prompt += f"\n\nNames that other groups have already:\n{as_data({'names': chr(10).join(taken)}, limit=4_000)}"
    return await ask(
        llm,
        SYSTEM,
        prompt,
        schema=SCHEMA,
        validate=lambda answer: _checked(answer["names"], [domain.number for domain in shown], taken),
        max_tokens=256 + TOKENS_PER_NAME * len(shown),
    )


def _told(domain: Unnamed) -> str:
    return "\n".join([f"frequent words: {', '.join(domain.terms)}", *(f"task: {task}" for task in domain.tasks)])


def _checked(answer: Sequence[Mapping[str, Any]], numbers: Sequence[int], taken: Iterable[str]) -> dict[int, str]:
    """Return the names of an answer by the domain's number.

    Raises:
        InvalidInput: A group has no name or several, or a name is not one line or is given twice.
    """
    names = {one["group"]: " ".join(one["name"].split()) for one in answer}
    if sorted(one["group"] for one in answer) != sorted(numbers):
        raise InvalidInput(f"each of the groups {sorted(numbers)} should have exactly one name")
    if odd := [name for name in names.values() if not name or not name.isprintable()]:
        raise InvalidInput(f"a name should be plain text on one line, but these are not: {odd}")
    known = [name.casefold() for name in (*taken, *names.values())]
    if twice := sorted({name for name in names.values() if known.count(name.casefold()) > 1}):
        raise InvalidInput(f"each name should be given once, but these are given twice: {twice}")
    return names
