"""The language model and the embedding model, and changing them."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem, Settings
from atlas.views.settings.embedding import ABOUT, CHOICES, Reembedding, canonical_name, why_not
from atlas.views.settings.language_model import (
    KEY,
    MODEL,
    PROMISE,
    checked_model,
    choose_model,
    problem_of_key,
    why_fixed,
)
from atlas.views.settings.roles import check_admin
from atlas.views.settings.store import embedding_facts
from atlas.views.shared.language_model import HOW, HOW_HERE
from atlas.views.shared.results import Worker
from atlas.views.shared.state import Role
from pages.components.settings.process import typed
from pages.components.settings.store import draw_facts
from pages.components.shared.jobs import draw_progress
from pages.components.shared.memory import reopen_all
from pages.components.shared.snapshot import opening_model
from pages.components.shared.undo_toast import Act, announce_act, announcing_problems, set_problem

_KEY, _NAME, _EMBEDDING = "settings_llm_key", "settings_llm_model", "settings_embedding_model"
_CHECKED = "settings_llm_checked"


def draw_models(memory: MemorySystem) -> None:
    """Draw the language model and the embedding model."""
    language, embedding = st.columns(2, gap="large")
    with language:
        _draw_language_model(memory)
    with embedding:
        _draw_embedding_model(memory)


def _draw_language_model(memory: MemorySystem) -> None:
    model, settings = opening_model(), Settings.from_environment()
    st.subheader("Language model", anchor=False)
    draw_facts({"In use": model.badge}, key="language")
    for sentence in model.sentences:
        st.text(HOW_HERE if sentence == HOW else sentence)
    if (checked := st.session_state.pop(_CHECKED, None)) is not None:
        draw_facts(checked, key="checked")
    reason = why_fixed(settings)
    disabled = bool(reason)
    help_text = reason or None
    st.text_input("Model", settings.llm_model, key=_NAME, disabled=disabled, help=help_text)
    st.text_input("Key", key=_KEY, type="password", autocomplete="off", disabled=disabled, help=help_text)
    st.caption(PROMISE)
    with st.container(horizontal=True):
        st.button(
            "Use this model",
            key="settings_llm_use",
            type="primary",
            on_click=_use,
            args=(memory,),
            disabled=disabled,
            help=help_text,
        )
        st.button("Check it", key="settings_llm_check", on_click=_check, disabled=model.client is None or disabled)
        if typed().names & {KEY, MODEL} and not disabled:
            st.button("Forget this model and its key", key="settings_llm_forget", on_click=_forget, args=(memory,))


def _check() -> None:
    """Send the model a small test request. The next run shows the answer."""
    client = opening_model().client
    if client is not None:
        with announcing_problems(), st.spinner("Asking the language model …"):
            st.session_state[_CHECKED] = checked_model(client)


def _use(memory: MemorySystem) -> None:
    """Use the typed key, and empty the box, so that the session state does not contain the key."""
    key, name = st.session_state[_KEY].strip(), st.session_state[_NAME].strip()
    st.session_state[_KEY] = ""
    settings = Settings.from_environment()
    has_access = opening_model().client is not None
    if (key or not has_access) and (problem := problem_of_key(key)):
        set_problem(problem)
        return
    wanted = name or settings.llm_model
    with announcing_problems():
        choose_model(memory, lambda: _type(key, wanted if wanted != settings.llm_model else ""), wanted)
        reopen_all()
        announce_act(Act(f"The language model is {wanted} until this dashboard stops"))


def _type(key: str, name: str) -> None:
    if key:
        typed().use(KEY, key)
    if name:
        typed().use(MODEL, name)


def _forget(memory: MemorySystem) -> None:
    with announcing_problems():
        choose_model(memory, lambda: typed().forget(KEY, MODEL), "what the environment says")
        st.session_state.pop(_NAME, None)
        reopen_all()
        announce_act(Act("What was typed for the language model is forgotten"))


def _draw_embedding_model(memory: MemorySystem) -> None:
    st.subheader("Embedding model", anchor=False)
    draw_facts(embedding_facts(memory), key="embedding")
    job = _reembedding(str(memory.storage.path), _store=memory)
    if draw_progress(job, "Embedding all texts again", key="settings_embedding", cancelled_by=Role.ADMIN):
        return
    status = job.status()
    if status is not None and status.state == "done":
        st.success("All texts were embedded again.", icon=":material/check:")
    wanted = st.selectbox("Another model", CHOICES, None, key=_EMBEDDING, accept_new_options=True,
                          placeholder="Choose one, or type its name")  # fmt: skip
    reason = why_not(memory, Settings.from_environment(), wanted or "")
    st.button("Embed all texts again", key="settings_embedding_start", icon=":material/model_training:",
              disabled=bool(reason), help=reason or None, on_click=_start, args=(job, wanted))  # fmt: skip
    if wanted and reason:
        st.text(reason)
    st.caption(ABOUT)


def _start(job: Reembedding, wanted: str) -> None:
    with announcing_problems():
        check_admin("change the embedding model")
        job.start(canonical_name(wanted.strip()))


@st.cache_resource(show_spinner=False, max_entries=32, on_release=lambda job: job.worker.close())
def _reembedding(path: str, *, _store: MemorySystem) -> Reembedding:
    return Reembedding(_store.storage.path, Worker(stays_warm=False))
