"""The dashboard without a browser: how a page is opened, and what it shows."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from pandas import DataFrame
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.element_tree import Node

from pages.components.lists.selection import Selection
from tests.support.repository import REPOSITORY
from tests.support.waiting import GIVE_UP_SECONDS

PAGES = ["overview", "map", "experiences", "ask", "evaluation", "curate", "history", "settings"]


def _wait_for_page(runner: local_script_runner.LocalScriptRunner, timeout: float) -> None:
    """Wait until a page has run. Streamlit's tests look each millisecond, and stop the page to do so."""
    runner._script_thread.join(timeout)
    if runner._script_thread.is_alive():
        raise TimeoutError(f"the page should be drawn in {timeout} seconds, but still runs")


local_script_runner.require_widgets_deltas = _wait_for_page


def page_at(page: str, query: Mapping[str, str]) -> AppTest:
    """Return a page that has yet to run.

    Args:
        query: Parameters of its URL.
    """
    app = AppTest.from_file(REPOSITORY / "app.py", default_timeout=GIVE_UP_SECONDS)
    # It would look for components in every installed package first, which takes longer than to draw the page.
    app._bidi_component_manager = BidiComponentManager()
    app.query_params.update(query)
    return app.switch_page(f"pages/{page}.py")


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


def undo_button(app: AppTest, where: str = "act") -> Any:
    """The button that undoes or redoes: `act` in the bar, `history` of the operation that is open."""
    [found] = [button for button in app.button if str(button.key).startswith(f"{where}_undo_")]
    return found


def selecting(page: str, app: AppTest, *ids: str) -> AppTest:
    """The page of a kind with some of it selected in its list."""
    app.session_state[f"selection_{page}"] = Selection(tuple(ids), f"rows on {page.capitalize()}", 1)
    return app.run()


class Dashboard(Protocol):
    """Opens a page on a store."""

    def __call__(self, store: Path, page: str, *, read_only: bool = False, **query: str) -> AppTest: ...


def run_until(app: AppTest, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.3)
        app.run()


def caption(app: AppTest) -> str:
    """What the page says above its list."""
    said = next(element.value for element in app.caption if " experience" in element.value)
    return str(said)


def table(app: AppTest, number: int = 0) -> DataFrame:
    """A table of memories, the list being the first."""
    return DataFrame(drawn_by(app, "records")[number]["rows"])


def plan_tables(app: AppTest) -> list[DataFrame]:
    """The tables of records of the open plan."""
    return [DataFrame(drawn["rows"]) for drawn in drawn_by(app, "records") if drawn["label"] == "Plan"]


def tables(app: AppTest) -> int:
    """How many tables of memories a page has."""
    return len(drawn_by(app, "records"))


def tasks(app: AppTest) -> list[str]:
    """The tasks of the list, from the top."""
    return list(table(app)["task"])


def shown_code(app: AppTest) -> str:
    return "\n".join(code.value for code in app.code)


def domain_numbers(app: AppTest) -> list[int]:
    """The numbers of the domains, worst first."""
    return [row.number for row in app.session_state["map_sheet"].domains]


def counted_on(app: AppTest) -> int:
    """How many experiences a page and its scope say there are, which must be the same."""
    sentences = [re.match(r"\*\*([\d,]+)( of [\d,]+)? experience", each.value) for each in app.markdown]
    words = [sentence[1] for sentence in sentences if sentence]
    words += [metric.value for metric in app.metric if metric.label == "Experiences"]
    words += [caption.value.split()[0] for caption in app.caption if " experiences · " in caption.value]
    (counted,) = {int(word.replace(",", "")) for word in words}
    return counted


def cards(app: AppTest) -> list[dict[str, Any]]:
    """What the cards of a page show, from the top."""
    return drawn_by(app, "hit_card")


def drawn_by(app: AppTest, component: str) -> list[dict[str, Any]]:
    """What each use of a browser component is given to show, from the top."""
    drawn: list[dict[str, Any]] = []

    def look(node: Node) -> None:
        for child in getattr(node, "children", {}).values():
            look(child)
        if getattr(node, "type", "") == "bidi_component" and node.proto.component_name.endswith(component):
            drawn.append(json.loads(node.proto.json))

    look(app._tree)
    return drawn


def text_of(card: dict[str, Any]) -> str:
    """The passage of a card."""
    return "".join(text for text, _ in card["pieces"])


def touch_table(app: AppTest, event: str, value: Any, number: int = 0) -> None:
    """Send an event of a table of memories: a row that is opened, rows that are chosen, or an order."""
    drawn = [node for node in of_type(app, "bidi_component") if node.proto.component_name.endswith("records")]
    states = app._tree.get_widget_states()
    state = states.widgets.add()
    state.id = f"$$STREAMLIT_INTERNAL_KEY_{drawn[number].proto.id}__events"
    state.json_trigger_value = json.dumps([{"event": event, "value": value}])
    app._run(states)
