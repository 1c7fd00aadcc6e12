"""Strategies and concepts as Agent Skills: directories that coding agents read, and that git can compare.

Each skill has a `SKILL.md` for agents and people, the record itself in `atlas.jsonl`, which `atlas import` reads back,
and the code of a concept under `scripts`.

Source:
    https://agentskills.io/specification
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from hashlib import sha256

from atlas.core.errors import InvalidInput
from atlas.core.exchange import ExportedConcept, ExportedStrategy, decode_line, encode_line
from atlas.core.operations import Use
from atlas.memory.concepts.records import SOURCES
from atlas.memory.kinds.sections import success_rate_text
from atlas.memory.kinds.table import known_lines
from atlas.memory.system import MemorySystem
from atlas.storage.records import IS_NOT_TRUSTED
from atlas.views.shared.wording import counted

SKILL, RECORD, OVERVIEW = "SKILL.md", "atlas.jsonl", "AGENTS.md"
OVERVIEW_HEADING = "## Learned skills\n"
_INTRODUCTION = "Skills learned from earlier work. Read the one that fits before you begin a task.\n"
_ENTRY = re.compile(r"- \[([^]]+)\]\(\1/SKILL\.md\): .*")

MAX_NAME, MAX_DESCRIPTION = 64, 1_024
"""Maximum characters of a name and of a description in the specification."""

SUFFIXES = {"python": "py", "javascript": "js", "typescript": "ts", "bash": "sh"}
"""Suffixes of files, by language. Other code is written as text."""

Skill = ExportedStrategy | ExportedConcept

_IS_RANDOM = re.compile("[0-9a-f]{12}[^167][0-9a-f]{19}")
"""Ids that differ in their first characters. UUIDs of versions 1, 6 and 7 begin with a time, others may begin alike."""


def read_skills(memory: MemorySystem) -> dict[str, Skill]:
    """Return the strategies in use and all concepts but primitives, by the names of their skills.

    Records that are pending or in quarantine are left out.
    """
    excluded = {*memory.strategies.retired(), *memory.strategies.ids(IS_NOT_TRUSTED)}
    strategies = memory.strategies.export([id for id in memory.strategies.ids() if id not in excluded])
    sources = [source for source in SOURCES if source != "primitive"]
    untrusted = set(memory.concepts.ids(IS_NOT_TRUSTED))
    ids = [id for id in memory.concepts.ids({"source": {"$in": sources}}) if id not in untrusted]
    concepts = memory.concepts.export(ids)
    skills: list[Skill] = [*strategies, *concepts]
    return {skill_name(skill): skill for skill in skills}


def decode_skill(record: str) -> Skill:
    """Return the record of an exported skill.

    Raises:
        InvalidInput: It is not a strategy or a concept.
    """
    try:
        exported = decode_line(json.loads(record), known_lines())
    except ValueError as error:
        raise InvalidInput(f"a skill's record should be a line of JSON, but is not: {error}") from error
    if not isinstance(exported, Skill):
        raise InvalidInput(
            f"a skill's record should be a strategy or a concept, but is of type {type(exported).__name__}"
        )
    return exported


def skill_name(skill: Skill) -> str:
    """Return the name of a skill and of its directory: `cancel-a-basic-booking-3f2a91bc`."""
    title = (
        skill.strategy.title or skill.strategy.situation if isinstance(skill, ExportedStrategy) else skill.concept.name
    )
    id = skill.strategy.id if isinstance(skill, ExportedStrategy) else skill.concept.id
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    tail = (id if _IS_RANDOM.fullmatch(id) else sha256(id.encode()).hexdigest())[:8]
    words = re.sub(r"[^a-z0-9]+", "-", ascii_title)[: MAX_NAME - len(tail) - 1].strip("-")
    return f"{words}-{tail}" if words else f"skill-{tail}"


def files_of(skill: Skill) -> dict[str, str]:
    """Return the contents of a skill's files, by their paths in its directory."""
    files = {RECORD: encode_line(skill, known_lines()) + "\n"}
    if isinstance(skill, ExportedStrategy):
        return files | {SKILL: _strategy_text(skill)}
    return files | {SKILL: _concept_text(skill), _script(skill): skill.concept.code.rstrip("\n") + "\n"}


