"""The dashboard's router: which pages there are, and what is shown where something goes wrong."""

from __future__ import annotations

import streamlit as st

from atlas import AtlasError
from pages.components.memory import current_memory
from pages.components.messages import show_failure, show_problem
from pages.components.sidebar import draw_sidebar

PAGES = [
    st.Page("pages/overview.py", title="Overview", icon=":material/monitoring:", default=True),
    st.Page("pages/experiences.py", title="Experiences", icon=":material/history_edu:"),
]


def main() -> None:
    """Draw the chosen page over the memory, or say why it cannot be drawn."""
    st.set_page_config(page_title="ATLAS memory", page_icon=":material/memory:", layout="wide")
    page = st.navigation(PAGES)
    try:
        memory = current_memory()
    except AtlasError as error:
        show_problem("The memory cannot be opened.", error)
        return
    try:
        draw_sidebar(memory)
        page.run()
    except AtlasError as error:
        show_problem("This page cannot be shown.", error)
    except Exception as error:  # noqa: BLE001 - the page's top: whatever it is, the person gets a sentence
        show_failure(error)


main()
