"""Purges in the ledger: records are erased from tables and history in one transaction.

The remaining steps, on files and free pages, are stored in the ledger until they are finished.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.operations import NO_MARKS
from atlas.embedding.chunking import EncodedText
from atlas.protocols.infra import Clock
from atlas.storage.damage import parse_row
from atlas.storage.history import Image, PurgeTraces, Removal, Reword, UnfinishedPurge
from atlas.storage.marks.codec import encode_marks
from atlas.storage.marks.judgements import JUDGEMENT_PREFIX, read_judgement
from atlas.storage.records import Moment, OperationDraft
from atlas.storage.sql.connection import Connection, Database, TextArray
from atlas.storage.sql.history.operations import check_records_unchanged
from atlas.storage.sql.history.quotes import QuotableTexts, collect_quotable, find_quotes
from atlas.storage.sql.marks import clear_lost_marks, read_marks, write_marks_without_history
from atlas.storage.sql.meta import (
    PURGED_IMAGE,
    note_purged,
    read_moment,
    read_notes,
    read_purge_id,
    renew_ledger_id,
    write_notes,
)
from atlas.storage.sql.records import RECORD, BeforeImage, LedgerWriter, open_writer, write_vectors
from atlas.storage.sql.token_vectors import delete_tokens_except, text_hash, write_tokens
from atlas.storage.sql.vectors import read_embedded_texts, replace_image

PURGED_REASON = "(purged)"
"""Replacement for the reason of an operation that quotes a purged record."""

_UNFINISHED_PREFIX = "unfinished_purge:"
"""Prefix of unfinished purges in the ledger's `meta` table. The operation's id follows."""


class SqlPurges:
    """Purges in the ledger: finding traces, removal, and the unfinished steps of purges."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def find_traces(self, ids: Sequence[str], collection: str) -> PurgeTraces:
        """Return the records to purge, and all other texts in the ledger that quote them.

        Args:
            ids: Ids, or unique prefixes of ids.
            collection: The collection to search; empty for all.

        Raises:
            NotFound: An id matches no record or several records, or its record was purged already.
            InvalidInput: An id is empty.
        """
        with self._database.read() as connection:
            keys = dict.fromkeys(key for prefix in ids for key in _find_records(connection, prefix, collection))
            images = {key: list(_read_images(connection, *key)) for key in keys}
            quotable = collect_quotable(
                list(chain.from_iterable(images.values())), [record_id for _, record_id in keys]
            )
            mark_images = (
                (name, record_id, {"marks": encode_marks(marks)})
                for name, record_id, marks in _read_all_marks(connection)
            )
            return PurgeTraces(
                records=tuple(_make_removal(connection, *key, images[key]) for key in keys),
                quotes=tuple(find_quotes(connection, quotable, set(keys), mark_images)),
                n_reasons=len(_find_quoting_reasons(connection, quotable)),
                n_judged=len(_find_judgements(connection, keys, quotable)),
                moment=read_moment(connection),
            )

    def purge(
        self,
        keys: Sequence[tuple[str, str]],
        operation: OperationDraft,
        unfinished: UnfinishedPurge,
        *,
        unchanged_since: Moment,
        reword: Reword | None = None,
    ) -> None:
        """Purge records, given by collection and id, as one operation, which cannot be undone.

        Args:
            unfinished: The steps to do after this transaction, which are stored with the purge.

        Raises:
            PlanOutdated: A record or its marks changed after the given moment; the store was not changed.
        """
        with open_writer(self._database, self._clock, operation) as writer:
            connection = writer.connection
            for collection, record_id in keys:
                check_records_unchanged(connection, collection, [record_id], unchanged_since, with_marks=True)
            images = {key: list(_read_images(connection, *key)) for key in keys}
            for key in keys:
                _erase(writer, *key)
            _forget_traces(connection, images, [record_id for _, record_id in keys])
            if reword is not None:
                _reword_records(connection, images, reword)
            delete_tokens_except(connection, texts=read_embedded_texts(connection))
            renew_ledger_id(connection)  # invalidates vectors, maps and plans from before
            connection.dialect.delete_results(connection)  # after that, because later results are refused
            note_unfinished(connection, {operation.id: unfinished})

    def unfinished(self) -> dict[str, UnfinishedPurge]:
        """Return the unfinished steps of each unfinished purge, keyed by operation id."""
        with self._database.read() as connection:
            texts = read_notes(connection, _UNFINISHED_PREFIX)
        return {operation_id: _decode_unfinished(json.loads(text)) for operation_id, text in texts.items()}

    def note_unfinished(self, unfinished: Mapping[str, UnfinishedPurge]) -> None:
        """Store the unfinished steps of purges, keyed by operation id."""
        with self._database.write() as connection:
            note_unfinished(connection, unfinished)

    def note_finished(self, operation_ids: Iterable[str]) -> None:
        """Delete the stored unfinished steps of these purges, because they are finished."""
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM meta WHERE name = ?",
                [(_UNFINISHED_PREFIX + operation_id,) for operation_id in operation_ids],
            )

    def rewrite(self, collections: Iterable[str]) -> None:
        """Rebuild the keyword tables of these collections, and vacuum the database."""
        with self._database.write() as connection:
            for name in collections:
                connection.dialect.words.rebuild_word_table(connection, name)
        self._database.rewrite()

    def truncate_wal(self) -> bool:
        """Truncate the WAL and return True, or return False while a reader needs it."""
        return self._database.truncate_wal()


