"""A fifth kind of memory: recipes. It is registered in three places, and all else follows from its description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import Any

import pytest

from atlas.core.exchange import LineKind, decode_history
from atlas.core.hits import Hit
from atlas.core.json_values import dump
from atlas.core.operations import NO_MARKS, Marks, Usage, Use
from atlas.core.settings import RankingWeights
from atlas.core.types import new_id
from atlas.infra.clock import SystemClock
from atlas.memory.base.export import restored_history
from atlas.memory.base.memory import Memory
from atlas.memory.base.memory import Row as StoredRow
from atlas.memory.base.records import Entry, drop_duplicates, encode_entries
from atlas.memory.kinds.kind import ADDED_KINDS, MemoryKind
from atlas.memory.kinds.record_text import RecordText, Section
from atlas.memory.system import MemorySystem
from atlas.views.kinds.columns import RELEVANCE, Column, Tables
from atlas.views.kinds.fields import Field, NumberField
from atlas.views.kinds.filters import Choices, Number
from atlas.views.kinds.kind import BY_TIME, Kind, Order
from atlas.views.lists.editable import EditableFields
from atlas.views.lists.facts import Head
from atlas.views.lists.hits import CardText
from atlas.views.lists.kind_views import KindViews, deleting
from atlas.views.lists.queries import Row, marks_text, ranking
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.plans import PlanRow, PlanView, deleting_view
from atlas.views.shared.removals import DeleteRequest
from atlas.views.shared.texts import Text
from pages.components.lists.kind_page import KindPage
from pages.components.lists.panel import Panel

# The memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How something is cooked."""

    text: str
    cuisine: str
    minutes: int
    id: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRecipe:
    """A recipe, its marks and its uses."""

    recipe: Recipe
    marks: Marks
    usage: Usage
    uses: tuple[Use, ...] = ()
    stored_at: datetime | None = None


class RecipeBook(Memory[Recipe]):
    """Recipes in a store."""

    noun = "recipe"
    fields = frozenset({"cuisine", "minutes", "content"})
    content_field = "cuisine"

    def _to_records(self, rows: Sequence[StoredRow]) -> list[Recipe]:
        return [
            Recipe(
                id=row["id"], text=row["document"], **{name: row["metadata"][name] for name in ("cuisine", "minutes")}
            )
            for row in rows
        ]

    def add(self, recipes: Sequence[Recipe]) -> list[str]:
        """Store recipes that are not there yet. Return their ids."""
        return self.restore_many([ExportedRecipe(recipe=one, marks=NO_MARKS, usage=Usage()) for one in recipes])

    def edit(self, recipe_id: str, **changes: Any) -> Recipe:
        """Change a recipe and return it."""
        [recipe] = self.get_many([recipe_id])
        changed = replace(recipe, **changes)
        self._store.update(*encode_entries([_entry(changed)], self._store, self.embedder, {}))
        return changed

    def export(self, ids: Sequence[str]) -> list[ExportedRecipe]:
        """Return recipes with their marks and uses."""
        marks, usage = self.marks(ids), self.usage(ids)
        return [ExportedRecipe(recipe=one, marks=marks[one.id], usage=usage[one.id]) for one in self.get_many(ids)]

    def restore_many(self, exported: Sequence[ExportedRecipe]) -> list[str]:
        """Put recipes that are not there yet back, with their marks. Return their ids."""
        new = drop_duplicates([_entry(one.recipe) for one in exported], self._store)
        restored = {one.recipe.id: restored_history(one) for one in exported}
        return list(self._store.add_missing(*encode_entries(new, self._store, self.embedder, {}), restored))


def _entry(recipe: Recipe) -> Entry:
    derived = {
        "title": recipe.text,
        "created_at": datetime(2026, 3, 1, tzinfo=UTC).isoformat(timespec="microseconds"),
        "content": dump(asdict(recipe)),
        "content_hash": recipe.text,
    }
    return Entry(recipe.id, recipe.text, {"cuisine": recipe.cuisine, "minutes": recipe.minutes, **derived})


def recipe_book(memory: MemorySystem) -> RecipeBook:
    """The recipes in the store of a memory."""
    collection = memory.storage.collection("recipes")
    return RecipeBook(memory.experience.embedder, collection, "recipes", RankingWeights(), SystemClock())


