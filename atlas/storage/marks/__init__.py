"""What people said of records, as rows of the ledger and as readable JSON files beside it."""
