"""Late interaction over a store: what is kept with texts, what becomes of it, and what it changes in a search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import atlas
from atlas import Settings
from atlas.core.errors import InvalidInput, StoreDamaged
from atlas.embedding.chunking import EncodedText
from atlas.embedding.foreign_queries import calibration_queries
from atlas.embedding.late_interaction import NO_TOKENS
from atlas.storage.maintenance.doctor import examine
from atlas.storage.maintenance.reembed import reembed
from atlas.storage.sqlite.schema import SCHEMA_VERSION
from atlas.testing import HashEmbedder, HashTokenEmbedder
from tests.support.records import attempt
from tests.support.storage.engines import every_engine, of_files, rows_of
from tests.support.storage.old_schemas import make_version_4, schema_version

FILLER = "the report was sent to the office and nobody has looked at it since then "
LONG = f"{FILLER * 3} the invoice shows a wrong currency {FILLER * 3}"
SHORT = "a door is locked"
QUERY = "wrong currency"

WITHOUT = Settings(late_interaction=False)


engine = every_engine


def opened(path: Path | str, embedder: HashEmbedder | None = None, settings: Settings | None = None, **options):
    return atlas.open_memory(path, embedder=embedder or HashTokenEmbedder(), settings=settings, **options)


def similarities(memory: atlas.MemorySystem, query: str = QUERY) -> dict[str, float]:
    hits = memory.experience.search_hits(query, 10, count_retrieval=False)
    return {hit.item.task.description: hit.similarity for hit in hits}


def packed(place: Path | str) -> list[bytes]:
    """The token vectors that a store's ledger holds, by text."""
    rows = rows_of(place, "SELECT packed FROM token_vectors ORDER BY text_hash")
    return [bytes(packed) for (packed,) in rows]


@pytest.fixture
def store(store_place) -> Path | str:
    with opened(store_place) as memory:
        memory.experience.store_many([attempt(LONG), attempt(SHORT)])
    return store_place


def test_a_matter_among_many_is_found_by_its_words_own_vectors(store):
    with opened(store, settings=WITHOUT) as memory:
        cosines = similarities(memory)
    with opened(store) as memory:
        found = similarities(memory)
    assert found[LONG] > cosines[LONG] + 0.2
    assert found[SHORT] < 0.2


def test_a_text_no_longer_than_the_query_is_compared_as_a_whole(store):
    query = "who knows why the front door of this house is locked today"
    with opened(store, settings=WITHOUT) as memory:
        cosines = similarities(memory, query)
    with opened(store) as memory:
        assert similarities(memory, query)[SHORT] == pytest.approx(cosines[SHORT], abs=1e-6)


def test_a_word_piece_takes_24_bytes_however_often_the_text_says_it(store):
    n_words = {len(set(text.split())) for text in (LONG, SHORT)}
    assert {len(one) / 24 for one in packed(store)} == n_words


def test_every_process_packs_and_compares_alike(store):
    with opened(store) as first, opened(store) as second:
        first.experience.store(attempt("the letter names another wrong currency " + FILLER))
        assert similarities(first) == similarities(second)


def test_who_opens_it_for_reading_only_compares_as_well(store):
    with opened(store) as memory:
        found = similarities(memory)
    with opened(store, read_only=True) as memory:
        assert similarities(memory) == found


def test_what_was_deleted_and_is_brought_back_is_found_as_before(store):
    with opened(store) as memory:
        before = similarities(memory)
        memory.experience.delete(memory.experience.ids())
        memory.storage.undo(memory.storage.history(1)[0].id)
        assert similarities(memory) == pytest.approx(before, rel=1e-5)


def test_a_purge_takes_the_word_pieces_of_what_it_purges_and_of_nothing_else(store):
    with opened(store) as memory:
        purged = memory.experience.ids()[0]
        trashed = memory.experience.store(attempt("what lies in the trash"))
        memory.experience.delete(trashed)
        held = packed(store)
        assert len(held) == 3
        memory.apply_purge(memory.plan_purge([purged]))
        assert memory.storage.ledger.token_vectors.count_missing() == 0
        memory.experience.restore([trashed])
        assert memory.storage.ledger.token_vectors.count_missing() == 0
        assert len(packed(store)) == 2
    [gone] = set(held) - set(packed(store))
    if isinstance(store, Path):
        assert gone not in b"".join(path.read_bytes() for path in store.iterdir() if path.is_file())


