"""The ledger in SQL, as SQLite and PostgreSQL both read it."""
