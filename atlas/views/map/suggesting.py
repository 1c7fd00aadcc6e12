"""Names for the map's domains by a language model: the request, and its result in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from atlas.infra.bridge import run
from atlas.llm.budget import TokenUsage, operation
from atlas.llm.prompts.domain_names import DOMAIN_NAMES
from atlas.llm.prompts.prompt import authorship
from atlas.llm.structured_output import model_name
from atlas.maps.labels import NamedDomain as NamedDomain
from atlas.maps.map import MemoryMap
from atlas.maps.suggesting import suggest_names, unnamed_domains
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import LLMClient
from atlas.views.shared.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class NameSuggestions:
    """Names that a language model suggested."""

    names: Mapping[int, str]
    """The name of each domain, by its number."""

    model: str
    author: str
    """The model and the version of its prompt, which are kept with the names."""

    spent: TokenUsage


def suggest_domain_names(llm: LLMClient, memory: MemorySystem, memory_map: MemoryMap) -> NameSuggestions:
    """Return names for the domains without a user-given name.

    Args:
        llm: The language model.
        memory: Only read.
        memory_map: The map with the names that it has.

    Raises:
        LLMError: The model is unavailable, or returned no valid names.
    """
    typical = [record_id for domain in memory_map.domains for record_id in domain.typical]
    unnamed = unnamed_domains(memory_map, memory.experience.titles(typical))
    person_names = [domain.name for domain in memory_map.domains if domain.is_named_by_person]
    with operation() as account:
        names = run(suggest_names(llm, unnamed, person_names))
    return NameSuggestions(
        names=names, model=model_name(llm), author=authorship(llm, DOMAIN_NAMES), spent=account.spent
    )


def named_sentence(suggestions: NameSuggestions) -> str:
    """Return `a-model named 12 domains (1 call, 2,400 tokens, $0.0021)`, as a sentence."""
    return f"{suggestions.model} named {counted(len(suggestions.names), 'domain')} ({suggestions.spent})."
