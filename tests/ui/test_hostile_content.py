"""What memories hold is untrusted: it is shown as text, code or table cells, and never anything else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Element

import atlas
from atlas.core.types import JournalEntry, Strategy
from pages.components.lists.selection import Selection
from tests.support.dashboard import PAGES, Dashboard, cards, selecting, undo_button
from tests.support.hostile import HOSTILE, MARKER, everywhere
from tests.support.records import attempt, concept, entry
from tests.support.stores import make_store, opened_store

SAFE = {"text", "code", "arrow_data_frame", "multiselect", "selectbox", "dataframe", "text_area", "bidi_component"}
"""Elements that show their content as it is: of boxes to choose from, that is their options and what is chosen; of a
component of ours, what its script puts in as text, which the browser's tests hold."""

SAFE_OF_CONCEPTS = SAFE | {"text_input", "graphviz_chart"}
"""The picture's labels are quoted; see the test of `quoted`."""


SAFE_OF_JOURNAL = SAFE | {"plotly_chart"}
"""The timeline's names are escaped; see its test."""


CODE_IN_PROSE = re.compile(r"(?:`[^`\n]+`|\\[!-/:-@\[-`{-~]|[^!-/:-@\[-`{-~])+")

ALL = "\n\n".join(HOSTILE[:-1])
"""All of them in one text but the last, which is too long for some fields."""


@pytest.fixture(
    params=[ALL, *(pytest.param(text, marks=pytest.mark.slow) for text in HOSTILE)], ids=["all", *range(len(HOSTILE))]
)
def hostile(request) -> str:
    """All hostile texts at once, then each alone."""
    return str(request.param)


def test_it_is_shown_as_text_on_every_page(dashboard: Dashboard, tmp_path, hostile):
    opened, _ = make_store(tmp_path, [everywhere(hostile), attempt(f"another {hostile[:50]}")])
    with atlas.open_memory(tmp_path, settings=atlas.Settings(actor=hostile[:150])) as memory:
        memory.experience.mark({opened: atlas.Marks(tags=(hostile[:50],), note=hostile)})
    for app in (*(dashboard(tmp_path, page) for page in PAGES), dashboard(tmp_path, "experiences", id=opened)):
        assert_only_text(app)
    assert showing(app)


@pytest.mark.parametrize("form", ["Table", "Cards"])
def test_it_is_shown_as_text_in_what_a_search_finds(dashboard: Dashboard, tmp_path, hostile, form):
    opened, _ = make_store(tmp_path, [everywhere(f"another {hostile}"), attempt(f"another {hostile[:50]}")])
    asked = {"scope_by": "Words", "scope_text": "another", "experiences_form": form}
    app = dashboard(tmp_path, "experiences", id=opened, **asked)
    assert [element.type for element in showing(app)].count("bidi_component") == (4 if form == "Cards" else 3)
    assert_only_text(app)


def test_it_is_shown_as_text_in_what_ask_finds_and_in_the_block(dashboard: Dashboard, tmp_path, hostile):
    make_store(tmp_path, [everywhere(f"another {hostile}")])
    said = f"another {hostile}"
    with opened_store(tmp_path) as memory:
        memory.strategies.add(Strategy(title=hostile[:150], situation=said, suggestion=hostile, rationale=hostile))
        memory.concepts.add(concept(name="another", description=said, guidance=hostile))
        memory.journal.add_entries([JournalEntry(entry_type=hostile[:50].strip(), content=said, generation=1)])
        memory.storage.profiles.save("all", atlas.RankingWeights(strictness=0.0))
        memory.storage.profiles.use("all")
    app = dashboard(tmp_path, "ask", ask_text="another", ask_budget="8000")
    assert len(cards(app)) == 4
    drawn = [element.proto.component_name for element in showing(app) if element.type == "bidi_component"]
    assert {name.rpartition(".")[2] for name in drawn} == {"hit_card", "ask_block"}
    assert_only_text(app)


@pytest.mark.parametrize("asked", [{"curate_queue": "duplicates"}, {"curate_queue": "unknown"}, {}], ids=str)
def test_it_is_shown_as_text_in_the_queues_the_tray_and_its_plans(dashboard: Dashboard, tmp_path, hostile, asked):
    said = replace(everywhere(hostile), outcome=atlas.Outcome(success=None, error_info=hostile))
    ids = make_store(tmp_path, [said, replace(said, agent_id="another")])
    app = dashboard(tmp_path, "curate" if asked else "history", **asked)
    app.session_state["selection"] = Selection(tuple(ids), "lasso on the map", 1)
    assert_only_text(app.run())
    for act in ("tray_show", "tray_delete", "plan_cancel", "tray_merge"):
        app.button(key=act).click().run()
        assert act == "plan_cancel" or showing(app)
        assert_only_text(app)


def test_it_is_shown_as_text_in_an_operation(dashboard: Dashboard, tmp_path, hostile):
    (kept,) = make_store(tmp_path, [everywhere(hostile)])
    with atlas.open_memory(tmp_path, settings=atlas.Settings(actor=hostile[:150])) as memory:
        memory.experience.as_operation(hostile[:150], hostile[:150]).edit(kept, feedback=f"now {hostile}")
        operation = memory.history(1)[0]
    app = dashboard(tmp_path, "history", operation=operation.id)
    assert showing(app)
    assert_only_text(app)
    undo_button(app, "history").click().run()
    assert_only_text(app)


