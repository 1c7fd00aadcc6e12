"""What a page shows, as tests ask for it."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from pages.components.lists.selection import Selection


def assert_no_problem(app: AppTest) -> None:
    """Nothing on the page is an error."""
    assert not app.exception
    assert not app.error


def said(app: AppTest) -> str:
    """All plain sentences of a page."""
    kinds = (app.text, app.caption, app.markdown, app.info, app.warning)
    return "\n".join(element.value for kind in kinds for element in kind)


def texts(app: AppTest) -> list[str]:
    return [element.value for element in app.text]


def of_type(app: AppTest, kind: str) -> list[Any]:
    """Elements that the tests' own framework has no list of."""
    return [node for node in app._tree if getattr(node, "type", "") == kind]


def box(app: AppTest, noun: str, name: str) -> Any:
    """The box of the form that edits something of a kind, by the field that it is of."""
    boxes = [*app.text_area, *app.text_input, *app.number_input]
    keys = {str(one.key): one for one in boxes}
    [found] = [one for key, one in keys.items() if key.startswith(f"{noun}_edit_") and key.endswith(f"_{name}")]
    return found


def selecting(page: str, app: AppTest, *ids: str) -> AppTest:
    """The page of a kind with some of it selected in its list."""
    app.session_state[f"selection_{page}"] = Selection(tuple(ids), f"rows on {page.capitalize()}", 1)
    return app.run()
