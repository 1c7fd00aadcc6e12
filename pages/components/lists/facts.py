"""Labelled facts in a row, and links to other records."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas.views.lists.facts import Fact, RecordLink
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import shortened
from pages.components.shared.texts import draw_prose

TITLE_CHARACTERS = 60


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


def draw_facts(facts: Sequence[Fact], *, key: str) -> None:
    """Draw facts with trusted labels, each before its value, in lines.

    Args:
        key: Prefix of the keys of its widgets.
    """
    if not facts:
        return
    with st.container(horizontal=True, gap="medium", key=f"facts_{key}"):
        for fact in facts:
            with st.container(horizontal=True, width="content", gap="xsmall", vertical_alignment="center"):
                st.caption(fact.name, width="content")
                draw_prose(Text(fact.value), key=f"{key}_{fact.name}")


def draw_fact_table(facts: Sequence[Fact], title: str) -> None:
    """Draw facts with untrusted names, one on each line."""
    if facts:
        st.caption(title)
        lines = [{"Name": fact.name, "Value": fact.value} for fact in facts]
        st.dataframe(lines, hide_index=True, alt=title)
