"""The task answered by the language model with the block and without, side by side."""

from __future__ import annotations

import streamlit as st

from atlas.views.ask.trial import Reply, Trial, run_trial
from atlas.views.shared.texts import Text
from pages.components.ask.presenting import is_presenting
from pages.components.lists.filters import digest
from pages.components.shared.snapshot import opening_model
from pages.components.shared.texts import draw_prose

_TRIED = "ask_tried"


def draw_trial(text: str, block: str) -> None:
    """Draw the button that runs the task with and without memories, and both answers when available."""
    model = opening_model()
    if not block or (model.client is None and is_presenting()):
        return
    if model.client is None:
        st.caption("A language model can answer the task with and without the block.", help=model.sentences[-1])
        return
    st.markdown("##### Does the memory help with this task?")
    st.caption(f"{model.badge} answers the task twice: once with the block above, and once without it.")
    if st.button("Answer with and without", key="ask_try", icon=":material/play_arrow:"):
        with st.spinner(f"Asking {model.badge} twice …"):
            st.session_state[_TRIED] = (digest(text, block), run_trial(model.client, text, block))
    trial = trial_of(text, block)
    if trial is not None:
        sides = (("Without the block", trial.without), ("With the block", trial.with_block))
        for column, (title, reply) in zip(st.columns(2, gap="small"), sides, strict=True):
            with column, st.container(border=True):
                _draw_reply(title, reply)


def trial_of(text: str, block: str) -> Trial | None:
    """Return both answers to this task with this block, if requested."""
    last: tuple[str, Trial] | None = st.session_state.get(_TRIED)
    return last[1] if last is not None and last[0] == digest(text, block) else None


def _draw_reply(title: str, reply: Reply) -> None:
    st.markdown(f"**{title}**")
    st.caption(reply.cost)
    if reply.problem:
        st.warning("The answer is not whole." if reply.text else "The model gave no answer.", icon=":material/error:")
    if reply.problem and reply.text:
        st.text(reply.problem)
    draw_prose(Text(reply.text or reply.problem), key=f"ask_reply_{title}")