def _text(recipe: Recipe) -> RecordText:
    text = RecordText("recipe", recipe.id, recipe.text)
    text.add("Takes", f"{recipe.minutes} minutes")
    return text


SECTION = Section("## Recipes: what to cook", _text)

LINE = LineKind(
    exported=ExportedRecipe,
    encode=lambda exported: {"recipe": asdict(exported.recipe)},
    decode=lambda obj: ExportedRecipe(recipe=Recipe(**obj["recipe"]), **decode_history(obj, obj["recipe"]["id"])),
)
KIND = MemoryKind(
    noun="recipe",
    records=recipe_book,
    types=(ExportedRecipe,),
    add=lambda book, items: book.restore_many(items),
    id_of=attrgetter("recipe.id"),
    summary=attrgetter("text"),
    line=LINE,
    section=SECTION,
)

# Its description, and its views


RECIPE = Kind(
    noun="recipe",
    page="recipes",
    about="What can be cooked.",
    home="book",
    records=recipe_book,
    when_pinned="Pinned recipes stay.",
    filters=(
        Choices(name="cuisine", label="Cuisine", key="cuisine"),
        Number(name="minutes", label="Minutes at most", key="minutes", operator="$lte"),
    ),
    orders={"Quickest first": Order("minutes"), **BY_TIME},
    tables=Tables(
        listed=(Column("text", "Recipe", 300), Column("minutes", "Minutes", 80, "number")),
        found=(Column("text", "Recipe", 300), RELEVANCE),
        beside=(Column("text", "Recipe", 200),),
        similar=(Column("text", "Recipe", 200), RELEVANCE),
    ),
    fields=(Field(name="text", label="Recipe", height=100), NumberField(name="minutes", label="Minutes", width=100)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeRow(Row):
    """One line of the list of recipes."""

    text: str
    minutes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EditableRecipe(EditableFields):
    """The fields of a recipe that a person can change."""

    text: str
    minutes: int

    @classmethod
    def of(cls, recipe: Recipe) -> EditableRecipe:
        """The fields of a recipe as they are now."""
        return cls(text=recipe.text, minutes=recipe.minutes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeDetail:
    """A recipe in full."""

    id: str
    marks: Marks
    editable: EditableRecipe


def recipe_rows(memory: MemorySystem, recipes: Sequence[Recipe], hits: Mapping[str, Hit[str]]) -> tuple[Any, ...]:
    """The lines of recipes."""
    marks = recipe_book(memory).marks([recipe.id for recipe in recipes])
    return tuple(
        RecipeRow(
            id=recipe.id,
            text=recipe.text,
            minutes=recipe.minutes,
            marks=marks_text(marks[recipe.id]),
            **ranking(hits, recipe.id),
        )
        for recipe in recipes
    )


def _detail(memory: MemorySystem, recipe_id: str) -> RecipeDetail | None:
    book = recipe_book(memory)
    recipe = book.get(recipe_id)
    if recipe is None:
        return None
    return RecipeDetail(id=recipe.id, marks=book.marks([recipe.id])[recipe.id], editable=EditableRecipe.of(recipe))


def _delete_view(memory: MemorySystem, ids: Sequence[str]) -> PlanView:
    book = recipe_book(memory)
    rows = [PlanRow(id=one.id, title=one.text, goes=True, why="chosen") for one in book.get_many(ids)]
    return deleting_view(rows, RECIPE.noun, book.count(), caption="What is deleted")


RECIPES = KindViews(
    kind=RECIPE,
    rows=recipe_rows,
    card=lambda memory, recipe, text: CardText(title=recipe.text, outcome=recipe.cuisine, sources={"Do": recipe.text}),
    detail=_detail,
    editable=EditableRecipe.of,
    acts=(deleting(partial(DeleteRequest, RECIPE, _delete_view), "You first see what would be deleted."),),
)

# Its page


PAGE = KindPage(views=RECIPES, panel=Panel(head=lambda detail: Head(headline=Text(detail.editable.text).headline)))


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register recipes for one test: what files and prompts make of them, and the kind that pages know.

    The third place is the list of pages that the router draws.
    """
    monkeypatch.setitem(ADDED_KINDS, "recipes", KIND)
    monkeypatch.setitem(KINDS, "recipes", RECIPE)
