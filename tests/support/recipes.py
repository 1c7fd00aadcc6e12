"""A fifth kind of memory: recipes. Its memory, its description and its lines are all that its list needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from atlas.core.hits import Hit
from atlas.core.json_values import dump
from atlas.core.settings import RankingWeights
from atlas.core.types import new_id
from atlas.infra.clock import SystemClock
from atlas.memory.base.memory import Memory
from atlas.memory.base.memory import Row as StoredRow
from atlas.memory.base.records import Entry, columns, unknown
from atlas.memory.system import MemorySystem
from atlas.views.kinds.filters import Choices, Number
from atlas.views.kinds.kind import BY_TIME, Kind, Order
from atlas.views.lists.kind_views import KindViews
from atlas.views.lists.queries import Row, ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How something is cooked."""

    text: str
    cuisine: str
    minutes: int
    id: str = field(default_factory=new_id)


class RecipeBook(Memory[Recipe]):
    """Recipes in a store."""

    noun = "recipe"
    fields = frozenset({"cuisine", "minutes", "content"})
    content_field = "cuisine"

    def _read(self, rows: Sequence[StoredRow]) -> list[Recipe]:
        return [
            Recipe(
                id=row["id"], text=row["document"], **{name: row["metadata"][name] for name in ("cuisine", "minutes")}
            )
            for row in rows
        ]

    def add(self, recipes: Sequence[Recipe]) -> list[str]:
        """Store recipes that are not there yet. Return their ids."""
        new = unknown([_entry(recipe) for recipe in recipes], self._store)
        return list(self._store.add_unknown(*columns(new, self._store, self.embedder, {})))


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


RECIPE = Kind(
    noun="recipe",
    page="recipes",
    records=recipe_book,
    when_pinned="Pinned recipes stay.",
    filters=(
        Choices(name="cuisine", label="Cuisine", key="cuisine"),
        Number(name="minutes", label="Minutes at most", key="minutes", operator="$lte"),
    ),
    orders={"Quickest first": Order("minutes"), **BY_TIME},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeRow(Row):
    """One line of the list of recipes."""

    text: str
    minutes: int


def recipe_rows(memory: MemorySystem, recipes: Sequence[Recipe], hits: Mapping[str, Hit[str]]) -> tuple[Any, ...]:
    """The lines of recipes."""
    return tuple(
        RecipeRow(id=recipe.id, text=recipe.text, minutes=recipe.minutes, **ranking(hits, recipe.id))
        for recipe in recipes
    )


RECIPES = KindViews(kind=RECIPE, rows=recipe_rows, card=None, detail=None, editable=None, acts=())
