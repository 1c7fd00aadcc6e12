"""The fallback map without WebGL2, drawn by Plotly, with lasso and clicks, but slower for large stores."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from atlas.views.map.figure import map_figure
from atlas.views.map.page import Marks
from atlas.views.map.sheet import Colours, Sheet

HEIGHT = 480


def draw_plotly(
    sheet: Sheet,
    colours: Colours,
    marks: Marks,
    *,
    on_select: Callable[[list[str], str], None],
    on_open: Callable[[str], None],
) -> None:
    """Draw the map as a chart."""
    key = f"map_plot_{sheet.points.key}"  # a new key for new points, as events contain only indices

    def handle() -> None:
        chosen = st.session_state[key]["selection"]
        numbers = [number for point in chosen["points"] if (number := _number(point)) is not None]
        ids = [sheet.points.ids[number] for number in numbers if 0 <= number < len(sheet.points.ids)]
        if chosen.get("lasso") or chosen.get("box") or not ids:
            on_select(ids, "lasso" if chosen.get("lasso") else "box")
        else:
            on_open(ids[0])

    figure = map_figure(sheet, colours, marks, height=HEIGHT)
    st.plotly_chart(figure, key=key, on_select=handle, config={"displaylogo": False})
    st.caption("This browser offers no WebGL2, so a simpler map is drawn.")


def _number(point: dict[str, object]) -> int | None:
    """Return the number of a point. Streamlit returns its custom data as a list or a single value."""
    custom_data = point.get("customdata")
    first = custom_data[0] if isinstance(custom_data, list) and custom_data else custom_data
    return first if isinstance(first, int) else None
