"""Parts of the overview: figures, a chart, lists that lead on, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import streamlit as st

from atlas.views.charts.growth import growth_caption, growth_chart
from atlas.views.curate.health import DOMAIN_ORDER, FAILING, DomainLine, Health, health_lines
from atlas.views.curate.queues import DuplicatesResult
from atlas.views.overview.summary import Day, GroupRow, Groups, SuccessRate, groups_caption, rate_words
from atlas.views.overview.weak_tasks import WeakTask
from atlas.views.shared.scope import Scope
from atlas.views.shared.wording import counted
from pages.components.lists.record_table import clicked_row, table_height
from pages.components.shared.narrowing import go_from_click, narrow_to

MAX_DOMAINS = 5

SHARE = st.column_config.ProgressColumn("Succeeded", format="%.0f %%", min_value=0, max_value=100, width=100)
INTERVAL = st.column_config.TextColumn("Likely", width=80, help="Where the true rate is with a probability of 95 %")
RATE_COLUMNS = {
    "percent_succeeded": SHARE,
    "interval": INTERVAL,
    "known": st.column_config.TextColumn("Known", width=80, help="Attempts whose outcome is known, of all"),
}
CHART = {"displayModeBar": False, "scrollZoom": False}


def draw_totals(rate: SuccessRate) -> None:
    """Draw four figures in a row."""
    total, share, failed, unknown = st.columns(4)
    value, interval = rate_words(rate)
    total.metric("Experiences", f"{rate.n:,}", border=True, height="stretch")
    share.metric(
        "Succeeded",
        value,
        delta=interval or None,
        delta_color="off",
        delta_arrow="off",
        help=f"Of the {rate.n_known:,} experiences with a known outcome. The true rate is in the range with 95 %.",
        border=True,
        height="stretch",
    )
    failed.metric("Failed", f"{rate.n_failed:,}", border=True, height="stretch")
    unknown.metric("Outcome unknown", f"{rate.n_unknown:,}", border=True, height="stretch")


def draw_concepts(n_concepts: int) -> None:
    """Draw the amount of reusable code, with a link to the library."""
    if n_concepts:
        st.page_link("pages/concepts.py", label=counted(n_concepts, "concept"), icon=":material/functions:")


def draw_journal(n_entries: int) -> None:
    """Draw the length of the journal, with a link to it."""
    if n_entries:
        st.page_link("pages/journal.py", label=counted(n_entries, "journal entry"), icon=":material/menu_book:")


def draw_strategies(sentence: str) -> None:
    """Draw the number of strategies, with a link to them."""
    if sentence:
        st.page_link("pages/strategies.py", label=sentence, icon=":material/lightbulb:")


def draw_growth(days: Sequence[Day]) -> None:
    """Draw the number of new attempts per day, and the cumulative success rate."""
    if days:
        st.plotly_chart(growth_chart(days), key="overview_growth", config=CHART, alt=growth_caption(days))
    else:
        st.caption("The time of these attempts is not known.")


def draw_health(found: Health, duplicates: DuplicatesResult) -> None:
    """Draw the groups that need attention. Each line opens Curate at it."""
    st.subheader("Worth a look", anchor=False)
    lines = health_lines(found, duplicates.groups)
    for line in lines:
        st.page_link(
            "pages/curate.py",
            label=line.sentence,
            icon=":material/arrow_forward:",
            query_params={"curate_queue": line.queue},
        )
    if duplicates.is_running:
        st.caption("Looking for near-duplicates …")
    elif duplicates.problem:
        st.caption("The search for near-duplicates failed. Curate says why.")
    elif not duplicates.is_known:
        st.caption("Near-duplicates have not been searched for yet.")
    if not lines and duplicates.is_known and not duplicates.problem:
        st.caption("Nothing to review: there are no near-duplicates, failing domains or stale experiences.")


def draw_domains(found: Health) -> None:
    """Draw the domains with the lowest success rates. A click opens one on the map."""
    st.caption("Weakest first. Click a row to see its attempts on the map.", help=DOMAIN_ORDER)
    domains = found.domains[:MAX_DOMAINS]
    numbers = tuple(row.number for row in domains)
    key = f"overview_domains_{hash(numbers)}"
    columns = {
        "name": st.column_config.TextColumn("Domain", width=200),
        **RATE_COLUMNS,
    }
    st.dataframe(
        [rate_line(row) for row in domains],
        column_config=columns,
        column_order=list(columns),
        hide_index=True,
        key=key,
        on_select=partial(_open_domain, numbers, key),
        selection_mode="single-cell",
        height=table_height(len(domains)),
        alt="Success by domain",
    )
    if len(found.domains) > len(domains):
        st.page_link(
            "pages/curate.py", label=f"All {len(found.domains)} domains", query_params={"curate_queue": FAILING}
        )


def rate_line(row: DomainLine | GroupRow | WeakTask) -> dict[str, Any]:
    """Return a line of a table with the columns of `RATE_COLUMNS`."""
    return asdict(row) | {"known": f"{row.n_known:,} of {row.n:,}"}


def _open_domain(numbers: tuple[int, ...], key: str) -> None:
    row = clicked_row(key, len(numbers))
    if row is not None:
        narrow_to(Scope(domains=(numbers[row],)))
        go_from_click("pages/map.py")


def draw_sources(groups: Groups) -> None:
    """Draw a line for each source."""
    columns = {
        "name": st.column_config.TextColumn("Source", width=140),
        **RATE_COLUMNS,
    }
    lines = [rate_line(group) for group in groups.rows]
    st.dataframe(lines, column_config=columns, column_order=list(columns), hide_index=True,
                 height=table_height(len(lines)), alt="Success by source")  # fmt: skip
    if caption := groups_caption(groups, "source"):
        st.caption(caption)
