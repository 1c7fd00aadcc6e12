"""The Ask page: what each memory gives, the block, two configurations, nonsense; and a link that reproduces it."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import atlas
from atlas.core.types import Strategy
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from tests.support.dashboard import Dashboard, assert_no_problem, cards, of_type, table, text_of
from tests.support.messages_server import Reply, message, serving, text
from tests.support.records import attempt, concept
from tests.support.stores import MODEL, copied

RED = "Rotate the red grid by a quarter"
HOSTILE = "<b>bold</b> [link](https://example.invalid) $x$"


@pytest.fixture(scope="module")
def embedder() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(MODEL)


def opened(store: Path, embedder: SentenceTransformerEmbedder) -> atlas.MemorySystem:
    return atlas.open_memory(store, embedder=embedder, settings=atlas.Settings())


@pytest.fixture(scope="module")
def grids_once(tmp_path_factory, embedder) -> Path:
    """Each memory holds something about turning grids; the experiences hold more."""
    store = tmp_path_factory.mktemp("grids")
    blue = attempt("Rotate the blue grid by a quarter", task_id="b")
    with opened(store, embedder) as memory:
        memory.experience.store_many([attempt(RED, success=False, task_id="r"), blue])
        memory.strategies.add(Strategy(title=HOSTILE, situation="A grid has to be rotated", suggestion=HOSTILE))
        memory.concepts.add(concept(name="rotate_grid", description="Rotate a grid by a quarter"))
        memory.journal.add("reflection", f"Rotate the grid before it is cropped. {HOSTILE}", generation=2)
    return store


@pytest.fixture
def grids(grids_once, tmp_path) -> Path:
    """A copy of that store."""
    return copied(grids_once, tmp_path)


@pytest.fixture(scope="module")
def only_experiences_once(tmp_path_factory, embedder) -> Path:
    store = tmp_path_factory.mktemp("experiences")
    with opened(store, embedder) as memory:
        memory.experience.store_many([attempt(RED, success=False, task_id="r")])
    return store


@pytest.fixture
def only_experiences(only_experiences_once, tmp_path) -> Path:
    return copied(only_experiences_once, tmp_path)


def lines(app: AppTest) -> list[str]:
    return [element.value for element in app.main.text]


def found(app: AppTest) -> list[str]:
    """The number of hits of each memory that gave some."""
    return [element.value for element in app.main.caption if re.search(r"^\d+ hits?\b", element.value)]


def absent(app: AppTest) -> list[str]:
    """The lines of the memories that gave nothing."""
    return [element.value for element in app.main.caption if re.match(r"\*\*\w+\.\*\* ", element.value)]


def menu(app: AppTest) -> str:
    """What the menu of the page offers, in its order."""
    [popover] = [node for node in of_type(app, "popover") if "more_horiz" in node.proto.popover.icon]
    return ", ".join(node.proto.label for node in popover if getattr(getattr(node, "proto", None), "label", ""))


def infos(app: AppTest) -> list[str]:
    return [element.value for element in app.info]


def badges(app: AppTest) -> str:
    return "\n".join(element.value for element in app.main.markdown)


def blocks(app: AppTest) -> list[str]:
    """The blocks of the page: in numbered pieces if there is one, and as text if there are two."""
    drawn = [node for node in of_type(app, "bidi_component") if node.proto.component_name.endswith("ask_block")]
    pieces = ["\n".join(piece["text"] for piece in json.loads(node.proto.json)["pieces"]) for node in drawn]
    return pieces + [element.value for element in app.main.code]


def test_it_begins_with_a_question_and_offers_nonsense(dashboard: Dashboard, grids):
    app = dashboard(grids, "ask")
    assert cards(app) == []
    app.button(key="ask_nonsense").click().run()
    assert found(app) == []
    assert "**Memory has nothing for this task, so an agent is told nothing.**" in badges(app)
    closest = table(app)
    assert [*closest["memory"]] == ["Strategies", "Experiences", "Concepts", "Journal"]
    assert [meter["text"] for meter in closest["closest"]] == ["0.00, needs 0.13"] * 4
    assert [meter["tick"] for meter in closest["closest"]] == [0.13] * 4
    assert absent(app) == []
    assert infos(app) == []
    assert blocks(app) == []
    assert [node.proto.popover.label for node in of_type(app, "popover") if node.proto.popover.label != "More"] == [
        "Strategies: 1 not shown", "Experiences: 2 not shown", "Concepts: 1 not shown", "Journal: 1 not shown",
    ]  # fmt: skip
    assert_no_problem(app)


def test_a_task_gives_hits_of_every_memory_and_the_block_that_an_agent_gets(dashboard: Dashboard, grids, embedder):
    app = dashboard(grids, "ask", ask_text=RED)
    assert sorted(line.split()[0] for line in found(app)) == ["1", "1", "1", "2"]
    assert absent(app) == []
    assert lines(app)[:2] == [HOSTILE, f"Strategy “{HOSTILE}”, not used yet"]  # as text, not as Markdown
    places = {card["place"]["memory"]: card["place"]["number"] for card in cards(app)}
    assert [card["place"]["number"] for card in cards(app)] == [1, 2, 3, 4, 5]
    [drawn] = [node for node in of_type(app, "bidi_component") if node.proto.component_name.endswith("ask_block")]
    pieces = {piece["place"]: piece for piece in json.loads(drawn.proto.json)["pieces"]}
    assert all(pieces[number]["memory"] == name for name, number in places.items())
    assert {(card["badge"] and card["badge"]["text"], card["outcome"]) for card in cards(app)} == {
        (None, "not used yet"),
        ("✗ failed", ""),
        ("✓ succeeded", ""),
        (None, "python, imported, not used yet"),
        ("reflection", "round 2"),
    }
    assert all(card["bar"]["segments"] and card["sentence"] for card in cards(app))
    is_weak = [
        float(card["relevance"]) < card["place"]["level"] + 0.1 * (1 - card["place"]["level"]) for card in cards(app)
    ]
    assert [card["place"]["strength"] == "weak" for card in cards(app)] == is_weak
    advised = [card["place"]["memory"] for card in cards(app) if "advised" in card["place"]["looks"]]
    assert advised == ["strategies"]
    assert sum("brief" in card["place"]["looks"] for card in cards(app)) == 1
    with opened(grids, embedder) as memory:
        assert blocks(app)[:1] == [memory.build_context(atlas.Task("t", "", RED), distinct=True, diversity=0.2).text]
    assert (
        "An agent gets exactly this from `build_context(task, distinct=True, diversity=0.2)`. "
        "Tokens are counted with the tokenizer of all-MiniLM-L6-v2."
    ) in [caption.value for box in app.expander if box.label == "How an agent gets this" for caption in box.caption]
    assert_no_problem(app)


def test_a_memory_that_is_named_says_why_it_was_not_found(dashboard: Dashboard, grids, embedder):
    with opened(grids, embedder) as memory:
        egg = memory.experience.store(attempt("Boil an egg for breakfast", task_id="egg"))
    app = dashboard(grids, "ask", ask_text=RED, ask_expected="breakfast egg")
    assert any(line.startswith("Its relevance of 0.0") and "does not reach the level" in line for line in infos(app))
    assert text_of(cards(app)[-1]).startswith("Boil an egg")
    assert cards(app)[-1]["open"]
    app.text_input(key="ask_expected").set_value(RED).run()
    app.selectbox(key="ask_expected_record").select_index(1).run()
    assert any(line.startswith("It was found: rank ") for line in infos(app))
    app.text_input(key="ask_expected").set_value("xyzzy").run()
    assert "No memory has this id or these words." in lines(app)
    assert egg not in str(app.main.text)
    assert_no_problem(app)


def test_attempts_with_and_without_memory_stand_side_by_side(dashboard: Dashboard, grids, embedder):
    app = dashboard(grids, "ask", ask_text=RED)
    assert "The same task, with and without memory" not in [element.value for element in app.subheader]
    with opened(grids, embedder) as memory:
        [strategy] = memory.strategies.ids()
        memory.store(attempt(RED, task_id="r", at=datetime.now(UTC), used={"strategies": [strategy]}))
    app = dashboard(grids, "ask", ask_text=RED)
    assert "The same task, with and without memory" in [element.value for element in app.subheader]
    assert "**Tried once without memory: failed. Tried once with memory: succeeded.**" in [
        element.value for element in app.main.markdown
    ]
    [traces] = [node for node in of_type(app, "bidi_component") if node.proto.component_name.endswith("trace")]
    assert [trace["outcome"] for trace in json.loads(traces.proto.json)["traces"]] == ["✗ failed", "✓ succeeded"]
    assert_no_problem(app)


def test_looking_counts_as_no_retrieval(dashboard: Dashboard, grids, embedder):
    dashboard(grids, "ask", ask_text=RED, ask_two="true")
    with opened(grids, embedder) as memory:
        for held in (memory.experience, memory.strategies, memory.concepts, memory.journal):
            assert {usage.n_retrieved for usage in held.usage(held.ids()).values()} == {0}


def test_three_hits_of_a_memory_are_shown_first_and_all_on_demand(dashboard: Dashboard, grids, embedder):
    with opened(grids, embedder) as memory:
        texts = [f"Rotate the {colour} grid by a quarter" for colour in ("green", "white", "black")]
        memory.experience.store_many([attempt(text, task_id=text) for text in texts])
    app = dashboard(grids, "ask", ask_text=RED)
    assert len([card for card in cards(app) if card["place"]["memory"] == "experience"]) == 3
    [switch] = [toggle for toggle in app.toggle if toggle.label == "Show all 5"]
    switch.set_value(True).run()
    assert len([card for card in cards(app) if card["place"]["memory"] == "experience"]) == 5
    assert app.query_params["ask_all_left_experience"] == "true"
    assert_no_problem(app)


def test_what_can_be_done_with_an_answer_is_in_one_menu(dashboard: Dashboard, grids):
    app = dashboard(grids, "ask", ask_text=RED)
    assert menu(app) == "Select the 2 experiences, Save the block, Save report"
    app.toggle(key="ask_two").set_value(True).run()
    assert menu(app).endswith("Save the block A, Save the block B, Save report")
    app.button(key="ask_end_two").click().run()
    assert not app.toggle(key="ask_two").value
    assert menu(app).endswith("Save the block, Save report")
    assert_no_problem(app)


def test_a_link_names_an_experience_whose_task_is_asked(dashboard: Dashboard, grids, embedder):
    with opened(grids, embedder) as memory:
        record_id = memory.experience.ids({"task_id": "r"})[0]
    app = dashboard(grids, "ask", ask_like=record_id)
    assert app.text_input(key="ask_text").value == RED
    assert len(cards(app)) == 5
    assert "ask_like" not in app.query_params
    gone = dashboard(grids, "ask", ask_like="gone")
    assert gone.text_input(key="ask_text").value == ""
    assert_no_problem(gone)


def test_two_configurations_stand_side_by_side_and_say_how_they_differ(dashboard: Dashboard, grids):
    app = dashboard(grids, "ask", ask_text=RED, ask_two="true")
    assert infos(app)[0].startswith(
        "A and B are the same configuration. Hits: the same 5 memories in A and B. "
        "Blocks: the same 5 memories in A and B."
    )
    app.multiselect(key="ask_off_right").set_value(["Strategies"]).run()
    app.slider(key="ask_k_right").set_value(1).run()
    assert infos(app)[0].startswith(
        "A and B differ in: hits per memory, memories left out. Hits: 3 memories in both, 2 only in A, 0 only in B."
    )
    assert absent(app) == ["**Strategies.** Left out here."]
    assert len(cards(app)) == 5 + 3
    assert badges(app).count("only here") == 2
    left, right, difference = [block for block in blocks(app) if "##" in block]
    assert "## Strategies" in left
    assert "## Strategies" not in right
    assert "-## Strategies: what to do in which situation" in difference.splitlines()
    assert_no_problem(app)


def test_a_link_reproduces_the_whole_of_it(dashboard: Dashboard, grids, embedder):
    with opened(grids, embedder) as memory:
        memory.storage.profiles.save("eager", atlas.RankingWeights(success=0.9))
    asked = {"ask_text": RED, "ask_two": "true", "ask_k_left": "1", "ask_off_right": "Concepts"}
    app = dashboard(grids, "ask", ask_budget="300", ask_profile_right="eager", **asked)
    assert app.slider(key="ask_budget").value == 300
    assert app.slider(key="ask_k_left").value == 1
    assert app.multiselect(key="ask_off_right").value == ["Concepts"]
    assert app.selectbox(key="ask_profile_right").value == "eager"
    attempts = [card["badge"]["text"] for card in cards(app) if card["place"]["memory"] == "experience"]
    assert attempts == ["✗ failed", "✓ succeeded", "✗ failed"]
    (weight,) = (one for one in app.slider if str(one.key).startswith("ask_success_right"))
    assert weight.value == 0.9
    turned = {"ask_profile_right": "eager", weight.key: "0.0", **asked}
    linked = dashboard(grids, "ask", **turned)
    assert linked.slider(key=weight.key).value == 0.0
    [*_, last] = [card for card in cards(linked) if card["place"]["memory"] == "experience"]
    assert "Success" not in last["sentence"]


def test_a_link_with_a_profile_that_is_gone_uses_another(dashboard: Dashboard, grids):
    app = dashboard(grids, "ask", ask_text=RED, ask_profile_left="gone", ask_off_left="Nonsense")
    assert app.selectbox(key="ask_profile_left").value == "default"
    assert len(cards(app)) == 5
    assert_no_problem(app)


def test_a_store_of_experiences_alone_is_asked_and_says_what_the_others_lack(dashboard: Dashboard, only_experiences):
    app = dashboard(only_experiences, "ask", ask_text=RED)
    assert [line.split()[0] for line in found(app)] == ["1"]
    strategies, concepts, journal = absent(app)
    assert "This store has no strategies. Storing a successful attempt writes one." in strategies
    assert "This store has no concepts" in concepts
    assert "This store has no journal" in journal
    assert_no_problem(app)


def test_what_was_found_is_selected_and_its_question_is_shown_on_the_map(dashboard: Dashboard, grids, embedder):
    with opened(grids, embedder) as memory:
        memory.experience.store(attempt("Boil an egg", task_id="egg"))
        found = [hit.item.id for hit in memory.experience.retrieve(RED, 8).hits]
    app = dashboard(grids, "ask", ask_text=RED)
    app.button(key="ask_select").click().run()
    assert app.session_state["selection"].ids == tuple(found)
    (link,) = (link for link in app.get("page_link") if link.proto.label == "Show on the map")
    assert "scope_text=Rotate" in link.proto.query_string
    assert_no_problem(app)


def test_the_scope_is_folded_away_for_it_does_not_narrow_the_page(dashboard: Dashboard, grids):
    app = dashboard(grids, "ask", ask_text=RED, scope_outcomes="succeeded")
    assert "✗ failed" in [card["badge"]["text"] for card in cards(app) if card["badge"]]
    assert [child for child in of_type(app, "flex_container") if child.proto.id.endswith("sidebar_scope_unused")]


def test_every_page_says_which_language_model_may_be_asked(dashboard: Dashboard, grids, monkeypatch):
    monkeypatch.setenv("ATLAS_LLM_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ATLAS_LLM_MODEL", "small")
    app = dashboard(grids.parent / "another", "overview")
    assert "small" in [one.label for one in app.sidebar.expander]


def test_a_task_is_answered_with_the_block_and_without_where_there_is_a_model(dashboard: Dashboard, grids, monkeypatch):
    def reply(request: dict[str, Any]) -> Reply:
        has_block = "rotate_grid" in request["messages"][0]["content"]
        return message(text("Use <b>rotate_grid</b>." if has_block else "I would turn each row."), input_tokens=1_234)

    with serving(reply, reply) as server:
        monkeypatch.setenv("ATLAS_LLM_BASE_URL", server.url)
        monkeypatch.setenv("ATLAS_LLM_MODEL", "small")
        app = dashboard(grids, "ask", ask_text=RED)
        assert "small answers the task twice: once with the block above, and once without it." in [
            element.value for element in app.caption
        ]
        app.button(key="ask_try").click().run()
        assert lines(app)[-2:] == ["I would turn each row.", "Use <b>rotate_grid</b>."]
        costs = [element.value for element in app.caption if "tokens read" in element.value]
        assert costs == ["1,234 tokens read, 20 written · free, as this machine runs the model"] * 2
        app.slider(key="ask_budget").set_value(100).run()  # another block, which was not tried
        assert not [element for element in app.caption if "tokens read" in element.value]
    assert_no_problem(app)


def test_without_a_model_it_says_how_to_set_one_up(dashboard: Dashboard, grids, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    app = dashboard(grids, "ask", ask_text=RED)
    assert any(
        "A language model can answer the task with and without the block" in element.value for element in app.caption
    )
    assert "ask_try" not in [button.key for button in app.button]


def test_it_offers_tasks_of_the_store(dashboard: Dashboard, grids):
    app = dashboard(grids, "ask")
    assert {*app.dataframe[0].value["task"]} == {RED, "Rotate the blue grid by a quarter"}
    assert_no_problem(app)


def judging(app: AppTest, name: str, record_id: str, side: str = "left"):
    return app.segmented_control(key=f"ask_judged_{side}_{name}_{record_id}")


def test_hits_of_every_memory_are_judged_and_judged_back(dashboard: Dashboard, grids, embedder):
    with opened(grids, embedder) as memory:
        held = {"experience": memory.experience, "strategies": memory.strategies, "concepts": memory.concepts,
                "journal": memory.journal}  # fmt: skip
        hits = [(name, of.ids()[0]) for name, of in held.items()]
    app = dashboard(grids, "ask", ask_text=RED)
    for name, record_id in hits:
        judging(app, name, record_id).set_value("wrong" if name == "journal" else "right").run()
    with opened(grids, embedder) as memory:
        assert {(one.query, one.record_id, one.is_right) for one in memory.judgements()} == {
            (RED, record_id, name != "journal") for name, record_id in hits
        }
    again = dashboard(grids, "ask", ask_text=RED)
    assert judging(again, *hits[0]).value == "right"
    judging(again, *hits[0]).set_value(None).run()
    assert judging(again, *hits[0]).value is None
    with opened(grids, embedder) as memory:
        assert len(memory.judgements()) == 3
    assert_no_problem(again)


def test_both_sides_show_one_judgement_and_another_task_shows_none(dashboard: Dashboard, only_experiences, embedder):
    with opened(only_experiences, embedder) as memory:
        [record_id] = memory.experience.ids()
    app = dashboard(only_experiences, "ask", ask_text=RED, ask_two="true")
    judging(app, "experience", record_id, "right").set_value("wrong").run()
    assert [judging(app, "experience", record_id, side).value for side in ("left", "right")] == ["wrong", "wrong"]
    app.text_input(key="ask_text").set_value("Rotate the red grid").run()
    assert judging(app, "experience", record_id).value is None
    assert_no_problem(app)


def test_a_store_for_reading_only_shows_judgements_that_cannot_be_changed(
    dashboard: Dashboard, only_experiences, embedder
):
    with opened(only_experiences, embedder) as memory:
        [record_id] = memory.experience.ids()
        memory.judge(RED, record_id, True)
    app = dashboard(only_experiences, "ask", read_only=True, ask_text=RED)
    control = judging(app, "experience", record_id)
    assert (control.value, control.disabled) == ("right", True)
    assert any("Hits cannot be judged here." in element.value for element in app.caption)
    assert_no_problem(app)


def test_a_hit_that_was_deleted_meanwhile_is_not_judged_and_that_is_said(dashboard: Dashboard, grids, embedder):
    with opened(grids, embedder) as memory:
        record_id = memory.concepts.ids()[0]
    app = dashboard(grids, "ask", ask_text=RED)
    with opened(grids, embedder) as memory:
        memory.concepts.delete([record_id])
    judging(app, "concepts", record_id).set_value("right").run()
    assert any(f"no record {record_id!r} to judge" in line for line in lines(app))
    assert_no_problem(app)
