"""The ledger in SQL that both SQLite and PostgreSQL run."""