@of_files
def test_a_store_of_version_4_is_searched_as_before_until_it_is_embedded_again(store):
    with opened(store, settings=WITHOUT) as memory:
        cosines = similarities(memory)
    make_version_4(store)
    with opened(store) as memory:
        assert schema_version(store / "atlas.sqlite") == SCHEMA_VERSION
        assert similarities(memory) == cosines
        assert memory.storage.ledger.token_vectors.count_missing() == 2
        reembed(memory.storage.ledger, HashTokenEmbedder())
        assert memory.storage.ledger.token_vectors.count_missing() == 0
        assert similarities(memory)[LONG] > cosines[LONG] + 0.2


def test_embedding_again_with_the_same_model_packs_as_before(store):
    with opened(store) as memory:
        before = packed(store), memory.storage.ledger.notes.read("late_interaction")
        reembed(memory.storage.ledger, HashTokenEmbedder())
        assert (packed(store), memory.storage.ledger.notes.read("late_interaction")) == before


def test_a_model_that_gives_no_token_vectors_leaves_none(store):
    with opened(store) as memory:
        reembed(memory.storage.ledger, HashEmbedder(model_name="plain"))
    assert packed(store) == []
    with opened(store, HashEmbedder(model_name="plain")) as memory:
        assert memory.storage.ledger.notes.read("late_interaction") == {}
        memory.experience.store(attempt("another one"))
        assert similarities(memory)
    assert packed(store) == []


def test_switched_off_nothing_is_kept_and_switched_on_again_all_can_be_made(store_place):
    path = store_place
    with opened(path, settings=WITHOUT) as memory:
        memory.experience.store(attempt(LONG))
    assert packed(path) == []
    with opened(path) as memory:
        memory.experience.store(attempt(SHORT))
        assert memory.storage.ledger.token_vectors.count_missing() == 1
        reembed(memory.storage.ledger, HashTokenEmbedder())
        assert len(packed(path)) == 2


def test_a_write_that_fails_leaves_no_word_pieces(store):
    """They are written in the transaction of their record, so there is never the one without the other."""
    before = packed(store)
    with opened(store) as memory:
        collection = memory.experience.collection
        texts = EncodedText(np.ones((1, 64), np.float32), b"\1" * 24)
        with pytest.raises(InvalidInput, match=r"is in .* already"):
            collection.add(["one", "one"], [texts, texts], [{}, {}], ["first", "second"])
        assert memory.experience.count() == 2
    assert packed(store) == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE token_vectors SET packed = substr(packed, 1, 2)",
        "UPDATE meta SET value = '{}' WHERE name = 'late_interaction'",
        "UPDATE meta SET value = replace(value, 'directions\": \"', 'directions\": \"00000000') "
        "WHERE name = 'late_interaction'",
    ],
)
def test_what_is_damaged_says_how_it_is_made_again(store, damage):
    rows_of(store, damage)
    with opened(store) as memory, pytest.raises(StoreDamaged, match="compute them again: atlas reembed"):
        similarities(memory)
    with opened(store, settings=WITHOUT) as memory:
        assert similarities(memory)
        reembed(memory.storage.ledger, HashTokenEmbedder())
    with opened(store) as memory:
        assert similarities(memory)


def test_texts_without_a_word_and_of_strange_letters_are_kept_and_searched(store_place):
    with opened(store_place) as memory:
        for text in ("…", "\u200b?!", "Straße ①", "x" * 5_000, "漢字 かな"):
            memory.experience.store(attempt(text))
        for query in ("…", "Straße", "漢字"):
            assert len(similarities(memory, query)) == 5


def test_a_language_without_a_word_of_the_projection_has_finite_similarities(store):
    with opened(store) as memory:
        assert np.isfinite(list(similarities(memory, "Ω ж 語").values())).all()


def test_the_first_writer_alone_finds_the_projection(store_place):
    embedder = HashTokenEmbedder()
    with opened(store_place, embedder) as memory:
        memory.experience.store(attempt("one"))
        n_asked = embedder.texts.count(calibration_queries()[0])
        memory.experience.store(attempt("two"))
        assert embedder.texts.count(calibration_queries()[0]) == n_asked
    again = HashTokenEmbedder()
    with opened(store_place, again) as memory:
        memory.experience.store(attempt("three"))
    assert calibration_queries()[0] not in again.texts