def _erase(writer: LedgerWriter, collection: str, record_id: str) -> None:
    """Erase a record, live or deleted, and its old versions, for good."""
    writer.remove("removed", collection, record_id, image=BeforeImage(PURGED_IMAGE))
    connection = writer.connection
    connection.execute(  # the changes themselves stay
        "UPDATE changes SET before = ?, vectors = NULL WHERE collection = ? AND record_id = ? AND before IS NOT NULL",
        (PURGED_IMAGE, collection, record_id),
    )
    write_marks_without_history(connection, collection, {record_id: NO_MARKS})
    writer.next_revision()
    clear_lost_marks(connection, collection, [record_id])
    note_purged(connection, collection, record_id, writer.operation.id)


def _decode_unfinished(encoded: Mapping[str, Any]) -> UnfinishedPurge:
    """Decode the unfinished steps of a purge. Older versions lack `has_copies`."""
    return UnfinishedPurge(collections=encoded.get("collections", ()), has_copies=encoded.get("has_copies", True))


def note_unfinished(connection: Connection, unfinished: Mapping[str, UnfinishedPurge]) -> None:
    """Store the unfinished steps of purges, keyed by operation id, in the caller's transaction."""
    write_notes(
        connection,
        _UNFINISHED_PREFIX,
        {operation_id: json.dumps(asdict(purge)) for operation_id, purge in unfinished.items()},
    )


def _reword_records(connection: Connection, images: Mapping[tuple[str, str], Sequence[Image]], reword: Reword) -> None:
    """Remove parts of purged records from the texts of other records.

    Args:
        images: All states of the purged records, keyed by collection and record id.
    """
    for collection in {collection for collection, _ in images}:
        purged_images = [image for key, states in images.items() if key[0] == collection for image in states]
        replacements = reword(collection, purged_images, _read_texts(connection, collection))
        _replace_texts(connection, collection, replacements)


def _read_texts(connection: Connection, collection: str) -> Iterator[tuple[str, str]]:
    """Yield the document and content of each record of a collection, in its current state and all before-images."""
    query = "SELECT document, content FROM records WHERE collection = ? AND deleted = 0"
    yield from connection.execute(query, (collection,)).fetchall()
    for _, image in _read_before_images(connection, collection):
        yield image["document"], image["content"]


def _read_before_images(connection: Connection, collection: str = "") -> Iterator[tuple[int, Image]]:
    """Yield the number of each change and its before-image, of one collection or all."""
    for seq, image_text in connection.execute(
        "SELECT seq, before FROM changes WHERE ? IN ('', collection) AND aspect = ? AND before <> ?",
        (collection, RECORD, PURGED_IMAGE),
    ):
        yield seq, parse_row(image_text)


