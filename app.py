"""The dashboard's router: which pages there are, and what is shown where something goes wrong."""

from __future__ import annotations

import streamlit as st

from atlas import AtlasError
from pages.components.memory import current_memory, routed
from pages.components.messages import show_failure, show_problem
from pages.components.sidebar import draw_sidebar


def main() -> None:
    """Draw the page that is asked for, or say why it cannot be drawn."""
    st.set_page_config(page_title="ATLAS memory", page_icon=":material/memory:", layout="wide")
    page = st.navigation(
        [
            st.Page("pages/overview.py", title="Overview", icon=":material/monitoring:", default=True),
            st.Page("pages/experiences.py", title="Experiences", icon=":material/history_edu:"),
        ]
    )
    try:
        draw_sidebar(current_memory())
        with routed():
            page.run()
    except AtlasError as error:
        show_problem(error)
    except Exception as error:  # noqa: BLE001 - the page's top: whatever it is, the person gets a sentence
        show_failure(error)


if __name__ == "__main__":
    main()
