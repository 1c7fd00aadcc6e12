"""Marks: tags, pins and notes of people on records, as rows of the ledger and as readable JSON files beside it."""
