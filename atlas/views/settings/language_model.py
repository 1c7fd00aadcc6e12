"""A language model's API key, as typed by a user."""

from __future__ import annotations

from collections.abc import Callable

from atlas.core.settings import Settings
from atlas.infra.actor import actor_name, is_admin_of_all_stores
from atlas.llm.check import check_model
from atlas.llm.client import KEY as KEY
from atlas.llm.client import ModelClient
from atlas.memory.system import MemorySystem
from atlas.storage.location.audit import MODEL_CHOSEN
from atlas.views.settings.roles import ADMIN_OF_ALL_ONLY, ADMIN_ONLY, check_admin_of_all, may_administer

MODEL = "ATLAS_LLM_MODEL"
"""The variable that names the model."""

PROMISE = (
    f"The key stays in the memory of this dashboard and of the jobs that it starts, as if {KEY} had been set. It is "
    "never written: not to the store, a backup, an export, the history or the log. It is gone when the dashboard stops."
)


def problem_of_key(key: str) -> str:
    """Return why a string cannot be a key, without repeating it, or an empty string if it may be one."""
    if not key:
        return f"A key is needed, but the box is empty. Paste the one that {KEY} would hold."
    if not key.isascii() or any(character.isspace() or not character.isprintable() for character in key):
        return "A key should be one word of plain letters, digits and signs. Copy it again without spaces."
    return ""


def why_fixed(settings: Settings) -> str:
    """Return the reason why the visitor cannot choose the model, or an empty string if they can."""
    if settings.llm_forbidden:
        return "ATLAS_LLM_FORBIDDEN is set: only language models that run on this machine can be used."
    if not may_administer():
        return ADMIN_ONLY
    return "" if is_admin_of_all_stores() else ADMIN_OF_ALL_ONLY


def checked_model(client: ModelClient) -> dict[str, str]:
    """Return the results of one small question to a model, by label.

    Raises:
        NotAllowed: The actor is not an admin of every store of the server.
    """
    check_admin_of_all("check the language model")
    return dict(check_model(client).lines)


def choose_model(memory: MemorySystem, apply: Callable[[], None], model_name: str) -> None:
    """Choose the language model of this process, and note that in the audit log of the store that is shown.

    Args:
        apply: Function that makes the choice.
        model_name: For the log.

    Raises:
        NotAllowed: The actor is not an admin of every store of the server.
    """
    check_admin_of_all("choose the language model")
    apply()
    memory.storage.audit.add_event(MODEL_CHOSEN, who=actor_name(memory.storage.settings.actor), about=model_name)
