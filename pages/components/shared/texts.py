"""Display of untrusted text: as text or code, in a scrolling frame if it is tall, never silently truncated.

Terminal escapes are removed, and invisible characters are written out.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas.views.shared.texts import Text, with_code
from atlas.views.trace.terminal import readable

FRAME_PIXELS = 360


def draw_prose(text: Text, *, key: str, names: Sequence[str] = ()) -> None:
    """Draw prose with its line breaks.

    In a text of one line, what stands between backticks is drawn as code.

    Args:
        names: Parameters, of which `{name}` is drawn as code too.
    """
    shown = readable(text.whole)
    if text.is_long:
        draw_code(text, key=key)
    elif text.is_tall:
        with st.container(height=FRAME_PIXELS, border=True):
            st.text(shown)
    elif markdown := with_code(shown, names):
        st.markdown(markdown)
    else:
        st.text(shown)


def draw_prose_or_code(text: Text, *, key: str) -> None:
    """Draw a text of one line as prose, and one of several lines, such as a traceback, as code."""
    draw = draw_code if "\n" in text.whole.strip() else draw_prose
    draw(text, key=key)


def draw_code(text: Text, *, key: str) -> None:
    """Draw code or program output, highlighted if the language is recognised."""
    is_whole = not text.is_long or st.toggle(f"Show all {text.size}", key=f"{key}_whole")
    code = text.whole if is_whole else text.beginning
    st.code(readable(code), language=text.language, wrap_lines=True, height=FRAME_PIXELS if text.is_tall else "content")
    if not is_whole:
        st.caption(f"The first {len(code):,} of {text.size}.")
