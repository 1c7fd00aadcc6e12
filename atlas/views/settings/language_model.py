"""The key that a person may type to have a language model asked."""

from __future__ import annotations

from atlas.core.settings import Settings
from atlas.llm.anthropic import KEY as KEY
from atlas.views.settings.roles import ADMIN_ONLY, may_administer

MODEL = "ATLAS_LLM_MODEL"
"""The variable that names the model."""

PROMISE = (
    f"The key stays in the memory of this dashboard and of the jobs that it starts, as if {KEY} had been set. It is "
    "never written: not to the store, a backup, an export, the history or the log. It is gone when the dashboard stops."
)


def problem_of_key(key: str) -> str:
    """Return why a text cannot be a key, without repeating it. Empty where it may be one."""
    if not key:
        return f"A key is needed, but the box is empty. Paste the one that {KEY} would hold."
    if not key.isascii() or any(one.isspace() or not one.isprintable() for one in key):
        return "A key should be one word of plain letters, digits and signs. Copy it again without spaces."
    return ""


def why_fixed(settings: Settings) -> str:
    """Return why whoever looks at the page cannot choose the model that is asked. Empty where they can."""
    if settings.llm_forbidden:
        return "ATLAS_LLM_FORBIDDEN is set: only language models that run on this machine can be used."
    return "" if may_administer() else ADMIN_ONLY