def test_a_search_by_words_asks_for_no_word_pieces(store):
    embedder = HashTokenEmbedder()
    with opened(store, embedder) as memory:
        embedder.texts.clear()
        assert memory.experience.search_words("currency", 5)
        assert embedder.texts == []


def test_settings_can_switch_it_off(monkeypatch):
    monkeypatch.setenv("ATLAS_LATE_INTERACTION", "0")
    assert Settings.from_environment() == replace(Settings.from_environment(), late_interaction=False)


class Alike(HashTokenEmbedder):
    """A model whose word pieces are all alike, so that every text is found in every other."""

    def encode_with_tokens(self, texts):
        vectors, tokens = super().encode_with_tokens(texts)
        return vectors, [
            replace(one, vectors=np.full_like(one.vectors, one.vectors.shape[1] ** -0.5)) for one in tokens
        ]


def test_a_model_whose_word_pieces_tell_nothing_is_searched_by_whole_texts(store_place):
    with opened(store_place, Alike()) as memory:
        memory.experience.store_many([attempt(LONG), attempt(SHORT)])
        found = similarities(memory)
    with opened(store_place, Alike(), settings=WITHOUT) as memory:
        assert similarities(memory) == found
    assert packed(store_place) == []


def test_a_model_that_is_of_no_use_is_asked_for_the_calibration_texts_once(store_place):
    embedder = Alike()
    with opened(store_place, embedder) as memory:
        for text in ("one", "two", "three"):
            memory.experience.store(attempt(text))
        assert embedder.texts.count(calibration_queries()[0]) == 1
        assert not memory.storage.late.is_available()


class Blind(HashTokenEmbedder):
    """A model that is run by another library now, which gives no word pieces."""

    def encode_with_tokens(self, texts):
        vectors, _ = super().encode_with_tokens(texts)
        return vectors, [NO_TOKENS] * len(texts)

    def query_tokens(self, text):
        return NO_TOKENS


def test_what_a_model_without_word_pieces_has_written_can_get_them_later(store):
    with opened(store, Blind()) as memory:
        memory.experience.store(attempt("written without"))
        assert memory.storage.ledger.token_vectors.count_missing() == 1
        assert not memory.storage.late.is_available()
    with opened(store) as memory:
        assert memory.storage.late.is_available()
        reembed(memory.storage.ledger, HashTokenEmbedder())
        assert memory.storage.ledger.token_vectors.count_missing() == 0


def test_a_text_that_is_purged_while_all_is_embedded_again_stays_gone(store):
    def purge(*_):
        with opened(store) as other:
            if len(other.experience):
                other.apply_purge(other.plan_purge(other.experience.ids()[:1]))

    with opened(store) as memory:
        reembed(memory.storage.ledger, HashTokenEmbedder(), purge)
    assert len(packed(store)) == 1


def test_a_damaged_note_refuses_no_write_and_doctor_begins_again(store):
    rows_of(store, "UPDATE meta SET value = '{}' WHERE name = 'late_interaction'")
    with opened(store) as memory:
        memory.experience.store(attempt("written nevertheless"))
        assert len(memory.experience) == 3
        [found] = [one for one in examine(memory.storage) if one.check == "word pieces"]
        assert "compute them again: atlas reembed" in found.problem
        assert [one.check for one in examine(memory.storage, fix=True) if one.is_fixed] == ["word pieces"]
    with opened(store) as memory:
        memory.experience.store(attempt(f"{FILLER} the latest one"))
        assert len(packed(store)) == 1
        assert len(similarities(memory)) == 4


def test_neighbours_that_a_purge_rewords_keep_word_pieces(store_place):
    with opened(store_place) as memory:
        memory.journal.keep_repetitions = True
        ids = [memory.journal.add("crash_log", f"crash number {i} of the {FILLER}", generation=i) for i in range(4)]
        assert memory.storage.ledger.token_vectors.count_missing() == 0
        memory.apply_purge(memory.plan_purge(ids[1:2], collection=memory.journal.collection_name))
        assert len(memory.journal) == 3
        assert memory.storage.ledger.token_vectors.count_missing() == 0
