"""One entry of the journal in full, as a panel beside the list."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.entry import EntryDetail
from atlas.views.journal.links import entry_links
from atlas.views.journal.list import NO_FIX
from atlas.views.journal.promotion import PromoteRequest
from atlas.views.kinds.journal import AROUND, JOURNAL
from atlas.views.lists.facts import Badge, Head, facts_of
from pages.components.journal.links import draw_links, draw_thread
from pages.components.journal.promotion import draw_becoming
from pages.components.lists.facts import draw_facts, draw_record_links
from pages.components.lists.panel import Panel
from pages.components.lists.record_table import experience_table
from pages.components.lists.uses import draw_uses
from pages.components.shared.plans import draw_proposing
from pages.components.shared.texts import draw_code

PROMOTING = "Turns it into an experience or a strategy that agents retrieve. You see a preview first."


def _draw_acts(memory: MemorySystem, detail: EntryDetail) -> None:
    draw_proposing(memory, "Promote …", PromoteRequest(id=detail.id), key="entry_promote", icon=":material/upgrade:",
                   help_text=detail.why_not_promoted or PROMOTING, is_possible=not detail.why_not_promoted,
                   draw_extra=draw_becoming)  # fmt: skip


def _head(detail: EntryDetail) -> Head:
    fix = (Badge(detail.fix, "red" if detail.fix == NO_FIX else "green"),) if detail.fix else ()
    kind = (Badge(detail.type, detail.colour),) if detail.colour else ()
    return Head(
        headline=detail.content.headline,
        is_log=True,
        badges=(*kind, *fix),
        facts=(*facts_of({"Type": "" if kind else detail.type}), *detail.facts),
    )


def _draw_links(memory: MemorySystem, detail: EntryDetail) -> None:
    draw_record_links(detail.became, "Promoted to")
    draw_thread(entry_links(memory, detail.id), lacks_fix=detail.fix == NO_FIX)


def _draw_uses(memory: MemorySystem, detail: EntryDetail, is_open: bool) -> None:
    draw_uses(memory, detail.uses, key=f"entry_uses_{detail.id}")


def _draw_linking(memory: MemorySystem, detail: EntryDetail, is_open: bool) -> None:
    if is_open:
        draw_links(memory, detail.id)


def _draw_around(memory: MemorySystem, detail: EntryDetail, is_open: bool) -> None:
    for caption, rows, name in (("Just before it", detail.before, "before"), ("Just after it", detail.after, "after")):
        if rows:
            st.caption(caption)
            experience_table(rows, columns=AROUND, key=f"entry_{name}_{detail.id}_{memory.revision()}", kind=JOURNAL)


def _draw_importance(memory: MemorySystem, detail: EntryDetail, is_open: bool) -> None:
    draw_facts(detail.usage, key=f"entry_usage_{detail.id}")
    for sentence in detail.worth:
        st.text(sentence)
    if detail.metadata is not None:
        st.caption("Metadata")
        draw_code(detail.metadata, key=f"entry_metadata_{detail.id}")


PANEL = Panel(
    draw_acts=_draw_acts,
    head=_head,
    draw_links=_draw_links,
    tabs={"Uses": _draw_uses, "Before and after": _draw_around, "Links": _draw_linking},
    lacks=lambda detail, tab: tab == "Uses" and not detail.uses,
    tabs_after={"Importance": _draw_importance},
)