def _find_records(connection: Connection, prefix: str, collection: str) -> list[tuple[str, str]]:
    """Return the collection and id of each record with this id, or with this unique prefix of an id."""
    if not prefix:
        raise InvalidInput(
            "expected an id of a record, or a prefix of an id, got an empty string; take an id from: atlas search"
        )
    select = "SELECT collection, id FROM records WHERE ? IN ('', collection) AND"
    rows = connection.execute(f"{select} id = ?", (collection, prefix)).fetchall()
    rows = rows or connection.execute(f"{select} substr(id, 1, ?) = ?", (collection, len(prefix), prefix)).fetchall()
    unpurged = [row for row in rows if not read_purge_id(connection, *row)]
    if rows and not unpurged:
        _, record_id = rows[0]
        raise NotFound(f"the record {record_id!r} was purged already, so there is nothing left to purge")
    if len({record_id for _, record_id in unpurged}) != 1:
        if not unpurged:
            raise NotFound(f"no record, live or deleted, has an id that begins with {prefix!r}; see: atlas trash")
        raise NotFound(f"more than one record has an id that begins with {prefix!r}; give more characters of the id")
    return unpurged


def _read_images(connection: Connection, collection: str, record_id: str) -> Iterator[Image]:
    """Yield a record's current state, its before-images (newest first), and its marks."""
    names = ("metadata", "document", "search_text", "content", "content_hash")
    condition = "collection = ? AND id = ? AND deleted = 0"
    for row in connection.execute(f"SELECT {', '.join(names)} FROM records WHERE {condition}", (collection, record_id)):
        yield dict(zip(names, row, strict=True))
    for (image_text,) in connection.execute(
        "SELECT before FROM changes WHERE collection = ? AND record_id = ? AND before <> ? ORDER BY aspect = ? DESC, "
        "seq DESC",
        (collection, record_id, PURGED_IMAGE, RECORD),
    ):
        yield parse_row(image_text)
    yield {"marks": encode_marks(read_marks(connection, collection, [record_id]).get(record_id, NO_MARKS))}


def _read_all_marks(connection: Connection) -> Iterator[tuple[str, str, Any]]:
    """Yield the collection, id and marks of each marked record."""
    for (name,) in connection.execute("SELECT DISTINCT collection FROM records").fetchall():
        for record_id, marks in read_marks(connection, name).items():
            yield name, record_id, marks


def _make_removal(connection: Connection, collection: str, record_id: str, images: Sequence[Image]) -> Removal:
    """Return the description of a record to purge, given all states of the record."""
    is_live = connection.execute(
        "SELECT deleted = 0 FROM records WHERE collection = ? AND id = ?", (collection, record_id)
    ).fetchone()[0]
    titles = (parse_row(image["metadata"]).get("title", "") for image in images if "metadata" in image)
    return Removal(
        collection=collection,
        id=record_id,
        title=str(next(titles, "")),
        is_live=bool(is_live),
        n_earlier=len(images) - 1 - bool(is_live),
    )


def _find_quoting_reasons(connection: Connection, quotable: QuotableTexts) -> list[str]:
    """Return the ids of the operations whose reasons quote a purged record."""
    rows = connection.execute("SELECT id, reason FROM operations WHERE reason <> ''").fetchall()
    return [operation_id for operation_id, reason in rows if quotable.find_in([reason])]


def _find_judgements(connection: Connection, keys: Collection[tuple[str, str]], quotable: QuotableTexts) -> list[str]:
    """Return the names of judgements to delete: on these records, on queries that quote one, and unreadable ones."""
    judgements = {name: read_judgement(name, text) for name, text in read_notes(connection, JUDGEMENT_PREFIX).items()}
    return [
        JUDGEMENT_PREFIX + name
        for name, judgement in judgements.items()
        if judgement is None
        or (judgement.collection, judgement.record_id) in keys
        or quotable.find_in([judgement.query])
    ]


def _forget_traces(
    connection: Connection, images: Mapping[tuple[str, str], Sequence[Image]], ids: Sequence[str]
) -> None:
    """Remove traces of purged records from other rows: quotes in reasons and queries, hashes, and ids of tasks."""
    all_images = list(chain.from_iterable(images.values()))
    quotable = collect_quotable(all_images, [])
    for operation_id in _find_quoting_reasons(connection, quotable):
        connection.execute("UPDATE operations SET reason = ? WHERE id = ?", (PURGED_REASON, operation_id))
    judgements = _find_judgements(connection, images, quotable)
    connection.executemany("DELETE FROM meta WHERE name = ?", [(name,) for name in judgements])
    for collection, record_id in images:
        connection.execute(
            "UPDATE events SET task_id = '' WHERE collection = ? AND record_id = ?", (collection, record_id)
        )
    metadata = [parse_row(image["metadata"]) for image in all_images if "metadata" in image]
    tasks = {str(fields.get("task_id", "")) for fields in metadata} - {""}
    hashes = {image.get("content_hash", "") for image in all_images} - {""}
    _forget_hashes(connection, hashes)
    _forget_tasks(connection, tasks - _forget_in_history(connection, hashes, tasks))
    connection.execute("DELETE FROM attribute_keys WHERE key NOT IN (SELECT key FROM attributes)")


