"""A trajectory as a conversation, with roles, tool calls, errors, a search, and expandable long texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from atlas import Step
from atlas.views.shared.browser import asset
from atlas.views.trace.conversation import START, Reading, conversation_as_json

_conversation = st.components.v2.component("trace", css=asset("chip.css") + asset("trace.css"), js=asset("trace.js"))


def draw_steps(steps: Sequence[Step], *, trace_id: str, ending: str = "", key: str = "experience_trace") -> None:
    """Draw the steps of one attempt.

    Args:
        trace_id: Id of what they are of. The state of another trace is discarded.
        ending: How the attempt ended, below its last step, or empty.
        key: No other component on the page has it.
    """
    reading = current_reading(key, trace_id)
    traces = [{**conversation_as_json(steps, reading), "ending": ending}]
    draw_trace({"traces": traces, "parting": None, "finds": True}, trace_id=trace_id, key=key,
               find=lambda words: current_reading(key, trace_id).search(words, steps))  # fmt: skip


def current_reading(key: str, trace_id: str, initial: Reading = START) -> Reading:
    """Return the state of the view of a trajectory."""
    last_id, reading = st.session_state.get(f"{key}_reading", ("", initial))
    return reading if last_id == trace_id else initial


def draw_trace(
    data: dict[str, Any],
    *,
    trace_id: str,
    key: str,
    find: Callable[[str], Reading] | None = None,
    initial: Reading = START,
) -> None:
    """Draw one or more trajectories with the browser component.

    Args:
        find: Called with the search text, or None if there is no search.
        initial: Initial state of the view.
    """

    def on_event(event: str, change: Callable[[Any], Reading]) -> Callable[[], None]:
        def store_reading() -> None:
            value = st.session_state[key].get(event)
            if value is not None:
                st.session_state[f"{key}_reading"] = (trace_id, change(value))

        return store_reading

    def reading() -> Reading:
        return current_reading(key, trace_id, initial)

    _conversation(
        key=key,
        data={**data, "id": trace_id},
        on_step_change=on_event("step", lambda step: reading().jump_to(int(step))),
        on_whole_change=on_event("whole", lambda text: reading().unfold(str(text))),
        on_words_change=on_event("words", lambda words: find(str(words)) if find else reading()),
    )
