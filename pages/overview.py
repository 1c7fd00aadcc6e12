"""Overview: how much is remembered, how well it went, and what was done to it lately."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import streamlit as st

from atlas.views.overview import Groups, Overview, groups_caption, overview
from atlas.views.rates import SuccessRate
from pages.components.memory import page_memory
from pages.components.messages import show_empty

COUNT = partial(st.column_config.NumberColumn, format="localized", width=90)


def draw_totals(rate: SuccessRate) -> None:
    """Four figures in a row."""
    total, share, failed, unknown = st.columns(4)
    total.metric("Experiences", f"{rate.n:,}", border=True, height="stretch")
    share.metric(
        "Succeeded",
        rate.text,
        delta=f"{rate.interval_text} (n = {rate.n_known:,})" if rate.n_known else None,
        delta_color="off",
        delta_arrow="off",
        help="Of the experiences with a known outcome, with the 95 % interval (Wilson).",
        border=True,
        height="stretch",
    )
    failed.metric("Failed", f"{rate.n_failed:,}", border=True, height="stretch")
    unknown.metric("Outcome unknown", f"{rate.n_unknown:,}", border=True, height="stretch")


def draw_groups(groups: Groups, noun: str) -> None:
    """A table with one line for each source or domain."""
    st.subheader(f"By {noun}", anchor=False)
    columns = {
        "name": st.column_config.TextColumn(noun.capitalize(), width=240),
        "n": COUNT("Experiences"),
        "percent_succeeded": st.column_config.ProgressColumn("Succeeded", format="%.0f %%", min_value=0, max_value=100),
        "interval": st.column_config.TextColumn("95 % interval", width=110),
        "n_succeeded": COUNT("Successes"),
        "n_failed": COUNT("Failures"),
        "n_unknown": COUNT("Unknown"),
    }
    lines = [asdict(group) for group in groups.shown]
    st.dataframe(lines, column_config=columns, hide_index=True, alt=f"Success by {noun}")
    if caption := groups_caption(groups, noun):
        st.caption(caption)


def draw_operations(view: Overview) -> None:
    """What was done to the store lately."""
    st.subheader("Lately", anchor=False)
    lines = [asdict(row) for row in view.operations]
    when = st.column_config.DatetimeColumn("When (UTC)", format="YYYY-MM-DD HH:mm:ss", timezone="UTC", width=160)
    titles = {"what": "What", "counts": "Records", "actor": "Who", "reason": "Why", "state": "State"}
    st.dataframe(lines, column_config={"at": when, **titles}, hide_index=True, alt="What was done to the store lately")


view = overview(page_memory())
st.title("Overview", anchor=False)
if view.rate.n:
    draw_totals(view.rate)
    draw_groups(view.sources, "source")
    draw_groups(view.domains, "domain")
else:
    show_empty(view.import_command)
if view.operations:
    draw_operations(view)
