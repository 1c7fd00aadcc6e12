"""A kind of memory that the library lacks is stored, found, listed, exported, imported and shown by its description."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from mcp import Client

import atlas
from atlas.cli import main
from atlas.importers.marks import import_marks
from atlas.importers.run import import_paths
from atlas.importers.sink import MemorySink
from atlas.server.mcp.server import make_server
from atlas.server.served import ServedMemory
from atlas.storage.marks.files import TABLE
from atlas.testing import HashEmbedder
from atlas.views.ask.answer import Configuration, block_of, hits_for
from atlas.views.ask.block import places_of
from atlas.views.kinds.filters import options_of
from atlas.views.lists.listing import found_page, listed_ids, listed_page, similar_rows
from atlas.views.lists.queries import query_of, search
from atlas.views.lists.tables import table_of
from atlas.views.settings.copies import Export
from tests.support.mcp_clients import refused, said
from tests.support.recipes import KIND, RECIPE, RECIPES, Recipe, recipe_book, register
from tests.support.records import attempt
from tests.support.serving import serving

SOUP = Recipe(text="boil the soup", cuisine="french", minutes=40)
PASTA = Recipe(text="boil the pasta", cuisine="italian", minutes=10)
CAKE = Recipe(text="bake a cake", cuisine="french", minutes=60)


@pytest.fixture
def memory(tmp_path, monkeypatch):
    register(monkeypatch)
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings()) as opened:
        recipe_book(opened).add([SOUP, PASTA, CAKE])
        yield opened


def listed(memory, order="", **values) -> list[str]:
    return [row.text for row in listed_page(memory, RECIPES, query_of(memory, RECIPE, values=values, order=order)).rows]


def test_it_is_listed_in_its_orders_and_narrowed_by_its_filters(memory):
    assert listed(memory) == [PASTA.text, SOUP.text, CAKE.text]
    assert listed(memory, order="Oldest first") == [SOUP.text, PASTA.text, CAKE.text]
    assert listed(memory, cuisine=("french",)) == [SOUP.text, CAKE.text]
    assert listed(memory, cuisine=("french",), minutes=40) == [SOUP.text]
    assert options_of(RECIPE.filters, recipe_book(memory)) == {"cuisine": {"french": 2, "italian": 1}, "minutes": {}}


def test_it_is_searched_and_says_why(memory):
    query = query_of(memory, RECIPE, "boil the pasta", values={"minutes": 30})
    page = found_page(memory, RECIPES, query, search(memory, RECIPE, query))
    assert [row.text for row in page.rows] == [PASTA.text]
    assert page.rows[0].why.startswith("Relevance")
    assert page.caption == "1 of 1 recipe is relevant, best first"
    assert similar_rows(memory, RECIPES, SOUP.id)[0].text == PASTA.text


def test_it_is_selected_and_saved_as_a_table(memory):
    query = query_of(memory, RECIPE, values={"cuisine": ("french",)})
    ids = listed_ids(memory, RECIPE, query)
    assert RECIPES.chosen(memory, ids, "rows on Recipes").sentence == "2 selected from rows on Recipes"
    header, *lines = table_of(memory, RECIPE, ids, "CSV").decode().splitlines()
    assert "cuisine" in header
    assert [line.split(",")[0] for line in lines] == ids


def test_its_marks_and_deletions_are_undone(memory):
    book = recipe_book(memory)
    tagging = book.as_operation("mark")
    tagging.change_marks([SOUP.id], add_tags=["warm"])
    assert book.marks([SOUP.id])[SOUP.id].tags == ("warm",)
    deleting = book.as_operation("delete")
    deleting.delete([SOUP.id])
    assert book.get(SOUP.id) is None
    memory.undo(deleting.operation_id)
    assert book.get(SOUP.id) == SOUP
    memory.undo(tagging.operation_id)
    assert book.marks([SOUP.id])[SOUP.id].tags == ()


def test_it_is_found_for_a_task_and_counted_as_used(memory):
    block = memory.build_context(atlas.Task("", "", "boil the pasta"))
    assert KIND.section.heading in block.text
    assert f"boil the pasta\n  Takes: {PASTA.minutes} minutes" in block.text
    assert PASTA.id in block.shown["recipes"]
    stored = memory.store(attempt("boil the pasta", task_id="", used=[PASTA.id]))
    assert stored["used"] == {"recipes": [PASTA.id]}
    assert recipe_book(memory).usage([PASTA.id])[PASTA.id].n_successes == 1
    memory.undo(memory.history(1)[0].id)
    assert recipe_book(memory).usage([PASTA.id])[PASTA.id].n_uses == 0


def test_the_block_that_a_question_on_a_page_shows_has_it_in_its_place(memory):
    block = block_of(memory, hits_for(memory, "boil the pasta", Configuration()), 1_500)
    assert block.text == memory.build_context(atlas.Task("", "", "boil the pasta")).text
    assert ("recipes", PASTA.id) in places_of(block)


def test_it_is_exported_with_its_marks_and_imported_into_another_store(memory, tmp_path):
    recipe_book(memory).change_marks([SOUP.id], add_tags=["warm"])
    export = Export(memory)
    file = tmp_path / "all.jsonl"
    file.write_text("".join(export.lines()))
    assert export.sentence == "Exported 0 experiences and 3 recipes."
    with atlas.open_memory(tmp_path / "other", embedder=HashEmbedder(), settings=atlas.Settings()) as other:
        sink = MemorySink(other, "imported")
        report = import_paths(sink, [file], settings=atlas.Settings())
        assert (report.added, report.skipped, dict(report.added_by)) == (3, 0, {"recipe": 3})
        book = recipe_book(other)
        assert book.get(CAKE.id) == CAKE
        assert book.marks([SOUP.id])[SOUP.id].tags == ("warm",)
        assert import_paths(MemorySink(other, "again"), [file], settings=atlas.Settings()).skipped == 3
        other.undo(sink.operation_id)
        assert book.count() == 0


def test_it_is_found_read_edited_and_marked_over_http(memory):
    with serving(memory) as address, httpx.Client(base_url=f"{address}/api/v1", timeout=60) as api:
        found = api.post("/recipes/search", json={"query": "boil the pasta", "k": 1}).json()
        assert [hit["item"]["text"] for hit in found["hits"]] == [PASTA.text]
        assert api.get("/recipes", params={"where": '{"cuisine": "french"}'}).json()["n_records"] == 2
        edited = api.patch(f"/recipes/{SOUP.id}", json={"fields": {"minutes": 45}, "add_tags": ["warm"]}).json()
        assert (edited["record"]["minutes"], edited["marks"]["tags"]) == (45, ["warm"])
        assert recipe_book(memory).get(SOUP.id).minutes == 45
        listed = api.get("/openapi.json").json()["paths"]["/{memory}/search"]["post"]["parameters"][0]["schema"]["enum"]
        assert listed == ["experience", "concepts", "journal", "strategies", "recipes"]
        assert "'strategies' or 'recipes'" in api.get("/cakes").json()["detail"]


def test_it_is_found_read_and_marked_over_mcp(memory):
    async def talked() -> None:
        async with Client(make_server(lambda: ServedMemory(memory))) as client:
            [search] = [tool for tool in (await client.list_tools()).tools if tool.name == "search"]
            assert "recipes" in search.input_schema["properties"]["among"]["enum"]
            lines = await said(client, "search", query="boil the pasta", among="recipes", k=1)
            assert lines.startswith(f"[{PASTA.id[:8]}]")
            assert lines.splitlines()[0].endswith(f"· {PASTA.text}")
            assert '"minutes": 10' in await said(client, "read", ids=[PASTA.id[:8]])
            assert "Marked 1 of 1 records." in await said(client, "mark", ids=[PASTA.id[:8]], add_tags=["quick"])
            assert "strategies, recipes (which" in await refused(client, "search", query="x", among="cakes")
            changed = await said(client, "edit", id=PASTA.id[:8], changes={"minutes": 12})
            assert changed.startswith(f"Changed recipes {PASTA.id[:8]}.")
            [overview] = (await client.read_resource("atlas://overview")).contents
            assert "- recipes: 3" in overview.text

    asyncio.run(talked())
    assert recipe_book(memory).marks([PASTA.id])[PASTA.id].tags == ("quick",)


def test_the_command_line_names_it(memory, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    assert "concepts, strategies and recipes" in " ".join(capsys.readouterr().out.split())
    atlas.open_memory(tmp_path / "empty", settings=atlas.Settings(embedding_model="all-MiniLM-L6-v2")).close()
    assert main(["--store", str(tmp_path / "empty"), "status"]) == 0
    assert "recipes          0" in capsys.readouterr().out


def test_marks_are_imported_from_a_file(memory, tmp_path):
    file = tmp_path / "recipes_meta.json"
    file.write_text(f'{{"{TABLE}": {{"1": {{"id": "{CAKE.id}", "tags": ["sweet"], "pinned": true}}}}}}')
    assert [change.id for change in import_marks(memory, file).changes] == [CAKE.id]
    assert recipe_book(memory).marks([CAKE.id])[CAKE.id].tags == ("sweet",)
