"""A trajectory as a conversation, with roles, tool calls, errors, a search, and expandable long texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from atlas import Step
from atlas.views.shared.browser import asset
from atlas.views.trace.conversation import START, Reading, conversation_as_json

_conversation = st.components.v2.component("trace", css=asset("trace.css"), js=asset("trace.js"))


def draw_steps(steps: Sequence[Step], *, of: str, key: str = "experience_trace") -> None:
    """Draw the steps of one attempt.

    Args:
        of: Id of the attempt. The state of another attempt is discarded.
        key: No other component on the page has it.
    """
    reading = current_reading(key, of)
    traces = [conversation_as_json(steps, reading)]
    draw_trace({"traces": traces, "parting": None, "finds": True}, of=of, key=key,
               find=lambda words: current_reading(key, of).looked_for(words, steps))  # fmt: skip


def current_reading(key: str, of: str, initial: Reading = START) -> Reading:
    """Return the state of the view of a trajectory."""
    kept: tuple[str, Reading] = st.session_state.get(f"{key}_reading", ("", initial))
    return kept[1] if kept[0] == of else initial


def draw_trace(
    data: dict[str, Any],
    *,
    of: str,
    key: str,
    find: Callable[[str], Reading] | None = None,
    initial: Reading = START,
) -> None:
    """Draw one or more trajectories with the browser component.

    Args:
        find: Called with the search text, or None if there is no search.
        initial: Initial state of the view.
    """

    def keep(event: str, change: Callable[[Any], Reading]) -> Callable[[], None]:
        def kept() -> None:
            value = st.session_state[key].get(event)
            if value is not None:
                st.session_state[f"{key}_reading"] = (of, change(value))

        return kept

    def reading() -> Reading:
        return current_reading(key, of, initial)

    _conversation(
        key=key,
        data={**data, "of": of},
        on_step_change=keep("step", lambda step: reading().at_step(int(step))),
        on_whole_change=keep("whole", lambda text: reading().opened(str(text))),
        on_words_change=keep("words", lambda words: find(str(words)) if find else reading()),
    )
