"""Parts of the overview: figures, a chart, lists that lead on, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from atlas.views.charts.trend import TREND_MEANS, Trend, trend_caption, trend_chart, trend_sentence, trend_verdict
from atlas.views.curate.attention import AttentionRow
from atlas.views.curate.health import DOMAIN_ORDER, FAILING, Health
from atlas.views.curate.weak_domains import weak_domain_rows, weak_domains_sentence
from atlas.views.kinds.columns import Column
from atlas.views.lists.rate_rows import RATE_COLUMNS, rate_row
from atlas.views.overview.summary import Groups, Overview, experiences_line, groups_caption
from atlas.views.shared.scope import Scope
from atlas.views.shared.wording import counted
from pages.components.lists.record_table import plain_table
from pages.components.shared.narrowing import go_from_click, narrow_to

ATTENTION_COLUMNS = (
    Column("severity", "", 18, "severity"),
    Column("what", "Needs attention", 320),
    Column("detail", "", 500),
    Column("action", "", 90, "button"),
)

CLICK = "The stroke on a bar is the average. Click a domain to see it on the map."

CHART = {"displayModeBar": False, "scrollZoom": False}


def draw_attention(rows: Sequence[AttentionRow]) -> None:
    """Draw what needs attention, worst first, each row with a button that opens where it is dealt with."""
    if rows:
        plain_table(rows, columns=ATTENTION_COLUMNS, key="overview_attention", label="Needs attention",
                    on_opened=partial(_open_attention, rows))  # fmt: skip


def _open_attention(rows: Sequence[AttentionRow], row_id: str) -> None:
    for row in rows:
        if row.id == row_id:
            go_from_click(f"pages/{row.page}.py", **row.parameters)


def draw_totals(view: Overview) -> None:
    """Draw the size of each memory as a link to its page, and what is new."""
    links = (
        ("pages/experiences.py", experiences_line(view.rate), ":material/history_edu:"),
        ("pages/concepts.py", counted(view.n_concepts, "concept"), ":material/functions:"),
        ("pages/strategies.py", view.strategies, ":material/lightbulb:"),
        ("pages/journal.py", counted(view.n_entries, "journal entry"), ":material/menu_book:"),
    )
    with st.container(gap=None):
        for page, label, icon in links:
            if label and not label.startswith("0 "):
                st.page_link(page, label=label, icon=icon, width="content")
        if view.recent is not None:
            st.page_link("pages/experiences.py", label=view.recent.sentence, icon=":material/schedule:",
                         width="content", query_params={"scope_since": view.recent.since.isoformat()})  # fmt: skip


def draw_growth(view: Overview) -> None:
    """Draw the success rate over time, unless there is too little of it, and what is remembered."""
    with st.container(key="halves_growth"):
        trend, remembered = st.columns(2, gap="medium") if view.trend is not None else (None, st.container())
    if view.trend is not None and trend is not None:
        with trend.container(gap="xsmall"):
            draw_trend(view.trend)
    with remembered.container(gap="xsmall"):
        st.markdown("##### What is remembered")
        draw_totals(view)
        if len(view.sources.rows) > 1:
            with st.expander("Success by source"):
                draw_sources(view.sources)


def draw_trend(trend: Trend) -> None:
    """Draw the success rate over time."""
    st.markdown("##### Is it getting better?")
    if verdict := trend_verdict(trend):
        st.markdown(f":small[**{verdict}**]")
    st.caption(trend_sentence(trend), help=TREND_MEANS)
    st.plotly_chart(trend_chart(trend), key="overview_trend", config=CHART, alt=trend_caption(trend))


def draw_domains(health: Health) -> None:
    """Draw the domains with the lowest success rates. A click opens one on the map."""
    st.markdown(f"**{weak_domains_sentence(health)}**", help=f"{CLICK} {DOMAIN_ORDER}")
    rows = weak_domain_rows(health)
    plain_table(
        rows,
        columns=(Column("name", "Domain", 240), *RATE_COLUMNS),
        key="overview_domains",
        label="Success by domain",
        on_opened=_open_domain,
    )
    if len(health.domains) > len(rows):
        label = f"All {len(health.domains)} domains"
        link = {"curate_queue": FAILING}
        st.page_link("pages/curate.py", label=label, icon=":material/arrow_forward:", query_params=link)


def _open_domain(number: str) -> None:
    narrow_to(Scope(domains=(int(number),)))
    go_from_click("pages/map.py")


def draw_sources(groups: Groups) -> None:
    """Draw a line for each source."""
    plain_table(
        [rate_row(group, group.name) for group in groups.rows],
        columns=(Column("name", "Source", 240), *RATE_COLUMNS),
        key="overview_sources",
        label="Success by source",
    )
    if caption := groups_caption(groups, "source"):
        st.caption(caption)