@pytest.mark.parametrize("tab", ["Code", "Uses"])
def test_it_is_shown_as_text_on_the_page_of_concepts(dashboard: Dashboard, tmp_path, hostile, tab):
    short, whole = " ".join(hostile[:150].split()), hostile.replace("\x00", "")
    with opened_store(tmp_path) as memory:
        found = memory.experience.store(everywhere(hostile))
        said = {"description": whole, "guidance": whole, "signature": whole, "language": short, "found_in": (found,)}
        said |= {"metadata": {short: whole}, "examples": ((whole, whole), (f"f([[1]], {whole})", "[[1]]"))}
        first = memory.concepts.add(concept(name=short, code=whole, **said))
        (second,) = memory.concepts.add_many([concept(name=short, code=f"{whole} ...", calls=(first,), **said)])
        memory.concepts.mark({first: atlas.Marks(tags=(hostile[:50],), note=hostile)})
        memory.concepts.edit(first, description=f"now {whole}")
    app = dashboard(tmp_path, "concepts", id=first)
    app.session_state["concept_tabs"] = tab
    assert_only_text_in_plans(selecting("concepts", app, first, second), ("tray_merge", "plan_cancel", "tray_delete"))
    assert_only_text(dashboard(tmp_path, "history"))


@pytest.mark.parametrize("tab", ["Entries", "Refused entries", "Conversations"])
def test_it_is_shown_as_text_on_the_page_of_the_journal(dashboard: Dashboard, tmp_path, hostile, tab):
    whole, short = hostile.replace("\x00", ""), " ".join(hostile[:60].split())
    with opened_store(tmp_path) as memory:
        said = {"metadata": {short: whole}, "content": whole}
        crash, fix, _ = memory.journal.add_entries(
            [
                entry(1, entry_type="crash_log", **said),
                entry(2, entry_type="reflection", **said),
                entry(3, entry_type=short, **said),
            ]
        )
        memory.journal.link(fix, crash, "refers_to")
        memory.journal.mark({crash: atlas.Marks(tags=(hostile[:50],), note=hostile)})
        memory.journal.add("reflection", whole, generation=4)
        memory.conversations.add(whole, whole, short)
    app = dashboard(tmp_path, "journal", journal_tab=tab, **({"id": crash} if tab == "Entries" else {}))
    app.session_state["entry_tabs"] = "Links"
    assert_only_text_in_plans(selecting("journal", app, crash, fix), ("tray_delete", "plan_cancel"), SAFE_OF_JOURNAL)


@pytest.mark.parametrize("tab", ["Reasons and sources", "Uses"])
def test_it_is_shown_as_text_on_the_page_of_strategies(dashboard: Dashboard, tmp_path, hostile, tab):
    short, whole = " ".join(hostile[:150].split()), hostile.replace("\x00", "")
    with opened_store(tmp_path) as memory:
        found = everywhere(hostile)
        memory.experience.store(found)
        said = {"suggestion": whole, "rationale": whole, "parameters": ({"name": short, "type": short},)}
        said |= {"metadata": {"derived_by": short, "domain": short, short: whole}, "sources": (found.id,)}
        first = memory.strategies.add(atlas.Strategy(title=short, situation=whole, **said))
        second = memory.strategies.add(atlas.Strategy(title=short, situation=f"{whole} ...", **said))
        memory.strategies.update_stats(first, True, task_id=short, trajectory_id=found.id)
        memory.strategies.mark({first: atlas.Marks(tags=(hostile[:50],), note=hostile)})
        memory.strategies.edit(first, rationale=f"now {whole}")
    app = dashboard(tmp_path, "strategies", id=first)
    app.session_state["strategy_tabs"] = tab
    assert_only_text_in_plans(selecting("strategies", app, first, second), ("tray_merge", "plan_cancel", "tray_delete"))


def assert_only_text_in_plans(app: AppTest, acts: Sequence[str], safe: set[str] = SAFE_OF_CONCEPTS) -> None:
    """The same with what is selected, and after each button that is pressed in turn."""
    assert_only_text(app, safe)
    assert showing(app)
    for act in acts:
        app.button(key=act).click().run()
        assert_only_text(app, safe)


def assert_only_text(app: AppTest, safe: set[str] = SAFE) -> None:
    """That nothing on the page shows the hostile text in any other way."""
    assert not app.exception
    assert not app.error
    assert {element.type for element in showing(app) if not is_escaped(element)} <= safe
    assert not any(MARKER in label_of(element) for element in elements(app) if not is_escaped(element))


def test_an_address_that_holds_it_is_answered_in_our_own_words(dashboard: Dashboard, tmp_path, hostile):
    make_store(tmp_path, [attempt()])
    asked = {f"scope_{name}": hostile[:500] for name in ("by", "outcomes", "domains", "sources", "since", "pinned")}
    app = dashboard(tmp_path, "experiences", id=hostile[:500], experiences_order=hostile[:500], **asked)
    assert [each for each in app.warning if "that this store does not have. The scope leaves this out." in each.value]
    assert showing(app) == []


def elements(app: AppTest) -> list[Element]:
    """Everything on a page, beside it, over it and at its bottom."""
    return [node for node in app._tree if isinstance(node, Element)]


def showing(app: AppTest) -> list[Element]:
    """What shows the hostile text, whole or in part."""
    return [element for element in elements(app) if MARKER in str(element.proto) or in_table(element)]


def in_table(element: Element) -> bool:
    """Whether a table's cells hold it."""
    return element.type == "arrow_data_frame" and MARKER in element.value.to_csv()


def is_escaped(element: Element) -> bool:
    """Whether Markdown, a heading or a link has code in backticks, and a backslash before each other sign."""
    shown = {"markdown": "body", "subheader": "body", "page_link": "label"}.get(element.type)
    return shown is not None and bool(CODE_IN_PROSE.fullmatch(getattr(element.proto, shown)))


def label_of(element: Element) -> str:
    """A label, help or placeholder, in which Streamlit would render Markdown."""
    return " ".join(str(getattr(element.proto, name, "")) for name in ("label", "help", "placeholder"))