def overview(skills: Mapping[str, Skill]) -> str:
    """Return a section for a project's AGENTS.md, which lists the skills."""
    lines = [
        f"- [{name}]({name}/{SKILL}): {_one_line(_description(skill), 200)}" for name, skill in sorted(skills.items())
    ]
    return "\n".join([OVERVIEW_HEADING, _INTRODUCTION, *lines, ""])


def is_overview(content: bytes) -> bool:
    """Return whether `overview` can have written all lines of a file."""
    text = content.decode("utf-8", "replace")
    lines = text.removeprefix(OVERVIEW_HEADING).replace(_INTRODUCTION, "", 1).splitlines()
    return text.startswith(OVERVIEW_HEADING) and all(_ENTRY.fullmatch(line) for line in lines if line)


def _description(skill: Skill) -> str:
    if isinstance(skill, ExportedStrategy):
        return f"{skill.strategy.title}. Use when: {skill.strategy.situation}".removeprefix(". ")
    concept = skill.concept
    return " ".join(filter(None, (concept.description or concept.name, concept.guidance)))


def _strategy_text(skill: ExportedStrategy) -> str:
    strategy = skill.strategy
    parameters = [_parameter_line(parameter) for parameter in strategy.parameters]
    sections = {
        "When": strategy.situation,
        "What to do": strategy.suggestion,
        "What differs between tasks": "\n".join(parameters),
        "Why": strategy.rationale,
        "Evidence": _evidence(skill.uses, len(strategy.sources)),
    }
    return _document(skill, strategy.title or "Strategy", sections, {"kind": "strategy", "id": strategy.id})


def _parameter_line(parameter: Mapping[str, str]) -> str:
    meaning = parameter.get("description") or parameter.get("example", "")
    return f"- `{parameter.get('name', '')}` ({parameter.get('type', 'text')}): {meaning}"


def _concept_text(skill: ExportedConcept) -> str:
    concept = skill.concept
    examples = "\n".join(f"{call}  # {result}" for call, result in concept.examples)
    sections = {
        "What it does": concept.description,
        "When to use it": concept.guidance,
        "Code": f"`{concept.signature or concept.name}`, in [{_script(skill)}]({_script(skill)}).",
        "Examples": _fenced(examples, concept.language) if examples else "",
        "Tools that it calls": ", ".join(f"`{tool}`" for tool in concept.tools),
        "Evidence": _evidence(skill.uses, len(concept.found_in)),
    }
    return _document(skill, concept.name, sections, {"kind": "concept", "id": concept.id})


def _document(skill: Skill, title: str, sections: dict[str, str], metadata: dict[str, str]) -> str:
    """Return a `SKILL.md`. Its frontmatter is YAML with JSON strings as values, so no text can end it early."""
    front = [
        "---",
        f"name: {skill_name(skill)}",
        f"description: {json.dumps(_one_line(_description(skill), MAX_DESCRIPTION), ensure_ascii=False)}",
        "metadata:",
        *(f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in metadata.items()),
        "---",
    ]
    body = [f"## {heading}\n\n{text.strip()}" for heading, text in sections.items() if text.strip()]
    return "\n".join(front) + f"\n\n# {_one_line(title, 200)}\n\n" + "\n\n".join(body) + "\n"


def _evidence(uses: Sequence[Use], n_sources: int) -> str:
    rate_sentence = f"{success_rate_text(sum(use.success for use in uses), len(uses)).capitalize()}."
    return f"{rate_sentence} Learned from {counted(n_sources, 'attempt')}." if n_sources else rate_sentence


def _script(skill: ExportedConcept) -> str:
    name = re.sub(r"[^A-Za-z0-9_]", "_", skill.concept.name)[:MAX_NAME] or "code"
    return f"scripts/{name}.{SUFFIXES.get(skill.concept.language, 'txt')}"


def _fenced(code: str, language: str) -> str:
    """Return code between fences of backticks that are longer than any run of backticks in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", code))])
    return f"{fence}{language}\n{code}\n{fence}"


def _one_line(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
