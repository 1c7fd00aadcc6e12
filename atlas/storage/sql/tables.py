"""The ledger's tables in SQLite's dialect. PostgreSQL's tables are derived from them."""

from __future__ import annotations

SCHEMA = """
-- Values, keyed by name, such as the revision, and `ledger_id`, which changes with each restore.
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- One row for each record. A deleted record stays as an empty tombstone, so that followers see the deletion.
-- Narrow columns first: SQLite reads a row's start without its overflow pages.
CREATE TABLE records (
    seq          INTEGER PRIMARY KEY,
    collection   TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    revision     INTEGER NOT NULL,
    deleted      INTEGER NOT NULL DEFAULT 0,
    n_windows    INTEGER NOT NULL,               -- highest number of vectors so far, which an index may contain
    content_hash TEXT    NOT NULL,
    text_hash    BLOB    NOT NULL,               -- hash of the document, since equal texts are embedded once
    stored_at    TEXT    NOT NULL,
    metadata     TEXT    NOT NULL,
    document     TEXT    NOT NULL,
    search_text  TEXT    NOT NULL,
    content      TEXT    NOT NULL,
    UNIQUE (collection, id)
);
CREATE INDEX records_by_revision ON records (collection, revision);
CREATE INDEX records_live        ON records (collection, seq) WHERE deleted = 0;
CREATE INDEX records_by_text     ON records (text_hash) WHERE deleted = 0;
CREATE INDEX records_by_hash     ON records (collection, content_hash) WHERE deleted = 0;

CREATE TABLE vectors (
    seq    INTEGER NOT NULL REFERENCES records (seq),
    window INTEGER NOT NULL,
    vector BLOB    NOT NULL,                     -- float32, little endian, unit length
    UNIQUE (seq, window)
);

-- The metadata again, one row for each value, for filters and sorting.
CREATE TABLE attribute_keys (
    key        INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    name       TEXT NOT NULL,
    UNIQUE (collection, name)
);


-- History: operations, and each changed record as it was before. `state_after` names the state after a change. Undoing
-- restores the earlier name, so "changed since" is a comparison of two numbers.
CREATE TABLE operations (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    kind       TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    created_at TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    undoes     TEXT,
    undone_by  TEXT,
    added      INTEGER NOT NULL DEFAULT 0,
    changed    INTEGER NOT NULL DEFAULT 0,
    removed    INTEGER NOT NULL DEFAULT 0,
    marked     INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE changes (
    seq          INTEGER PRIMARY KEY,
    operation    TEXT    NOT NULL REFERENCES operations (id),
    aspect       TEXT    NOT NULL,               -- 'record' or 'marks'
    collection   TEXT    NOT NULL,
    record_id    TEXT    NOT NULL,
    state_before INTEGER NOT NULL,
    state_after  INTEGER,                        -- NULL: a new state, named by `seq`
    before       TEXT,                           -- JSON; NULL if there was no record
    vectors      BLOB                            -- the record's vectors before the change, concatenated
);
CREATE INDEX changes_by_operation ON changes (operation, seq);
CREATE INDEX changes_by_record    ON changes (collection, record_id, aspect, seq);

-- Uses of records by agents, each with its outcome, and totals, updated in the same transaction.
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    collection TEXT    NOT NULL,
    record_id  TEXT    NOT NULL,
    kind       TEXT    NOT NULL,                 -- 'use'
    success    INTEGER NOT NULL,
    task_id    TEXT    NOT NULL,
    created_at TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    operation  TEXT    NOT NULL DEFAULT '',      -- the operation that it is part of, or empty
    undone     INTEGER NOT NULL DEFAULT 0        -- bits: 1 if its operation is undone, 2 if it waits for review
);
CREATE INDEX events_by_record    ON events (collection, record_id, seq);
CREATE INDEX events_by_operation ON events (operation) WHERE operation <> '';
CREATE TABLE usage (
    collection        TEXT    NOT NULL,
    record_id         TEXT    NOT NULL,
    n_uses            INTEGER NOT NULL DEFAULT 0,
    n_successes       INTEGER NOT NULL DEFAULT 0,
    last_used_at      TEXT,
    n_retrieved       INTEGER NOT NULL DEFAULT 0,
    last_retrieved_at TEXT,
    PRIMARY KEY (collection, record_id)
) WITHOUT ROWID;
"""
