"""The store: a ledger as the source of truth, indexes derived from it, and readable copies of marks."""
