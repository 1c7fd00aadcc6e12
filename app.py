"""The dashboard's router: the list of pages, and the handling of errors."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from atlas import AtlasError
from atlas.server.hardening import SecurityHeadersMiddleware
from atlas.views.shared.state import check_entrance
from pages.components.concepts.kind_page import PAGE as CONCEPTS
from pages.components.experience.kind_page import PAGE as EXPERIENCES
from pages.components.journal.kind_page import PAGE as ENTRIES
from pages.components.shared.live import begin_run
from pages.components.shared.memory import keep_store, warming_up
from pages.components.shared.messages import show_failure, show_problem
from pages.components.shared.narrowing import follow_address, follow_click, return_to
from pages.components.shared.sidebar import draw_sidebar
from pages.components.shared.snapshot import Snapshot, drawn_from, take_snapshot
from pages.components.shared.tray import draw_tray
from pages.components.shared.undo_toast import draw_act
from pages.components.strategies.kind_page import PAGE as STRATEGIES
from pages.frame.address import begin_address, end_address, enter_page
from pages.frame.page_changes import PageChangeMiddleware
from pages.frame.palette import draw_palette, palette_entries
from pages.frame.unknown_addresses import UnknownAddressMiddleware

FRAME = Path(__file__).parent / "pages" / "frame"
"""Local asset files, as named icons would be fetched from the internet: the logo, the wordmark, and CSS for elements
that Streamlit's theme does not cover."""

SECTIONS = {
    "": [("overview", "Overview", ":material/monitoring:")],
    "Explore": [
        ("map", "Map", ":material/scatter_plot:"),
        ("experiences", "Experiences", ":material/history_edu:"),
        ("concepts", "Concepts", ":material/functions:"),
        ("strategies", "Strategies", ":material/lightbulb:"),
        ("journal", "Journal", ":material/menu_book:"),
    ],
    "Demonstrate": [
        ("ask", "Ask", ":material/psychology_alt:"),
        ("evaluation", "Evaluation", ":material/query_stats:"),
    ],
    "Maintain": [
        ("curate", "Curate", ":material/cleaning_services:"),
        ("history", "History", ":material/history:"),
        ("settings", "Settings", ":material/settings:"),
    ],
}
"""Pages by section: the file's name, which is also the URL path, the title and the icon. The first is the default."""

KIND_PAGES = {page.views.kind.page: page for page in (EXPERIENCES, CONCEPTS, STRATEGIES, ENTRIES)}
"""The pages of the kinds of memories, by name."""


def main() -> None:
    """Draw the requested page, or the reason why it cannot be drawn."""
    st.set_page_config(page_title="ATLAS memory", page_icon=str(FRAME / "icon.png"), layout="wide")
    st.logo(str(FRAME / "name.svg"), size="large", icon_image=str(FRAME / "icon.png"))
    st.html(FRAME / "frame.css")
    begin_address()
    keep_store()
    follow_address()
    page = st.navigation(_sections())
    enter_page()
    return_to(page.url_path)
    try:
        check_entrance()
        snapshot = take_snapshot(is_hurried=page.url_path in ("", "overview"))
        with drawn_from(snapshot):
            _draw(snapshot, page)
    except AtlasError as error:
        show_problem(error)
    except Exception as error:  # noqa: BLE001 - the page's top: whatever it is, the person gets a sentence
        show_failure(error)


def _draw(snapshot: Snapshot, page: st.Page) -> None:
    memory = snapshot.memory
    begin_run(memory)
    draw_sidebar(snapshot.opened, page.url_path)
    with st.container():  # a container, as a bar that appears or disappears would reset the page's open tab
        draw_act(memory)
    follow_click()
    page.run()
    draw_tray(memory, page.url_path, KIND_PAGES)
    draw_palette(memory, palette_entries([(name, title) for part in SECTIONS.values() for name, title, _ in part]))
    end_address()
    snapshot.make_map()


def _sections() -> dict[str, list[st.Page]]:
    return {section: [_page(*entry) for entry in entries] for section, entries in SECTIONS.items()}


def _page(name: str, title: str, icon: str) -> st.Page:
    return st.Page(f"pages/{name}.py", title=title, icon=icon, default=name == "overview")


if __name__ == "__main__":
    main()
else:  # imported once by the server, and not by runs of a page
    app = st.App(
        __file__,
        lifespan=warming_up,
        middleware=[
            Middleware(each) for each in (SecurityHeadersMiddleware, PageChangeMiddleware, UnknownAddressMiddleware)
        ],
    )
