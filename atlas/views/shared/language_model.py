"""The dashboard's language model, and the features that need one."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.core.errors import AtlasError, LLMUnavailable
from atlas.core.settings import Settings
from atlas.llm.client import KEY, ModelClient, is_configured

NONE = "No language model"

WITHOUT = (
    "Everything works without one, by rules. Strategies are written by pattern, concepts are composed by their types, "
    "what compression finds is named after its code, experiences are refined by how alike they are and how they went, "
    "and the journal's summaries quote its entries. Searching, Ask and the map never need one."
)

_BY_ENVIRONMENT = f"Or set {KEY}, or ATLAS_LLM_BASE_URL to a server of your own, and start again."
HOW = f"To use one, type a key under Settings → Models. {_BY_ENVIRONMENT}"
HOW_HERE = f"To use one, type a key below. {_BY_ENVIRONMENT}"
"""Wording of `HOW` for the page that has the field of the key."""

WITH = (
    "It is asked where you compose concepts, write strategies from attempts or let the journal forget, and, if you "
    "choose it there, where you compress, refine or have the map's domains named. Ask has a button that lets it answer "
    "a task. Searching never asks it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageModel:
    """The model that is configured, or the reason for none."""

    client: ModelClient | None
    badge: str
    """Its name, or a note that there is none."""

    sentences: tuple[str, ...]
    """Sentences on the enabled or disabled features, and how to change that."""


NO_MODEL = LanguageModel(client=None, badge=NONE, sentences=(WITHOUT,))
"""State for a page that may not use a model."""


def language_model(settings: Settings) -> LanguageModel:
    """Return the model that the environment names. Connecting sends no request."""
    try:
        client = ModelClient(settings)
    except LLMUnavailable as error:
        is_forbidden = settings.llm_forbidden and "forbidden" in str(error)
        reason = str(error) if is_forbidden or is_configured(settings) else HOW
        return LanguageModel(client=None, badge=NONE, sentences=(WITHOUT, reason))
    except AtlasError as error:
        return LanguageModel(client=None, badge=NONE, sentences=(WITHOUT, str(error)))
    server = f" at {settings.llm_base_url}" if settings.llm_base_url else ""
    budget = f"It may use {settings.llm_budget_tokens:,} tokens for each operation."
    return LanguageModel(
        client=client, badge=settings.llm_model, sentences=(f"{settings.llm_model}{server}.", WITH, budget)
    )