def _forget_hashes(connection: Connection, hashes: Iterable[str]) -> None:
    """Remove a purged record's hashes from its replacement. A hash might reveal a short secret."""
    condition = (
        "value IN (SELECT value FROM json_each(?)) AND key IN "
        "(SELECT key FROM attribute_keys WHERE name = 'merged_hashes')"
    )
    parameters = (TextArray(sorted(hashes)),)
    for seq, *texts in connection.execute(
        f"SELECT seq, metadata, content FROM records WHERE seq IN (SELECT seq FROM attributes WHERE {condition})",
        parameters,
    ).fetchall():
        new_texts = (_remove_hashes(text, hashes) for text in texts)
        connection.execute("UPDATE records SET metadata = ?, content = ? WHERE seq = ?", (*new_texts, seq))
    attributes = connection.execute(f"SELECT key, seq FROM attributes WHERE {condition}", parameters).fetchall()
    connection.execute(f"DELETE FROM attributes WHERE {condition}", parameters)
    connection.dialect.put_attributes(connection, [(key, "", seq) for key, seq in attributes])


def _forget_in_history(connection: Connection, hashes: Iterable[str], tasks: set[str]) -> set[str]:
    """Remove hashes of purged records from earlier states of other records. Return the purged tasks in those states."""
    new_images, named_tasks = [], set()
    for seq, image in _read_before_images(connection):
        metadata = parse_row(image["metadata"])
        named_tasks |= {str(metadata.get("task_id", ""))} & tasks
        if not set(metadata.get("merged_hashes") or ()).isdisjoint(hashes):
            image |= {name: _remove_hashes(image[name], hashes) for name in ("metadata", "content")}
            new_images.append((json.dumps(image, ensure_ascii=False), seq))
    connection.executemany("UPDATE changes SET before = ? WHERE seq = ?", new_images)
    return named_tasks


def _remove_hashes(text: str, hashes: Iterable[str]) -> str:
    for content_hash in hashes:
        text = text.replace(content_hash, "")
    return text


def _forget_tasks(connection: Connection, tasks: Iterable[str]) -> None:
    """Remove ids of purged tasks from uses, because an id may contain text. Ids of other records' tasks stay."""
    connection.execute(
        "UPDATE events SET task_id = '' WHERE task_id IN (SELECT value FROM json_each(?)) AND task_id NOT IN "
        f"(SELECT {connection.dialect.text_sql('a')} FROM attributes a JOIN attribute_keys k ON k.key = a.key "
        "WHERE k.name = 'task_id' AND a.value IS NOT NULL)",
        (TextArray(sorted(tasks)),),
    )


def _replace_texts(
    connection: Connection, collection: str, replacements: Mapping[str, tuple[str, EncodedText]]
) -> None:
    """Replace texts, given with the new text and its vectors, in a collection's records and their history."""
    words = connection.dialect.words
    for old_text, (new_text, encoded) in replacements.items():
        condition = "collection = ? AND document = ? AND deleted = 0"
        rows = connection.execute(
            f"SELECT seq, search_text FROM records WHERE {condition}", (collection, old_text)
        ).fetchall()
        for seq, search_text in rows:
            words.drop_words(connection, seq)
            connection.execute(
                "UPDATE records SET document = ?1, text_hash = ?2, "
                "n_windows = CASE WHEN n_windows < ?3 THEN ?3 ELSE n_windows END WHERE seq = ?4",
                (new_text, text_hash(new_text), len(encoded.vectors), seq),
            )
            words.make_word_table(connection, collection)
            words.put_words(connection, collection, seq, new_text, search_text)
            connection.execute("DELETE FROM vectors WHERE seq = ?", (seq,))
            write_vectors(connection, seq, encoded.vectors)
        if encoded.tokens is not None:
            write_tokens(connection, new_text, encoded.tokens)
    for seq, image in [
        pair for pair in _read_before_images(connection, collection) if pair[1]["document"] in replacements
    ]:
        image["document"], encoded = replacements[image["document"]]
        replace_image(connection, seq, image, encoded.vectors)
