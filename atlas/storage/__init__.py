"""The store: a ledger that is the truth, an index that follows it, and marks beside it."""
