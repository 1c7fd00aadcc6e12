"""The head of an opened record, labelled facts in a grid, and links to other records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st

from atlas.views.charts.interval_bars import BarLine
from atlas.views.lists.facts import Badge, Fact, Head, RecordLink
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import shortened
from pages.components.shared.texts import draw_prose, draw_prose_or_code

TITLE_CHARACTERS = 60

LONG_TEXT, LONG_LINES = 420, 5
"""Characters or lines below a title beyond which only their beginning shows, so that what follows stays in view."""

CUT_TEXT, CUT_LINES = 300, 4
"""Most characters and lines of such a beginning."""

SHORT = 60
"""Characters of a fact up to which others stand beside it."""

_WHOLE = "opened_whole"

Width = Literal["content", "stretch"]


def draw_title(head: Head, *, key: str) -> None:
    """Draw the title of a record with its badges, and below it the rest of its text.

    Args:
        key: Of its own for each record.
    """
    with st.container(horizontal=True, gap="small", key="opened_head"):
        with st.container(key="opened_title"):
            draw_prose(Text(head.headline.title or "No text"), key=f"{key}_title")
        if not head.ending:
            _draw_badges(head.badges)
    if head.ending:
        with st.container(horizontal=True, gap="xsmall", key=f"opened_ending_{head.badges[0].colour}"):
            _draw_badges(head.badges)
            draw_prose(Text(head.ending), key=f"{key}_ending")
    if head.headline.rest:
        _draw_rest(Text(head.headline.rest), draw_prose_or_code if head.is_log else draw_prose, key=key)


def _draw_badges(badges: Sequence[Badge]) -> None:
    for badge in badges:
        st.badge(badge.text, color=badge.colour)  # type: ignore[arg-type]


def _draw_rest(text: Text, draw: Callable[..., None], *, key: str) -> None:
    """Draw a text, or its beginning and a button for the rest."""
    is_long = len(text.whole) > LONG_TEXT or text.whole.count("\n") > LONG_LINES
    is_cut = is_long and st.session_state.get(_WHOLE) != key
    with st.container(gap="xsmall"):
        if is_cut:
            beginning = "\n".join(text.whole[:CUT_TEXT].rsplit(" ", 1)[0].split("\n")[:CUT_LINES])
            draw(Text(f"{beginning.rstrip()} …"), key=key)
        else:
            draw(text, key=key)
        if is_long:
            st.button("Show all" if is_cut else "Show less", key="opened_more", type="tertiary",
                      on_click=_show_whole, args=(key if is_cut else None,))  # fmt: skip


def _show_whole(key: str | None) -> None:
    st.session_state[_WHOLE] = key


def draw_record_links(links: Sequence[RecordLink], words: str) -> None:
    """Draw links to other records, each with its title.

    Args:
        words: The words before a noun: `Promoted to`.
    """
    if not links:
        return
    with st.container(gap=None):
        for link in links:
            with st.container(horizontal=True, gap="small", key=f"opened_link_{words}_{link.id}"):
                st.page_link(f"pages/{link.kind.page}.py", label=f"{words} {link.kind.noun}", icon=":material/link:",
                             query_params={"id": link.id})  # fmt: skip
                st.text(shortened(link.title, TITLE_CHARACTERS))
                if link.record:
                    st.caption(link.record, width="content")


def draw_bar_line(place: int | str, line: BarLine) -> None:
    """Draw a success rate as a bar between its name and its figures.

    Args:
        place: Its key among the lines of a record.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"opened_rate_{place}"):
        st.caption(line.name, width="content")
        st.image(line.bar)
        st.markdown(f"**{line.counts}**", width="content")
        st.caption(line.range, width="content")


def draw_facts(facts: Sequence[Fact], *, key: str) -> None:
    """Draw facts with trusted labels, each before its value, in as few lines as they take.

    Args:
        key: Prefix of the keys of its widgets.
    """
    if not facts:
        return
    with st.container(horizontal=True, gap=None, key=f"facts_{key}"):
        for number, fact in enumerate(facts):
            width: Width = "content" if len(fact.value) <= SHORT else "stretch"
            with st.container(horizontal=True, gap=None, width=width, key=f"fact_{key}_{number}"):
                st.caption(fact.name, width="content")
                draw_prose(Text(fact.value), key=f"{key}_{fact.name}")


def draw_fact_table(facts: Sequence[Fact], title: str) -> None:
    """Draw facts with untrusted names, one on each line."""
    if facts:
        st.caption(title)
        lines = [{"Name": fact.name, "Value": fact.value} for fact in facts]
        st.dataframe(lines, hide_index=True, alt=title)
